package plan

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/rollout"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/plan/state"
	"github.com/gangway-serving/gangway/plan/status"
)

// routeLane is the name of the lane of the route's objects.
const routeLane = "route"

// Compute decides what is right now for a ModelServing. It changes nothing that it is given.
//
// One that is being deleted is left to the garbage collector. One whose spec breaks a rule that
// admission would have refused is left as it is, and its status says why.
func Compute(s state.Snapshot, now time.Time) Plan {
	ms := s.ModelServing
	if ms.DeletionTimestamp != nil {
		return Plan{Status: *ms.Status.DeepCopy()}
	}
	c := &computation{
		snapshot: s, ms: ms, now: now,
		byRole: rollout.ByRole(&ms.Spec), paused: rollout.Paused(&ms.Spec),
		replicas: int(ptr.Deref(ms.Spec.Replicas, 1)),
	}
	if err := c.read(); err != nil {
		st, events := status.Invalid(ms, err.Error(), now)
		return Plan{Status: st, Events: events}
	}
	for _, step := range steps {
		step(c)
	}
	return c.plan
}

// steps are the decisions, in an order in which each needs only those before it.
var steps = []func(*computation){
	(*computation).assessGroups,
	(*computation).scaleGroups,
	(*computation).shapeGroups,
	(*computation).findLosses,
	(*computation).recover,
	(*computation).rollGroups,
	(*computation).rollRoles,
	(*computation).giveBack,
	(*computation).remember,
	(*computation).writeLanes,
	(*computation).moveCurrent,
	(*computation).trimHistory,
	(*computation).report,
}

// computation is one Compute. Every step fills in what the later ones judge by.
type computation struct {
	snapshot state.Snapshot
	ms       *workloadv1alpha1.ModelServing
	now      time.Time

	byRole, paused bool
	replicas       int
	limits         rollout.Limits
	roleLimits     map[string]rollout.Limits

	view      *state.View
	revisions *state.Revisions
	update    *state.Revision
	// current is the hash of the revision that groups come from that are not updated yet.
	current        string
	collisionCount *int32
	updateObject   *appsv1.ControllerRevision

	groups  []*group
	surge   int
	ledger  ledger
	records []workloadv1alpha1.RecoveryStatus
	// remembered are the records of before, by group.
	remembered map[string][]workloadv1alpha1.RecoveryStatus
	gangs      gangs
	route      route.Output
	notes      []action.Event
	plan       Plan
}

// read resolves what is not a matter of judgement: the revisions and the limits.
func (c *computation) read() error {
	if size := names.Size(&c.ms.Spec, int32(c.replicas)); size > names.MaxPods {
		return fmt.Errorf("spec.replicas: all ServingGroups together would have %d Pods, and a cluster has at most %d; lower replicas, or the replicas or workerReplicas of a role", size, names.MaxPods)
	}
	for i := range c.ms.Spec.Template.Roles {
		r := &c.ms.Spec.Template.Roles[i]
		if r.WorkerReplicas > 0 && r.WorkerTemplate == nil {
			return fmt.Errorf("spec.template.roles[%s].workerTemplate: required when workerReplicas is above 0; add it or set workerReplicas to 0", r.Name)
		}
	}
	update, create, collisionCount, err := revision.Resolve(c.ms, c.snapshot.Revisions)
	if err != nil {
		return err
	}
	c.updateObject, c.collisionCount = update, collisionCount
	switch {
	case create:
		// When Pods are of it already, it was lost, and they go on without it.
		c.plan.Before = []action.Action{{Verb: action.Create, Object: update, Why: whyRevision, Optional: c.isOnPods(update)}}
	case !slices.Contains(c.snapshot.Revisions, update):
		c.plan.Before = []action.Action{{Verb: action.Update, Object: update, Why: whyRevision}}
	}
	if c.revisions, err = state.NewRevisions(c.ms.Name, c.snapshot.Revisions, update); err != nil {
		return err
	}
	c.update = c.revisions.Update
	if c.limits, err = rollout.OfGroups(&c.ms.Spec, c.replicas); err != nil {
		return err
	}
	c.roleLimits = map[string]rollout.Limits{}
	for i := range c.ms.Spec.Template.Roles {
		r := &c.ms.Spec.Template.Roles[i]
		if c.roleLimits[r.Name], err = rollout.OfRole(r, int(ptr.Deref(r.Replicas, 1))); err != nil {
			return err
		}
	}
	c.view = state.Observe(c.snapshot, c.revisions)
	c.findCurrent()
	c.remembered = map[string][]workloadv1alpha1.RecoveryStatus{}
	for _, r := range c.ms.Status.Recoveries {
		c.remembered[r.Group] = append(c.remembered[r.Group], r)
	}
	c.ledger = newLedger(c.ms.Status.Removals)
	c.gangs = gangs{computation: c}
	return nil
}

// isOnPods says that there are Pods of that revision.
func (c *computation) isOnPods(r *appsv1.ControllerRevision) bool {
	return slices.ContainsFunc(c.snapshot.Pods, func(p *corev1.Pod) bool {
		return p.Labels[names.LabelRevision] == r.Labels[names.LabelRevision]
	})
}

// wake asks for another pass at t.
func (c *computation) wake(t time.Time) {
	if t.IsZero() {
		return
	}
	after := max(t.Sub(c.now), time.Millisecond)
	if c.plan.RequeueAfter == 0 || after < c.plan.RequeueAfter {
		c.plan.RequeueAfter = after
	}
}
