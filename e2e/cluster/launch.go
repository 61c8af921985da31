package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// launched is a process of this command's own: it knows when it ends.
type launched struct {
	process
	begin time.Time
	ended chan struct{}
	err   error // of Wait; read it only after ended is closed
}

// launch starts a program that outlives this command, and writes it down.
// Its output goes to logs/NAME.log in the state directory.
func (c *Cluster) launch(name, path string, args, env []string, addr string) (*launched, error) {
	logPath := filepath.Join(c.dir, "logs", name+".log")
	if err := os.MkdirAll(filepath.Dir(logPath), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of logs: %w", err)
	}
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer logFile.Close() //nolint:errcheck // The child has its own descriptor.

	cmd := exec.Command(path, args...)
	cmd.Dir = c.dir
	cmd.Env = append(append(os.Environ(), env...), MarkerVariable+"="+c.dir)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	// A session of its own: the terminal's Ctrl-C is for this command only.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	l := &launched{begin: time.Now(), ended: make(chan struct{})}
	go func() {
		l.err = cmd.Wait()
		close(l.ended)
	}()
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		// Not even a zombie any more: it ended at once.
		<-l.ended
		l.process = process{Name: name, Log: logPath}
		return nil, l.endedError()
	}
	l.process = process{Name: name, identity: id, Address: addr, Log: logPath, Command: cmd.Args}
	c.state.put(l.process)
	if err := c.state.save(c.dir); err != nil {
		return nil, errors.Join(err, id.stop(time.Second))
	}
	return l, nil
}

// await polls ready until it gives nil. It gives up when the process ends, or
// after limit, with the last answer of ready and the end of the log.
func (l *launched) await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
	err := poll(ctx, limit, func(ctx context.Context) error {
		select {
		case <-l.ended:
			return stopPolling{l.endedError()}
		default:
			return ready(ctx)
		}
	})
	select {
	case <-l.ended:
		return l.endedError()
	default:
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("stopped while %s was starting: %w", l.Name, context.Cause(ctx))
	default:
		return fmt.Errorf("%s is not ready: %w\n%s", l.Name, err, logTail(l.Log))
	}
}

func (l *launched) endedError() error {
	why := "exit status 0"
	if l.err != nil {
		why = l.err.Error()
	}
	return fmt.Errorf("%s ended %s after its start (%s)\n%s", l.Name, seconds(time.Since(l.begin)), why, logTail(l.Log))
}

const tailLines = 8

// logTail names the log file, its last lines, and the way out where the lines
// give one away.
func logTail(path string) string {
	lines := lastLines(path, tailLines)
	if len(lines) == 0 {
		return "its log " + path + " is empty"
	}
	text := strings.Join(lines, "\n  ")
	msg := fmt.Sprintf("the last lines of %s:\n  %s", path, text)
	switch {
	case strings.Contains(text, "address already in use"):
		msg += "\nsomebody else took its port meanwhile: try again, other ports are chosen"
	case strings.Contains(text, "no space left on device"):
		msg += "\nthe disk is full: free some space and try again"
	case strings.Contains(text, "too many open files"):
		msg += "\nthe limit of open files is too low: raise it (ulimit -n 65536; sysctl fs.inotify.max_user_instances=1024) and try again"
	}
	return msg
}

// lastLines reads at most 64 KiB from the end of a file.
func lastLines(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // Read only.
	const window = 64 << 10
	if fi, err := f.Stat(); err == nil && fi.Size() > window {
		if _, err := f.Seek(-window, io.SeekEnd); err != nil {
			return nil
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return nil
	}
	lines := strings.Split(string(b), "\n")
	return lines[max(0, len(lines)-n):]
}
