// Package plan decides. Compute turns an observed moment and the time into the writes that are
// right now, and says why; it reads no clock, no cluster and no environment, and two calls with
// equal inputs give equal Plans, order included.
package plan

import (
	"time"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
)

// Plan is what one pass over a ModelServing does.
type Plan struct {
	// Before is done first, in order; when one fails, the lanes are not begun.
	// It holds the update revision's ControllerRevision.
	Before []action.Action

	// StatusFirst asks that Status be written before the lanes: it holds the memory of a recovery
	// that the lanes carry out, and a manager that dies in between must not forget it.
	StatusFirst bool

	// Lanes are independent of one another: one for each ServingGroup that needs something,
	// by ordinal, and one for the route.
	Lanes []action.Lane

	// After is done last, when nothing has failed: revision history.
	After []action.Action

	// Status is the whole status as it will be once every action has succeeded.
	Status workloadv1alpha1.ModelServingStatus

	// Events tell of transitions in Status; they are emitted once it is written.
	Events []action.Event

	// RequeueAfter is when to look again if nothing happens before; 0 means never.
	RequeueAfter time.Duration
}
