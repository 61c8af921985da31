package vllm

import (
	"time"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
)

// Names of the lanes.
const (
	laneWorkload   = "workload"
	laneRoute      = "route"
	laneMonitoring = "monitoring"
)

// Why an object is written, as of action.Action.
const (
	whyCreate = "Create"
	whyDrift  = "Drift"
	whyRemove = "NotWanted"
)

// Compute says what is right now. A VLLMService that is being deleted is left to the garbage
// collector: nothing is done and its status stays.
func Compute(s Snapshot, now time.Time) Plan {
	if s.VLLMService.DeletionTimestamp != nil {
		return Plan{Status: *s.VLLMService.Status.DeepCopy()}
	}
	routed := route.Decide(s.Route)
	p := Plan{
		Lanes: lanes(
			action.Lane{Name: laneWorkload, Stages: [][]action.Action{putDeployment(s)}},
			// The Service comes before the HTTPRoute that leads to it.
			action.Lane{Name: laneRoute, Stages: append([][]action.Action{route.PutService(s.Route)}, routed.Stages...)},
			action.Lane{Name: laneMonitoring, Stages: [][]action.Action{putServiceMonitor(s)}},
		),
		RequeueAfter: routed.RequeueAfter,
	}
	p.Status = wholeStatus(s, routed, nil, now)
	p.Events = transitions(s.VLLMService.Status.Conditions, p.Status.Conditions)
	if hasReason(p.Status.Conditions, v1alpha1.ReasonNameConflict) {
		// The other object may be of a kind or label that is not watched.
		p.RequeueAfter = conflictRetry
	}
	return p
}

// conflictRetry is when a taken name is tried again if no event came before.
const conflictRetry = time.Minute

// Settle is the status, and the events, when some of the plan's writes have failed.
func (p Plan) Settle(s Snapshot, faults []action.Fault, now time.Time) (v1alpha1.VLLMServiceStatus, []action.Event) {
	if len(faults) == 0 || s.VLLMService.DeletionTimestamp != nil {
		return p.Status, p.Events
	}
	settled := wholeStatus(s, route.Decide(s.Route).Settle(faults), faults, now)
	return settled, transitions(s.VLLMService.Status.Conditions, settled.Conditions)
}

// lanes drops stages and lanes in which nothing is done.
func lanes(all ...action.Lane) []action.Lane {
	var kept []action.Lane
	for _, l := range all {
		var stages [][]action.Action
		for _, stage := range l.Stages {
			if len(stage) > 0 {
				stages = append(stages, stage)
			}
		}
		if l.Stages = stages; len(stages) > 0 {
			kept = append(kept, l)
		}
	}
	return kept
}

func putDeployment(s Snapshot) []action.Action {
	switch current := s.Deployment; {
	case current == nil:
		return []action.Action{{Verb: action.Create, Object: Deployment(s.VLLMService), Why: whyCreate}}
	case !s.Route.Owner.Owns(current) || current.DeletionTimestamp != nil:
		return nil
	}
	updated, changed := deploymentUpdate(s.VLLMService, s.Deployment)
	if !changed {
		return nil
	}
	return []action.Action{{Verb: action.Update, Object: updated, Why: whyDrift}}
}

func putServiceMonitor(s Snapshot) []action.Action {
	current := s.ServiceMonitor
	ours := current != nil && s.Route.Owner.Owns(current) && current.GetDeletionTimestamp() == nil
	switch {
	case !s.Monitors:
		return nil
	case !monitored(s.VLLMService):
		if ours {
			return []action.Action{{Verb: action.Delete, Object: current, Why: whyRemove}}
		}
		return nil
	case current == nil:
		return []action.Action{{Verb: action.Create, Object: ServiceMonitor(s.VLLMService), Why: whyCreate}}
	case !ours:
		return nil
	}
	updated, changed := serviceMonitorUpdate(s.VLLMService, current)
	if !changed {
		return nil
	}
	return []action.Action{{Verb: action.Update, Object: updated, Why: whyDrift}}
}
