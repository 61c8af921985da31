package cluster

import (
	"fmt"
	"io"
	"time"
)

// progress prints one line for each phase, with the time it took and the time
// since the beginning.
type progress struct {
	out   io.Writer
	begin time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, begin: time.Now()} }

func (p *progress) phase(name string, f func() error) error {
	start := time.Now()
	if err := f(); err != nil {
		p.printf("  %-52s FAILED after %s\n", name, seconds(time.Since(start)))
		return err
	}
	p.printf("  %-52s %6s  (%s)\n", name, seconds(time.Since(start)), seconds(time.Since(p.begin)))
	return nil
}

// printf is for a person who watches: an output that is closed stops nothing.
func (p *progress) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
