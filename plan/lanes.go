package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/recovery"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/plan/state"
)

// Why an object is written, as of action.Action.
const (
	whyCreate      = "Create"
	whyScaleDown   = "ScaleDown"
	whyRollout     = "Rollout"
	whyRecovery    = "Recovery"
	whyFinish      = "FinishRemoval"
	whyUnwanted    = "Unwanted"
	whyStuck       = "StuckTerminating"
	whyDrift       = "Drift"
	whyQuota       = "Quota"
	whyRevision    = "Revision"
	whyHistory     = "RevisionHistory"
	strayLane      = "strays"
	failedReplaced = "ReplacePod"
)

// stages are the writes of one group. Deletions come first, a PodGroup before the headless Services,
// and those before the Pods; the PodGroup of a group that goes follows its Pods.
type stages struct {
	deletes, podGroup, services, pods, last []action.Action
}

func (s *stages) lane(name string) (action.Lane, bool) {
	l := action.Lane{Name: name}
	for _, stage := range [...][]action.Action{s.deletes, s.podGroup, s.services, s.pods, s.last} {
		if len(stage) > 0 {
			l.Stages = append(l.Stages, stage)
		}
	}
	return l, len(l.Stages) > 0
}

func (s *stages) delete(o action.Object, why string) {
	if o.GetDeletionTimestamp() == nil {
		s.deletes = append(s.deletes, action.Action{Verb: action.Delete, Object: o, Why: why})
	}
}

// deleting says that the object is deleted in this pass.
func (s *stages) deleting(o action.Object) bool {
	return slices.ContainsFunc(s.deletes, func(a action.Action) bool { return a.Object == o })
}

// writeLanes turns the fates into writes.
func (c *computation) writeLanes() {
	oneByOne, creating := c.isQuotaMet(), false
	for _, g := range c.groups {
		var s stages
		c.forceDeletes(&s, g.Replicas)
		switch {
		case g.fate == keep && !g.Removing:
			c.complete(&s, g)
			if oneByOne && creating {
				s.pods = nil
			}
			creating = creating || len(s.pods) > 0
			g.creates = len(s.pods) + len(s.services)
			c.restoreLabels(&s, g)
		default:
			c.takeDown(&s, g)
		}
		if lane, ok := s.lane(g.Name); ok {
			c.plan.Lanes = append(c.plan.Lanes, lane)
		}
	}

	var s stages
	for _, pod := range c.view.Strays {
		c.forceDelete(&s, pod)
		s.delete(pod, whyUnwanted)
	}
	for _, pg := range c.view.StrayPodGroups {
		s.delete(pg, whyUnwanted)
	}
	if lane, ok := s.lane(strayLane); ok {
		c.plan.Lanes = append(c.plan.Lanes, lane)
	}

	c.route = route.Decide(c.snapshot.Route)
	if len(c.route.Stages) > 0 {
		c.plan.Lanes = append(c.plan.Lanes, action.Lane{Name: routeLane, Stages: c.route.Stages})
	}
	if c.route.RequeueAfter > 0 {
		c.wake(c.now.Add(c.route.RequeueAfter))
	}
}

// takeDown deletes a group: for good, to be rebuilt, or because an earlier pass did not come to the end.
func (c *computation) takeDown(s *stages, g *group) {
	why := g.why
	if g.fate == keep {
		why = whyFinish
	}
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			if g.fate != keep || p.Removing {
				s.delete(p.Pod, why)
			}
		}
		// The Services of a group that is rebuilt are the same for its next incarnation.
		if g.fate == remove && r.Service != nil {
			s.delete(r.Service, why)
		}
	}
	if pg := g.PodGroup; pg != nil && pg.DeletionTimestamp == nil && (g.fate != keep || g.PodGroupRemoving) {
		s.last = append(s.last, action.Action{Verb: action.Delete, Object: pg, Why: why})
	}
}

// complete deletes what a group is not to have, and makes what it lacks.
func (c *computation) complete(s *stages, g *group) {
	for _, r := range g.surplus {
		if r.Service != nil {
			s.delete(r.Service, whyUnwanted)
		}
	}
	for _, r := range g.Replicas {
		why, doomed := g.doomed[r]
		for _, p := range r.Pods {
			switch {
			case doomed:
				s.delete(p.Pod, why)
			case p.Removing:
				s.delete(p.Pod, whyFinish)
			}
		}
	}
	for _, p := range g.doomedPods {
		s.delete(p.Pod, failedReplaced)
	}
	gangReady := c.gangs.reconcile(s, g)
	if g.target == nil {
		return
	}
	create := gangReady && !g.stopped[""] && !c.mixes(g)
	for i := range g.roles {
		for _, r := range g.roles[i].replicas {
			c.completeReplica(s, g, r, create && !r.mixes())
		}
	}
}

