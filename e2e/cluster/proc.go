package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MarkerVariable is set in the environment of every process of a cluster, to
// its state directory. It finds the processes of a start that was killed before
// it could write them down.
const MarkerVariable = "GANGWAY_CLUSTER"

// identity tells one process from every other one that ever had its pid.
type identity struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot, as /proc gives it.
	Start uint64 `json:"start"`
	// Boot is the kernel's boot id: pids and ticks begin again with each boot.
	Boot string `json:"boot"`
}

// parseStat reads the state letter and the start time from the content of
// /proc/PID/stat. The name of the program, in parentheses, may hold anything.
func parseStat(stat string) (state string, start uint64, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return "", 0, fmt.Errorf("no program name in %q", stat)
	}
	// After the name: state is field 3 of proc(5), start time field 22.
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("%d fields after the program name, want at least 20", len(fields))
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("start time: %w", err)
	}
	return fields[0], start, nil
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// identify gives the identity of a process that runs now.
func identify(pid int) (identity, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	_, start, err := parseStat(string(b))
	if err != nil {
		return identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return identity{PID: pid, Start: start, Boot: bootID()}, nil
}

// alive says whether that very process still runs. A zombie does not: nothing
// but its exit code is left, and not every init collects it.
func (id identity) alive() bool {
	if id.PID <= 0 || id.Boot != bootID() {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil {
		return false
	}
	state, start, err := parseStat(string(b))
	return err == nil && start == id.Start && state != "Z" && state != "X"
}

// stop sends SIGTERM, and SIGKILL when the process is still there after grace.
// A nil error promises that the process is gone. It never signals a process
// that merely got the same pid.
func (id identity) stop(grace time.Duration) error {
	if err := id.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if id.gone(grace) {
		return nil
	}
	if err := id.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !id.gone(10 * time.Second) {
		return fmt.Errorf("process %d is still there 10s after SIGKILL", id.PID)
	}
	return nil
}

// signal does nothing when the process is gone.
func (id identity) signal(sig syscall.Signal) error {
	if !id.alive() {
		return nil
	}
	if err := syscall.Kill(id.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process %d: %w", sig, id.PID, err)
	}
	return nil
}

// gone waits up to d for the end of the process.
func (id identity) gone(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for id.alive() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

// marked lists the live processes whose environment carries the marker of
// stateDir. Processes of other users are not looked at.
func marked(stateDir string) []identity {
	want := []byte(MarkerVariable + "=" + stateDir)
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var found []identity
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !hasVariable(env, want) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if id, err := identify(pid); err == nil && id.alive() {
			found = append(found, id)
		}
	}
	return found
}

func hasVariable(environ, want []byte) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}
