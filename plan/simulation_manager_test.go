package plan_test

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/state"
)

// manager carries plans out as controllers/ does, one write at a time, so that anything can happen
// between any two of them. It is woken by what its caches see, by its own requests, and by faults.
type manager struct {
	w     *world
	pass  *pass
	woken bool
	// again is when it asked to be woken; zero: not at all.
	again time.Time
	// passes counts passes, wrote whether the last one wrote anything.
	passes int
	wrote  bool
}

// phase is how far a pass has come.
type phase int

const (
	statusFirst phase = iota
	before
	lanes
	after
	status
	over
)

type pass struct {
	snapshot state.Snapshot
	plan     plan.Plan
	at       time.Time
	phase    phase
	begun    int
	lanes    []*laneState
	faults   []action.Fault
	quota    bool
	// observed is the ModelServing as this pass last read or wrote it.
	observed *workloadv1alpha1.ModelServing
	sight    sight
	// made are the PodGroups that this pass created.
	made map[string]bool
}

type laneState struct {
	stage  int
	left   []action.Action
	failed bool
}

// newManager starts a manager: its caches list everything anew.
func newManager(w *world) *manager {
	for _, s := range w.stores {
		s.sync(s.behind())
	}
	return &manager{w: w, woken: true}
}

// begin starts a pass, if none is under way.
func (m *manager) begin() {
	if m.pass != nil {
		return
	}
	for _, s := range m.w.stores {
		s.sync(s.own - s.seen)
	}
	ms, _ := m.w.stores[modelServings].cached[theName].(*workloadv1alpha1.ModelServing)
	m.woken, m.again, m.wrote = false, time.Time{}, false
	if ms == nil {
		return
	}
	m.passes++
	p := &pass{snapshot: m.snapshot(ms), at: m.w.now, observed: ms, made: map[string]bool{}}
	p.sight = m.w.see(p)
	if m.passes%24 == 1 {
		m.checkPure(p.snapshot)
	}
	p.plan = plan.Compute(p.snapshot, m.w.now)
	for i := range p.plan.Lanes {
		l := &laneState{stage: -1}
		l.next(&p.plan.Lanes[i])
		p.lanes = append(p.lanes, l)
	}
	m.w.planned = ms
	m.w.began(p)
	m.pass = p
	m.advance()
}

// snapshot is what controllers/gather reads.
func (m *manager) snapshot(ms *workloadv1alpha1.ModelServing) state.Snapshot {
	s := state.Snapshot{
		ModelServing: ms,
		Pods:         owned[*corev1.Pod](m.w.stores[pods], ms),
		Services:     owned[*corev1.Service](m.w.stores[services], ms),
		Revisions:    owned[*appsv1.ControllerRevision](m.w.stores[revisions], ms),
		Nodes:        map[string]*corev1.Node{},
		Gang:         m.w.gang,
	}
	if s.Gang.PodGroups {
		s.PodGroups = owned[*schedulingv1beta1.PodGroup](m.w.stores[podGroups], ms)
	}
	for _, p := range s.Pods {
		if node := m.w.nodes[p.Spec.NodeName]; p.DeletionTimestamp != nil && node != nil {
			s.Nodes[node.Name] = node
		}
	}
	return s
}