// restoreLabels sets back what somebody edited of the labels of Pods that stay.
func (c *computation) restoreLabels(s *stages, g *group) {
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			id := children.Identity{
				ModelServing: c.ms.Name, Group: g.Name, Role: r.Role, RoleID: r.ID, Entry: p.Index == 0,
				Revision: p.Revision(), RoleHash: p.RoleHash(),
			}
			if p.Going() || id.Matches(p.Pod) || s.deleting(p.Pod) {
				continue
			}
			s.pods = append(s.pods, action.Action{Verb: action.Update, Object: id.Restore(p.Pod), Why: whyDrift})
		}
	}
}

// mixes says that Pods of another revision than the group's next ones are still terminating, where a
// group is of one revision.
func (c *computation) mixes(g *group) bool {
	if c.byRole || g.Going == 0 {
		return false
	}
	return slices.ContainsFunc(g.Replicas, func(r *state.Replica) bool {
		return slices.ContainsFunc(r.Pods, func(p *state.Pod) bool { return p.Revision() != g.target.Hash })
	})
}

// mixes is the same of a role replica, which is of one template always.
func (r *replica) mixes() bool {
	return r.seen != nil && r.target != nil && slices.ContainsFunc(r.seen.Pods, func(p *state.Pod) bool {
		return !r.target.Matches(r.role, p.Revision(), p.RoleHash())
	})
}

func (c *computation) completeReplica(s *stages, g *group, r *replica, create bool) {
	if r.target == nil || (g.waiting && !r.exists()) {
		return
	}
	workers := r.target.Workers(r.role)
	c.completeService(s, g, r, workers > 0)
	if r.seen != nil {
		if _, doomed := g.doomed[r.seen]; doomed || r.seen.Removing {
			return
		}
		for _, p := range r.seen.Pods {
			if p.Index > workers && !r.outdated && !g.waiting {
				s.delete(p.Pod, whyUnwanted)
			}
		}
	}
	if !create || g.waiting || r.outdated || g.stopped[r.id] {
		return
	}
	for n := 0; n <= workers; n++ {
		if r.has(n) {
			continue
		}
		id := children.PodID{Group: g.Ordinal, Role: r.role, Replica: r.ordinal, Index: n}
		pod := children.Pod(c.ms, r.target.Template, r.target.Hash, id)
		s.pods = append(s.pods, action.Action{Verb: action.Create, Object: pod, Why: whyCreate})
	}
}

// has says that there is a Pod of that index, be it a terminating one: its name is taken.
func (r *replica) has(index int) bool {
	if r.seen == nil {
		return false
	}
	// Pods are in the order of their index, most often without gaps.
	if index < len(r.seen.Pods) && r.seen.Pods[index].Index == index {
		return true
	}
	for _, p := range r.seen.Pods {
		if p.Index == index {
			return true
		}
	}
	return false
}

func (c *computation) completeService(s *stages, g *group, r *replica, wanted bool) {
	var current *corev1.Service
	if r.seen != nil {
		current = r.seen.Service
	}
	switch {
	case !wanted && current != nil:
		s.delete(current, whyUnwanted)
	case !wanted, current != nil && current.DeletionTimestamp != nil:
	case current == nil:
		service := children.EntryService(c.ms, r.role, g.Ordinal, r.ordinal)
		s.services = append(s.services, action.Action{Verb: action.Create, Object: service, Why: whyCreate})
	case !c.intact(current, g, r):
		updated, changed := children.ReconcileService(current, children.EntryService(c.ms, r.role, g.Ordinal, r.ordinal))
		if changed {
			s.services = append(s.services, action.Action{Verb: action.Update, Object: updated, Why: whyDrift})
		}
	}
}

// intact is a cheap look at what is ours in a Service, so that one at rest need not be built.
func (c *computation) intact(current *corev1.Service, g *group, r *replica) bool {
	selector, labels := current.Spec.Selector, current.Labels
	for _, want := range [...][2]string{
		{names.LabelModelServing, c.ms.Name}, {names.LabelGroup, g.Name}, {names.LabelRole, r.role}, {names.LabelRoleID, r.id},
	} {
		if selector[want[0]] != want[1] || labels[want[0]] != want[1] {
			return false
		}
	}
	return len(selector) == 5 && selector[names.LabelEntry] == names.EntryValue &&
		labels[names.LabelManagedBy] == names.ManagedByGangway && current.Spec.PublishNotReadyAddresses
}

// forceDeletes frees the names of Pods that hang in Terminating on nodes that are gone.
func (c *computation) forceDeletes(s *stages, replicas []*state.Replica) {
	for _, r := range replicas {
		for _, p := range r.Pods {
			c.forceDelete(s, p.Pod)
		}
	}
}

func (c *computation) forceDelete(s *stages, pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		return
	}
	at, stuck := recovery.Stuck(pod, c.snapshot.Nodes)
	switch {
	case !stuck:
	case c.now.Before(at):
		c.wake(at)
	default:
		s.deletes = append(s.deletes, action.Action{Verb: action.ForceDelete, Object: pod, Why: whyStuck})
	}
}
