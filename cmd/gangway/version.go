package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// unknown is said of what the build did not record.
const unknown = "unknown"

// version is what the Go toolchain recorded of a build.
type version struct {
	module   string // of the main module, such as v0.1.0; "devel" for a build of a working tree
	revision string
	dirty    bool
	goVer    string
}

func (v version) String() string {
	revision := v.revision
	if v.dirty {
		revision += ", with uncommitted changes"
	}
	return fmt.Sprintf("%s (commit %s) %s %s/%s", v.module, revision, v.goVer, runtime.GOOS, runtime.GOARCH)
}

func buildVersion() version {
	info, ok := debug.ReadBuildInfo()
	return versionOf(info, ok)
}

// versionOf reads build information. Without any, it says so.
func versionOf(info *debug.BuildInfo, ok bool) version {
	v := version{module: unknown, revision: unknown, goVer: runtime.Version()}
	if !ok {
		return v
	}
	v.goVer = info.GoVersion
	switch info.Main.Version {
	case "":
	case "(devel)":
		v.module = "devel"
	default:
		v.module = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.revision = setting.Value
		case "vcs.modified":
			v.dirty = setting.Value == "true"
		}
	}
	return v
}
