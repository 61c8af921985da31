package plan

import (
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/gang"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// gangs keeps the PodGroups true. What all groups of a revision have in common is made once.
type gangs struct {
	*computation
	made map[gangKey]*madeGang
}

// gangKey says what the gangs of groups have in common.
type gangKey struct {
	revision string
	waiting  bool
}

type madeGang struct {
	wanted bool
	like   *schedulingv1beta1.PodGroup
}

// reconcile makes, corrects or deletes the PodGroup of a group that is kept. It says whether Pods may
// be created now: not before the PodGroup is there.
func (gs *gangs) reconcile(s *stages, g *group) (ready bool) {
	if g.target == nil {
		return false
	}
	made := gs.gangOf(g)
	pg := g.PodGroup
	if !made.wanted {
		if pg != nil {
			s.delete(pg, whyUnwanted)
		}
		return true
	}
	switch {
	case pg != nil && pg.DeletionTimestamp != nil:
		// Its name must become free first.
		return false
	case pg == nil && g.Living == 0 && g.Going > 0:
		// The gang of the next incarnation is made when the last one is gone.
		return false
	case pg == nil:
		s.podGroup = append(s.podGroup, action.Action{Verb: action.Create, Object: gang.Like(made.like, gs.ms, g.Ordinal), Why: whyCreate})
	default:
		if gang.InSync(pg, made.like) {
			return true
		}
		if updated, changed := gang.Reconcile(pg, gang.Like(made.like, gs.ms, g.Ordinal)); changed {
			s.podGroup = append(s.podGroup, action.Action{Verb: action.Update, Object: updated, Why: whyDrift})
		}
	}
	return true
}

func (gs *gangs) gangOf(g *group) *madeGang {
	if t, members, mixed := gs.mixture(g); mixed {
		return gs.make(g, t, members)
	}
	key := gangKey{revision: g.target.Hash, waiting: g.waiting}
	if m, ok := gs.made[key]; ok {
		return m
	}
	if gs.made == nil {
		gs.made = map[gangKey]*madeGang{}
	}
	m := gs.make(g, g.target.Template, nil)
	gs.made[key] = m
	return m
}

// make makes the PodGroup of a group from a ModelServing that has the scheduler and the role replicas
// that the group has, which for an outdated group are not those of the spec. members, unless it is
// nil, is how many replicas of each role are of the gang.
func (gs *gangs) make(g *group, t revision.Template, members map[string]int) *madeGang {
	ms := *gs.ms
	ms.Spec.SchedulerName = t.SchedulerName
	if g.waiting || members != nil {
		ms.Spec.Template.Roles = make([]workloadv1alpha1.Role, 0, len(t.Roles))
		for i := range t.Roles {
			r, replicas := t.Roles[i], gs.wantedReplicas(g, t.Roles[i].Name)
			if members != nil {
				replicas = members[r.Name]
			}
			r.Replicas = ptr.To(int32(replicas))
			ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, r)
		}
	}
	m := &madeGang{wanted: gang.Wanted(&ms, gs.snapshot.Gang)}
	if m.wanted {
		m.like = gang.Desired(&ms, t, g.Ordinal, gs.snapshot.Gang)
	}
	return m
}

// mixture is what the gang of a group is made from whose role replicas are of several revisions. A
// gang that asks for Pods which nobody makes is never scheduled: while a role rolls from one size to
// another, or part of it is protected from that, the smaller size counts; and replicas that another
// scheduler places are no members.
func (gs *gangs) mixture(g *group) (t revision.Template, members map[string]int, mixed bool) {
	t = g.target.Template
	if !gs.byRole {
		return t, nil, false
	}
	schedulers := false
	for i := range g.roles {
		for _, r := range g.roles[i].replicas {
			if r.target == nil || r.target == g.target {
				continue
			}
			schedulers = schedulers || r.target.Template.SchedulerName != t.SchedulerName
			old, ok := r.target.Template.Role(r.role)
			now, _ := t.Role(r.role)
			if !ok || old.WorkerReplicas >= now.WorkerReplicas {
				continue
			}
			if !mixed {
				mixed = true
				t.Roles = append([]workloadv1alpha1.Role(nil), t.Roles...)
			}
			for j := range t.Roles {
				if t.Roles[j].Name == r.role {
					old.Replicas = t.Roles[j].Replicas
					t.Roles[j] = old
				}
			}
		}
	}
	if !schedulers {
		return t, nil, mixed
	}
	members = map[string]int{}
	for i := range g.roles {
		for _, r := range g.roles[i].replicas {
			if r.target != nil && r.target.Template.SchedulerName == names.SchedulerVolcano {
				members[r.role]++
				t.SchedulerName = names.SchedulerVolcano
			}
		}
	}
	return t, members, true
}
