package plan_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// TestRollouts tells whole rollouts in a fixed order, one paragraph for each pass that wrote
// something: what it wrote, and what the groups were when the caches had caught up. The step
// "settle" lets the cluster come to rest, "stall" lets it go on until nothing happens any more, with
// whatever is broken, "now" until nothing happens before time has passed; everything else is a step of the simulation's scripts.
func TestRollouts(t *testing.T) {
	files, err := filepath.Glob("testdata/rollouts/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			log := tell(parseScript(string(b)))
			if again := tell(parseScript(string(b))); again != log {
				t.Errorf("told twice, it is not the same (-first +second):\n%s", cmp.Diff(log, again))
			}
			gangwaytesting.Golden(t, strings.TrimSuffix(file, ".script")+".golden", []byte(log))
		})
	}
}

// teller writes a run down.
type teller struct {
	strings.Builder
	w       *world
	began   time.Time
	known   map[string]string
	written []action.Action
	picture string
}

func tell(script []string) string {
	w := newWorld(makeModelServing(script[0]))
	t := &teller{w: w, began: w.now, known: map[string]string{}}
	fmt.Fprintf(t, "> %s\n", script[0])
	w.wrote = func(a action.Action) { t.written = append(t.written, a) }
	w.passed = t.pass
	err := guarded(w, func() {
		for _, line := range script[1:] {
			fmt.Fprintf(t, "> %s\n", line)
			switch line {
			case "settle":
				w.settle()
			case "stall":
				w.rest(func() {}, func() {})
			case "now":
				w.still = true
				w.rest(func() {}, func() {})
				w.still = false
			default:
				w.step(line)
			}
			if w.violation != nil {
				return
			}
		}
	})
	if err != nil {
		fmt.Fprintf(t, "! %v\n", err)
	}
	return t.String()
}

// pass tells what was written since it was last called, grouped, and shows the groups.
func (t *teller) pass() {
	picture := t.groups()
	if len(t.written) == 0 && picture == t.picture {
		return
	}
	at := strings.TrimSpace(fmt.Sprintf("t+%s", t.w.now.Sub(t.began).Truncate(time.Second)))
	for _, line := range t.summary() {
		fmt.Fprintf(t, "%-10s%s\n", at, line)
		at = ""
	}
	if picture != t.picture {
		fmt.Fprintf(t, "%-10s= %s\n", at, picture)
	}
	t.written, t.picture = nil, picture
}

// summary puts writes of one verb, kind and reason into one line.
func (t *teller) summary() []string {
	byTitle := map[string][]string{}
	var order []string
	for _, a := range t.written {
		title := fmt.Sprintf("%s %s", a.Verb, singular[kindOf(a.Object)])
		if a.Why != "" {
			title = fmt.Sprintf("%s (%s)", title, a.Why)
		}
		if byTitle[title] == nil {
			order = append(order, title)
		}
		byTitle[title] = append(byTitle[title], t.name(a))
	}
	var lines []string
	for _, title := range order {
		lines = append(lines, title+": "+strings.Join(byTitle[title], " "))
	}
	return lines
}

func (t *teller) name(a action.Action) string {
	if kindOf(a.Object) == revisions {
		return t.version(a.Object.GetLabels()[names.LabelRevision])
	}
	return a.Object.GetName()
}

// version calls revisions v1, v2, ... in the order in which they appear.
func (t *teller) version(hash string) string {
	if t.known[hash] == "" {
		t.known[hash] = fmt.Sprintf("v%d", len(t.known)+1)
	}
	return t.known[hash]
}

// groups shows each group: its revisions, and how many of its Pods are Ready or terminating.
func (t *teller) groups() string {
	type count struct{ all, ready, going int }
	counts := map[string]map[string]*count{}
	for _, p := range t.w.ours() {
		g, v := born(p, names.LabelGroup), t.version(born(p, names.LabelRevision))
		if counts[g] == nil {
			counts[g] = map[string]*count{}
		}
		if counts[g][v] == nil {
			counts[g][v] = &count{}
		}
		c := counts[g][v]
		c.all++
		if ready(p) {
			c.ready++
		}
		if p.DeletionTimestamp != nil {
			c.going++
		}
	}
	var parts []string
	for _, g := range slices.Sorted(maps.Keys(counts)) {
		for _, v := range slices.Sorted(maps.Keys(counts[g])) {
			c := counts[g][v]
			part := fmt.Sprintf("%s %s %d/%d", g, v, c.ready, c.all)
			if c.going > 0 {
				part += fmt.Sprintf(" -%d", c.going)
			}
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "no groups"
	}
	return strings.Join(parts, " | ")
}
