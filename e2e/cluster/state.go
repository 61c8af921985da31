package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// process is one program of the cluster, as the state file holds it.
type process struct {
	Name string `json:"name"`
	identity
	// Address is where it serves, empty when it does not.
	Address string   `json:"address,omitempty"`
	Log     string   `json:"log"`
	Command []string `json:"command"`
}

// state is everything a later process must know to use or stop the cluster.
type state struct {
	// Ready is set by a start that came to its end.
	Ready     bool           `json:"ready"`
	Ports     map[string]int `json:"ports"`
	Processes []process      `json:"processes"`
	// Manager is set by InstallGangway.
	Manager *managerState `json:"manager,omitempty"`
}

func (s *state) process(name string) *process {
	i := slices.IndexFunc(s.Processes, func(p process) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Processes[i]
}

func (s *state) put(p process) {
	if old := s.process(p.Name); old != nil {
		*old = p
		return
	}
	s.Processes = append(s.Processes, p)
}

const stateFile = "state.json"

// loadState gives nil without an error when dir holds no state.
func loadState(dir string) (*state, error) {
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the cluster: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s is no state of a cluster (%w); remove the folder %s", filepath.Join(dir, stateFile), err, dir)
	}
	return s, nil
}

// save replaces the state file in one step, so that a kill leaves the old or
// the new one.
func (s *state) save(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the cluster: %w", err)
	}
	tmp := filepath.Join(dir, stateFile+".tmp")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write the state of the cluster: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, stateFile)); err != nil {
		return fmt.Errorf("write the state of the cluster: %w", err)
	}
	return nil
}

// lock keeps two commands from starting or stopping the same cluster at once.
// The kernel lets go of it when the process ends, however it ends.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the state directory: %w; choose another one with --state-dir", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the cluster: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close() //nolint:errcheck // Nothing was written.
		return nil, fmt.Errorf("another command starts or stops the cluster in %s right now; wait for it and try again", dir)
	}
	return func() { f.Close() }, nil //nolint:errcheck // Nothing was written.
}
