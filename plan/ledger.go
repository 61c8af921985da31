package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/state"
)

// ledger holds status.removals: the units that Gangway has decided to delete and of which something
// is left. Without it a manager could not tell its own deletions from everybody else's, nor know of
// those that its cache does not show yet.
type ledger struct {
	before  map[workloadv1alpha1.RemovalStatus]metav1.Time
	entries map[workloadv1alpha1.RemovalStatus]metav1.Time
}

func newLedger(list []workloadv1alpha1.RemovalStatus) ledger {
	l := ledger{
		before:  make(map[workloadv1alpha1.RemovalStatus]metav1.Time, len(list)),
		entries: map[workloadv1alpha1.RemovalStatus]metav1.Time{},
	}
	for _, r := range list {
		until := r.CreatedUntil
		r.CreatedUntil = metav1.Time{}
		l.before[r] = until
	}
	return l
}

// add notes the removal of whatever of a unit was created until then.
func (l *ledger) add(key workloadv1alpha1.RemovalStatus, until metav1.Time) {
	if old := l.entries[key]; old.Before(&until) || old.IsZero() {
		l.entries[key] = until
	}
}

func (l *ledger) addGroup(g *group) {
	until, any := youngest(g.Replicas)
	if g.PodGroup != nil {
		any = true
		if until.Before(&g.PodGroup.CreationTimestamp) {
			until = g.PodGroup.CreationTimestamp
		}
	}
	if any {
		l.add(workloadv1alpha1.RemovalStatus{Group: g.Name}, until)
	}
}

func (l *ledger) addReplica(g *group, r *state.Replica) {
	if until, any := youngest([]*state.Replica{r}); any {
		l.add(workloadv1alpha1.RemovalStatus{Group: g.Name, RoleID: r.ID}, until)
	}
}

// carryOver keeps the removals of before of which something is left.
func (l *ledger) carryOver(g *group) {
	if len(l.before) == 0 {
		return
	}
	keep := func(key workloadv1alpha1.RemovalStatus, created metav1.Time) {
		if until, ok := l.before[key]; ok && !created.After(until.Time) {
			l.add(key, until)
		}
	}
	whole := workloadv1alpha1.RemovalStatus{Group: g.Name}
	if g.PodGroup != nil {
		keep(whole, g.PodGroup.CreationTimestamp)
	}
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			keep(whole, p.CreationTimestamp)
			keep(workloadv1alpha1.RemovalStatus{Group: g.Name, RoleID: r.ID}, p.CreationTimestamp)
			keep(workloadv1alpha1.RemovalStatus{Group: g.Name, RoleID: r.ID, Pod: p.Name}, p.CreationTimestamp)
		}
	}
}

// list is the new status.removals, in a stable order.
func (l *ledger) list(modelServing string) []workloadv1alpha1.RemovalStatus {
	var out []workloadv1alpha1.RemovalStatus
	for key, until := range l.entries {
		if _, whole := l.entries[workloadv1alpha1.RemovalStatus{Group: key.Group}]; whole && key.RoleID != "" {
			continue
		}
		key.CreatedUntil = until
		out = append(out, key)
	}
	slices.SortFunc(out, func(a, b workloadv1alpha1.RemovalStatus) int {
		x, _ := names.GroupOrdinal(modelServing, a.Group)
		y, _ := names.GroupOrdinal(modelServing, b.Group)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.RoleID, b.RoleID), cmp.Compare(a.Pod, b.Pod))
	})
	return out
}

// youngest is the latest creation time of the Pods; any is false when there is none.
func youngest(replicas []*state.Replica) (until metav1.Time, any bool) {
	for _, r := range replicas {
		for _, p := range r.Pods {
			if any = true; until.Before(&p.CreationTimestamp) {
				until = p.CreationTimestamp
			}
		}
	}
	return until, any
}

// remember writes into the status what a manager that dies in between must not forget, and asks for
// the status to be written first when any of it is new.
func (c *computation) remember() {
	for _, g := range c.groups {
		c.ledger.carryOver(g)
		if g.fate != keep {
			c.ledger.addGroup(g)
			continue
		}
		for r := range g.doomed {
			c.ledger.addReplica(g, r)
		}
		for _, p := range g.doomedPods {
			r := g.replicaOf(p)
			c.ledger.add(workloadv1alpha1.RemovalStatus{Group: g.Name, RoleID: r.ID, Pod: p.Name}, p.CreationTimestamp)
		}
	}
	old := &c.ms.Status
	st := &c.plan.Status
	st.Removals = c.ledger.list(c.ms.Name)
	st.Recoveries = c.records
	st.SurgeReplicas = int32(c.surge)
	c.plan.StatusFirst = !equality.Semantic.DeepEqual(old.Removals, st.Removals) ||
		!equality.Semantic.DeepEqual(old.Recoveries, st.Recoveries) ||
		old.SurgeReplicas != st.SurgeReplicas
}

func (g *group) replicaOf(p *state.Pod) *state.Replica {
	for _, r := range g.Replicas {
		for _, other := range r.Pods {
			if other == p {
				return r
			}
		}
	}
	return nil
}
