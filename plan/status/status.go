// Package status says what is so: counts, conditions and the Events that tell of their transitions.
// It decides nothing, and no decision reads what it says in words.
//
// What makes it hard is to be quiet and to the point at once. A condition's message names the first
// thing that is wrong, most telling first, in the words of the kubelet or the scheduler; it holds no
// times and nothing that changes from pass to pass while nothing happens. lastTransitionTime moves
// only with the status of a condition, and an Event is due only when a reason is new.
package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/state"
)

// Input is what the planner found and decided.
type Input struct {
	ModelServing *workloadv1alpha1.ModelServing
	Now          time.Time
	// Base is the new status as far as the planner has filled it in: what it must remember.
	Base workloadv1alpha1.ModelServingStatus
	// Update is the update revision, CurrentRevision the name of the one before it.
	Update          *state.Revision
	CurrentRevision string
	CollisionCount  *int32

	// Replicas is how many ServingGroups are wanted, those of a surge apart.
	Replicas int
	Groups   []Group
	Paused   bool
	// ProgressDeadline is how long a rollout may stand still.
	ProgressDeadline time.Duration

	// GangInstalled: the PodGroup CRD is served.
	GangInstalled bool
	// Route is RouteReady, nil without a gatewayRef.
	Route   *metav1.Condition
	Address string
}

// Group is a ServingGroup of which anything is there or wanted.
type Group struct {
	*state.Group
	// Kept: it is wanted, and nothing in this pass deletes it.
	Kept bool
	// Rebuilt: it is wanted, and is deleted to be made anew, in this pass or since an earlier one.
	Rebuilt bool
	// Own is the name of the revision that it has.
	Own string
	// Outdated: it has Pods that are not of the update revision. Waiting: it is to be replaced.
	Outdated, Waiting bool
	// Updated: it has Pods, all of the update revision.
	Updated   bool
	Available bool
	// Wanted is the number of role replicas that are wanted of it.
	Wanted int
	// Doomed says of a role replica whether this pass deletes it.
	Doomed func(*state.Replica) bool
	// Creates is the number of objects that this pass creates.
	Creates int
	// Pending says what a recovery waits for, Recovered what is being recreated; "" for nothing.
	Pending, Recovered string
	// Recovering: this pass deletes it to recover it.
	Recovering bool
}

// Output is the status, and what follows from it.
type Output struct {
	Status workloadv1alpha1.ModelServingStatus
	Events []action.Event
	// Next is when to look again; zero for never.
	Next time.Time
}

// Report makes the whole status.
func Report(in Input) Output {
	r := &report{Input: in, old: &in.ModelServing.Status}
	r.st = &r.out.Status
	*r.st = in.Base
	r.count()
	r.conditions()
	r.events()
	return r.out
}

type report struct {
	Input
	old *workloadv1alpha1.ModelServingStatus
	st  *workloadv1alpha1.ModelServingStatus
	out Output
	// updating: groups wait for the update revision, or do not stand again yet since they got it.
	updating bool
	stalled  bool
}

func (r *report) wake(t time.Time) {
	if r.out.Next.IsZero() || t.Before(r.out.Next) {
		r.out.Next = t
	}
}

func (r *report) tell(eventType, reason, message string) {
	r.out.Events = append(r.out.Events, action.Event{Type: eventType, Reason: reason, Message: message})
}
