package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	seeds    = flag.Int("seeds", defaultSeeds, "how many simulated clusters TestSimulation runs")
	seed     = flag.Uint64("seed", 0, "the only seed that TestSimulation runs; 0: all")
	patience = flag.Duration("shrink", 8*time.Second, "how long a failing script is cut down")
	soak     = flag.Duration("soak", time.Second, "how long TestSoak runs clusters of seeds that TestSimulation does not")
)

// steps is how many drawn steps a simulated cluster lives before it is let come to rest.
const steps = 160

// TestSimulation runs clusters in which anything may happen between any two writes, holds the
// invariants after each step, and lets them come to rest. A cluster that breaks one is cut down to
// the steps that matter, and printed as a script: put it into testdata/simulation/NAME.script.
func TestSimulation(t *testing.T) {
	if *seed != 0 {
		simulate(t, *seed)
		return
	}
	for s := range uint64(*seeds) {
		if !simulate(t, s+1) {
			return
		}
	}
}

// TestSoak is TestSimulation for as long as -soak says: go test ./plan -run Soak -soak=10m -timeout=0
func TestSoak(t *testing.T) {
	first := uint64(1_000_000)
	began, n := time.Now(), uint64(0)
	for ; time.Since(began) < *soak; n++ {
		if !simulate(t, first+n) {
			return
		}
	}
	t.Logf("%d clusters, seeds from %d on", n, first)
}

// TestScripts replays what once went wrong.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/simulation/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := replay(parseScript(string(b))); err != nil {
				t.Errorf("%v\nthe run:\n%s", err, narrate(parseScript(string(b))))
			}
		})
	}
}

func simulate(t *testing.T, seed uint64) bool {
	t.Helper()
	g := newGenerator(seed)
	script := []string{g.header()}
	w := newWorld(makeModelServing(script[0]))
	err := guarded(w, func() {
		for len(script) <= steps && w.violation == nil {
			line := g.step(w)
			script = append(script, line)
			w.step(line)
		}
		if w.violation == nil {
			w.settle()
		}
	})
	if err == nil {
		return true
	}
	script = shrink(script, kindOfFailure(err))
	t.Errorf("seed %d: %v\nscript:\n%s\nthe run:\n%s", seed, err, strings.Join(script, "\n"), narrate(script))
	return false
}

// guarded makes an error of a panic: a planner that panics takes the manager down.
func guarded(w *world, run func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	run()
	return w.violation
}

func replay(script []string) error {
	w := newWorld(makeModelServing(script[0]))
	return play(w, script)
}

func play(w *world, script []string) error {
	return guarded(w, func() {
		for _, line := range script[1:] {
			w.log("%s", line)
			w.step(line)
			if w.violation != nil {
				return
			}
		}
		w.log("settle")
		w.settle()
	})
}

// narrate replays a script and tells what the manager wrote.
func narrate(script []string) string {
	var b strings.Builder
	w := newWorld(makeModelServing(script[0]))
	w.log = func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	err := play(w, script)
	fmt.Fprintf(&b, "%v\n", err)
	const most = 12_000
	if b.Len() > most {
		return "...\n" + b.String()[b.Len()-most:]
	}
	return b.String()
}

func parseScript(text string) []string {
	var script []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			script = append(script, line)
		}
	}
	return script
}

// kindOfFailure tells failures apart roughly: by their first words.
func kindOfFailure(err error) string {
	words := strings.Fields(err.Error())
	return strings.Join(words[:min(2, len(words))], " ")
}

// shrink leaves out all steps without which a script fails in the same way, for some seconds.
func shrink(script []string, failure string) []string {
	deadline := time.Now().Add(*patience)
	fails := func(s []string) bool {
		err := replay(s)
		return err != nil && kindOfFailure(err) == failure
	}
	for size := len(script) / 2; size > 0 && time.Now().Before(deadline); {
		smaller := false
		for at := 1; at+size <= len(script) && time.Now().Before(deadline); {
			candidate := append(append([]string{}, script[:at]...), script[at+size:]...)
			if fails(candidate) {
				script, smaller = candidate, true
				continue
			}
			at += size
		}
		if !smaller || size > len(script)/2 {
			size /= 2
		}
	}
	return script
}
