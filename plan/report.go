package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/plan/state"
	"github.com/gangway-serving/gangway/plan/status"
)

// report puts the status and the Events together.
func (c *computation) report() {
	in := status.Input{
		ModelServing: c.ms, Now: c.now, Base: c.plan.Status,
		Update: c.update, CurrentRevision: c.revisions.NameOf(c.current), CollisionCount: c.collisionCount,
		Replicas: c.replicas, Paused: c.paused,
		ProgressDeadline: time.Duration(ptr.Deref(c.ms.Spec.Template.ProgressDeadlineSeconds, 1800)) * time.Second,
		GangInstalled:    c.snapshot.Gang.PodGroups,
		Route:            c.route.Condition, Address: c.route.Address,
		Groups: make([]status.Group, 0, len(c.groups)),
	}
	recovered := map[string]string{}
	for i := range c.records {
		if r := &c.records[i]; recovered[r.Group] == "" && r.Count > 0 {
			recovered[r.Group] = recoveredWords(r)
		}
	}
	for _, g := range c.groups {
		in.Groups = append(in.Groups, c.reportOf(g, recovered[g.Name]))
	}
	out := status.Report(in)
	c.plan.Status = out.Status
	c.plan.Events = slices.Concat(c.notes, out.Events)
	c.wake(out.Next)
	c.tellOfRoles()
}

func (c *computation) reportOf(g *group, recovered string) status.Group {
	out := status.Group{
		Group: g.Group, Kept: g.fate == keep && !g.Removing, Rebuilt: g.fate == rebuild || g.fate == keep && g.Removing,
		Own: c.revisions.NameOf(g.own), Outdated: g.outdated,
		Updated:   g.Living > 0 && !g.outdated,
		Available: g.available && g.fate == keep && len(g.doomed) == 0 && len(g.doomedPods) == 0,
		Doomed:    func(r *state.Replica) bool { _, doomed := g.doomed[r]; return doomed },
		Creates:   g.creates, Pending: g.pending, Recovered: recovered,
	}
	if g.fate == rebuild {
		out.Recovering = g.why == whyRecovery
	}
	for i := range g.roles {
		out.Wanted += len(g.roles[i].replicas)
	}
	switch {
	case !c.byRole:
		out.Waiting = g.outdated && !g.protected
	case c.paused:
		out.Waiting = g.outdated
	default:
		for i := range g.roles {
			out.Waiting = out.Waiting || slices.ContainsFunc(g.roles[i].replicas, func(r *replica) bool { return r.outdated })
		}
		for _, why := range g.doomed {
			out.Waiting = out.Waiting || why == whyRollout
		}
	}
	return out
}

// recoveredWords tells of the recoveries of a unit.
func recoveredWords(r *workloadv1alpha1.RecoveryStatus) string {
	what := "it"
	if r.RoleID != "" {
		what = "role replica " + r.RoleID
	}
	if r.Count == 1 {
		return what + " is being recreated after a failure"
	}
	return fmt.Sprintf("%s is being recreated after %d failures in a row", what, r.Count)
}

// tellOfRoles has the first creation and the first deletion of each role in this pass tell of all.
func (c *computation) tellOfRoles() {
	created, deleted := map[string]*tale{}, map[string]*tale{}
	for l := range c.plan.Lanes {
		for _, stage := range c.plan.Lanes[l].Stages {
			for i := range stage {
				a := &stage[i]
				pod, ok := a.Object.(*corev1.Pod)
				switch {
				case !ok:
				case a.Verb == action.Create && pod.Labels[names.LabelEntry] == names.EntryValue:
					note(created, pod, a)
				case a.Verb == action.Delete && (a.Why == whyScaleDown || a.Why == whyRollout):
					note(deleted, pod, a)
				}
			}
		}
	}
	for role, t := range created {
		t.first.Event = &action.Event{
			Type: corev1.EventTypeNormal, Reason: workloadv1alpha1.EventRoleCreating, Field: names.RoleField(role),
			Message: fmt.Sprintf("creating %s of role %s", status.Replicas(len(t.whys)), role),
		}
	}
	for role, t := range deleted {
		t.first.Event = &action.Event{
			Type: corev1.EventTypeNormal, Reason: workloadv1alpha1.EventRoleDeleting, Field: names.RoleField(role),
			Message: fmt.Sprintf("deleting %s of role %s (%s)", status.Replicas(len(t.whys)), role, t.reasons()),
		}
	}
}

// tale is what an Event tells of a role.
type tale struct {
	first *action.Action
	// whys are the reasons, by role replica.
	whys map[string]string
}

func note(in map[string]*tale, pod *corev1.Pod, a *action.Action) {
	role := pod.Labels[names.LabelRole]
	t, ok := in[role]
	if !ok {
		t = &tale{first: a, whys: map[string]string{}}
		in[role] = t
	}
	t.whys[pod.Labels[names.LabelGroup]+"/"+pod.Labels[names.LabelRoleID]] = a.Why
}

// reasons are why the role replicas go, with their numbers when there are several.
func (t *tale) reasons() string {
	numbers := map[string]int{}
	for _, why := range t.whys {
		numbers[why]++
	}
	all := slices.Sorted(maps.Keys(numbers))
	if len(all) == 1 {
		return all[0]
	}
	for i, why := range all {
		all[i] = fmt.Sprintf("%s: %d", why, numbers[why])
	}
	return strings.Join(all, ", ")
}

// Settle is the status and the Events after the plan was carried out for s, and these writes of it
// failed. Without faults they are the plan's own.
func (p Plan) Settle(s state.Snapshot, faults []action.Fault, now time.Time) (workloadv1alpha1.ModelServingStatus, []action.Event) {
	if len(faults) == 0 || s.ModelServing.DeletionTimestamp != nil {
		return p.Status, p.Events
	}
	st, events := status.Settle(s.ModelServing, p.Status, faults, route.Decide(s.Route).Settle(faults), now)
	return st, append(slices.Clone(p.Events), events...)
}