func owned[T action.Object](s *store, ms *workloadv1alpha1.ModelServing) []T {
	var out []T
	for _, o := range s.cached {
		if controlledBy(o, ms.UID) && o.GetLabels()[names.LabelModelServing] != "" {
			out = append(out, o.(T))
		}
	}
	// A fixed order, so that a script replays; the planner is tried with others, too.
	slices.SortFunc(out, func(a, b T) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	return out
}

func (l *laneState) next(lane *action.Lane) {
	for len(l.left) == 0 && !l.failed && l.stage < len(lane.Stages)-1 {
		l.stage++
		l.left = slices.Clone(lane.Stages[l.stage])
	}
}

// advance goes on to the next phase that has something to write.
func (m *manager) advance() {
	p := m.pass
	for m.pass != nil {
		switch p.phase {
		case statusFirst:
			if p.plan.StatusFirst && p.begun == 0 {
				return
			}
			p.phase, p.begun = before, 0
		case before:
			failed := len(p.faults) > 0 && !p.plan.Before[p.begun-1].Optional
			if p.begun < len(p.plan.Before) && !failed {
				return
			}
			p.phase, p.begun = lanes, 0
			if failed {
				p.phase = status
			}
		case lanes:
			if len(p.runnable()) > 0 {
				return
			}
			p.phase, p.begun = after, 0
			if len(p.faults) > 0 {
				p.phase = status
			}
		case after:
			if p.begun < len(p.plan.After) {
				return
			}
			p.phase, p.begun = status, 0
		case status:
			if p.begun == 0 {
				return
			}
			p.phase = over
		case over:
			m.end()
		}
	}
}

// runnable are the lanes' writes that may be next, as lane and index.
func (p *pass) runnable() [][2]int {
	var all [][2]int
	for i, l := range p.lanes {
		for j := range l.left {
			all = append(all, [2]int{i, j})
		}
	}
	return all
}

// choices is how many writes may be next.
func (m *manager) choices() int {
	if m.pass == nil {
		return 0
	}
	if m.pass.phase == lanes {
		return len(m.pass.runnable())
	}
	return 1
}

// do carries out the n-th of the writes that may be next. how is "" or a fault: transient and quota
// are refused, lost is done, but the answer does not arrive.
func (m *manager) do(n int, how string) {
	p := m.pass
	if p == nil {
		return
	}
	switch p.phase {
	case before:
		m.act(p.plan.Before[p.begun], how)
		p.begun++
	case statusFirst:
		p.begun++
		if !m.writeStatus(p.plan.Status, how) {
			return
		}
	case lanes:
		all := p.runnable()
		at := all[n%len(all)]
		l := p.lanes[at[0]]
		a := l.left[at[1]]
		l.left = slices.Delete(slices.Clone(l.left), at[1], at[1]+1)
		if !m.act(a, how) {
			l.failed = true
		}
		if p.quota {
			m.dropCreates()
		}
		l.next(&p.plan.Lanes[at[0]])
	case after:
		m.act(p.plan.After[p.begun], how)
		p.begun++
	case status:
		p.begun++
		settled, _ := p.plan.Settle(p.snapshot, p.faults, p.at)
		if len(p.faults) == 0 && !apiequality.Semantic.DeepEqual(settled, p.plan.Status) {
			m.w.violate("Settle without faults changes the status:\n%+v\n%+v", p.plan.Status, settled)
		}
		if !m.writeStatus(settled, how) {
			return
		}
	}
	m.advance()
}

// dropCreates: a quota that is used up stops every other creation of the pass.
func (m *manager) dropCreates() {
	for _, l := range m.pass.lanes {
		kept := l.left[:0:0]
		for _, a := range l.left {
			if a.Verb == action.Create {
				l.failed = true
				continue
			}
			kept = append(kept, a)
		}
		l.left = kept
	}
}

// act does one action and says whether it succeeded.
func (m *manager) act(a action.Action, how string) bool {
	m.wrote = true
	var got answer
	switch how {
	case "transient":
		got = answer{action.Transient, "the server is currently unable to handle the request"}
	case "quota":
		got = answer{action.QuotaExceeded, "exceeded quota: gpus"}
	default:
		m.w.log("  %-6s %-9s %s (%s)", a.Verb, singular[kindOf(a.Object)], a.Object.GetName(), a.Why)
		got = m.w.write(a)
		if got == done {
			m.w.wrote(a)
		}
		m.w.account("gangway")
		if how == "lost" && got == done {
			got = answer{action.Transient, "http2: client connection lost"}
		}
	}
	if got == done {
		return true
	}
	m.pass.quota = m.pass.quota || got.kind == action.QuotaExceeded
	m.w.log("         failed: %s", got.message)
	m.pass.faults = append(m.pass.faults, action.Fault{Action: a, Kind: got.kind, Message: got.message})
	return false
}

var singular = map[kind]string{pods: "Pod", services: "Service", podGroups: "PodGroup", revisions: "Revision"}

// writeStatus writes the status when it differs, at the version that was observed. It says whether
// the pass goes on.
func (m *manager) writeStatus(wanted workloadv1alpha1.ModelServingStatus, how string) bool {
	p := m.pass
	if apiequality.Semantic.DeepEqual(p.observed.Status, wanted) {
		return true
	}
	m.wrote = true
	live := m.w.modelServing()
	conflict := live.UID != p.observed.UID || live.ResourceVersion != p.observed.ResourceVersion
	if conflict || how == "transient" || how == "quota" {
		m.abort()
		return false
	}
	m.w.checkStatus(live.Status, wanted)
	if p.phase == statusFirst {
		m.w.decide(p)
	}
	updated := live.DeepCopy()
	wanted.DeepCopyInto(&updated.Status)
	m.w.store(updated)
	s := m.w.stores[modelServings]
	s.own = len(s.events)
	p.observed = updated
	if how == "lost" {
		m.abort()
		return false
	}
	return true
}

// abort ends a pass that will be tried again.
func (m *manager) abort() {
	m.pass, m.woken = nil, true
}

func (m *manager) end() {
	p := m.pass
	m.pass = nil
	if len(p.faults) > 0 {
		m.woken = true
	}
	if p.plan.RequeueAfter < 0 {
		m.w.violate("RequeueAfter is %s", p.plan.RequeueAfter)
	}
	if p.plan.RequeueAfter > 0 {
		m.again = m.w.now.Add(p.plan.RequeueAfter)
	}
}

// saw says that the pass was shown a PodGroup of that name or made it: if it is gone now, somebody
// else took it.
func (p *pass) saw(podGroup string) bool {
	return p.made[podGroup] || slices.ContainsFunc(p.snapshot.PodGroups, func(pg *schedulingv1beta1.PodGroup) bool { return pg.Name == podGroup })
}

// due says whether there is a reason to start a pass.
func (m *manager) due() bool {
	return m.woken || (!m.again.IsZero() && !m.w.now.Before(m.again))
}

// wake is called when a cache has seen something.
func (m *manager) wake() { m.woken = true }
