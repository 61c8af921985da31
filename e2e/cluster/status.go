package cluster

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Status of the cluster in a state directory.
type Status struct {
	Dir       string
	Processes []ProcessStatus
}

// ProcessStatus of one program.
type ProcessStatus struct {
	Name    string
	PID     int
	Running bool
	Address string
	Log     string
}

// ReadStatus tells what runs. A directory without a cluster has no processes.
func ReadStatus(stateDir string) (*Status, error) {
	o := Options{StateDir: stateDir}
	if err := o.complete(); err != nil {
		return nil, err
	}
	s, err := loadState(o.StateDir)
	if err != nil {
		return nil, err
	}
	st := &Status{Dir: o.StateDir}
	if s == nil {
		return st, nil
	}
	for _, p := range s.Processes {
		st.Processes = append(st.Processes, ProcessStatus{Name: p.Name, PID: p.PID, Running: p.alive(), Address: p.Address, Log: p.Log})
	}
	return st, nil
}

// Running says whether every program that was started still runs.
func (s *Status) Running() bool {
	for _, p := range s.Processes {
		if !p.Running {
			return false
		}
	}
	return len(s.Processes) > 0
}

// Print writes a table for people.
func (s *Status) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	rows := "NAME\tSTATE\tPID\tADDRESS\tLOG\n"
	for _, p := range s.Processes {
		state := "running"
		if !p.Running {
			state = "dead"
		}
		rows += fmt.Sprintf("%s\t%s\t%d\t%s\t%s\n", p.Name, state, p.PID, p.Address, p.Log)
	}
	if _, err := io.WriteString(w, rows); err != nil {
		return fmt.Errorf("print the status: %w", err)
	}
	return w.Flush()
}
