package cluster

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 4 4 0 -1 4194560 10 0 0 0 1 2 3 4 20 0 1 0 98765 1000 10"
	type result struct {
		State string
		Start uint64
		Fails bool
	}
	tests := map[string]struct {
		stat string
		want result
	}{
		"a plain name":                       {"7 (etcd) S" + rest, result{State: "S", Start: 98765}},
		"a name with spaces and parentheses": {"7 (a) R 1 (b)) Z" + rest, result{State: "Z", Start: 98765}},
		"no name":                            {"7 etcd S" + rest, result{Fails: true}},
		"too few fields":                     {"7 (etcd) S 1 2 3", result{Fails: true}},
		"a start time that is not a number":  {"7 (etcd) S 1 4 4 0 -1 4194560 10 0 0 0 1 2 3 4 20 0 1 0 now 1000", result{Fails: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state, start, err := parseStat(tt.stat)
			if diff := cmp.Diff(tt.want, result{state, start, err != nil}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// sleeper starts a process that runs until it is stopped. With stubborn it
// ignores SIGTERM.
func sleeper(t *testing.T, stubborn bool, env ...string) identity {
	t.Helper()
	script := "echo ready; exec sleep 600"
	if stubborn {
		script = "trap '' TERM; echo ready; while :; do sleep 600; done"
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() {
		// The whole group: a stubborn shell has a child of its own.
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	id, err := identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestStopEndsAProcess(t *testing.T) {
	for name, stubborn := range map[string]bool{"that obeys SIGTERM": false, "that ignores SIGTERM": true} {
		t.Run(name, func(t *testing.T) {
			id := sleeper(t, stubborn)
			if !id.alive() {
				t.Fatal("the process is not alive right after its start")
			}
			if err := id.stop(200 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if id.alive() {
				t.Error("stop gave no error and the process is alive")
			}
			if err := id.stop(time.Second); err != nil {
				t.Errorf("stopping it twice: %v", err)
			}
		})
	}
}

func TestStopSparesAProcessThatOnlyHasTheSamePID(t *testing.T) {
	id := sleeper(t, false)
	for name, old := range map[string]identity{
		"started at another time": {PID: id.PID, Start: id.Start - 1, Boot: id.Boot},
		"from before a reboot":    {PID: id.PID, Start: id.Start, Boot: "another-boot"},
		"with no pid at all":      {Start: id.Start, Boot: id.Boot},
	} {
		t.Run(name, func(t *testing.T) {
			if old.alive() {
				t.Error("it is taken for the running process")
			}
			if err := old.stop(time.Second); err != nil {
				t.Error(err)
			}
			if !id.alive() {
				t.Fatal("the running process was stopped")
			}
		})
	}
}

func TestMarkedFindsTheProcessesOfOneStateDirectory(t *testing.T) {
	dir := t.TempDir()
	mine := sleeper(t, false, MarkerVariable+"="+dir)
	sleeper(t, false, MarkerVariable+"="+dir+"/other")
	sleeper(t, false)
	if diff := cmp.Diff([]identity{mine}, marked(dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if slices.Contains(marked(t.TempDir()), mine) {
		t.Error("a process of another directory was found")
	}
}
