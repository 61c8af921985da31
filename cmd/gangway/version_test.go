package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	platform := " " + runtime.GOOS + "/" + runtime.GOARCH
	settings := func(kv ...string) []debug.BuildSetting {
		var out []debug.BuildSetting
		for i := 0; i < len(kv); i += 2 {
			out = append(out, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return out
	}
	tests := map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"a released module": {
			&debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "v0.1.0"}},
			"v0.1.0 (commit unknown) go1.26.1" + platform,
		},
		"a commit": {
			&debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "v0.1.0"}, Settings: settings("vcs.revision", "abc123", "vcs.modified", "false")},
			"v0.1.0 (commit abc123) go1.26.1" + platform,
		},
		"a working tree with changes": {
			&debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "(devel)"}, Settings: settings("vcs.revision", "abc123", "vcs.modified", "true")},
			"devel (commit abc123, with uncommitted changes) go1.26.1" + platform,
		},
		"no build information": {nil, "unknown (commit unknown) " + runtime.Version() + platform},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(tc.info, tc.info != nil).String(); got != tc.want {
				t.Errorf("version = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestVersionCommand(t *testing.T) {
	command, flag := runWith(t, nil, "version"), runWith(t, nil, "--version")
	if command != flag {
		t.Errorf("gangway version says %+v, gangway --version %+v", command, flag)
	}
	if command.Code != exitOK || !strings.HasPrefix(command.Stdout, "gangway ") || !strings.Contains(command.Stdout, runtime.Version()) {
		t.Errorf("outcome = %+v, want a line with the Go release", command)
	}
	if got := runWith(t, nil, "version", "please"); got.Code != exitUsage {
		t.Errorf("an argument to version: %+v, want exit code %d", got, exitUsage)
	}
}
