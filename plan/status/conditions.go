package status

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// conditions makes every condition from the counts and the diagnosis.
func (r *report) conditions() {
	r.st.Conditions = slices.Clone(r.old.Conditions)
	found := r.diagnose()
	if found != nil && found.passing && r.updating && !r.Paused {
		found = nil
	}
	update := r.updateInProgress()
	r.set(update)
	r.set(r.available(found))
	r.set(r.progressing(found, update))
	r.set(r.gangScheduling())
	if r.Route != nil {
		r.set(*r.Route)
	} else {
		meta.RemoveStatusCondition(&r.st.Conditions, workloadv1alpha1.ConditionRouteReady)
	}
	r.set(r.ready(found, update))
}

func (r *report) set(c metav1.Condition) { set(r.st, r.ModelServing.Generation, r.Now, c) }

// set keeps lastTransitionTime while the status of the condition stays.
func set(st *workloadv1alpha1.ModelServingStatus, generation int64, now time.Time, c metav1.Condition) {
	c.ObservedGeneration = generation
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	c.Message = clipped(c.Message)
	meta.SetStatusCondition(&st.Conditions, c)
}

// clipped keeps a message within what the schema allows.
func clipped(message string) string {
	const limit = 32768
	if len(message) > limit {
		return message[:limit-len("...")] + "..."
	}
	return message
}

func condition(conditionType string, status bool, reason, format string, args ...any) metav1.Condition {
	c := metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	if status {
		c.Status = metav1.ConditionTrue
	}
	return c
}

func (r *report) updateInProgress() metav1.Condition {
	const t = workloadv1alpha1.ConditionUpdateInProgress
	if !r.updating {
		outdated := 0
		for i := range r.Groups {
			if r.Groups[i].Kept && r.Groups[i].Outdated {
				outdated++
			}
		}
		if outdated > 0 {
			return condition(t, false, workloadv1alpha1.ReasonUpToDate,
				"no ServingGroup waits for revision %s; the partition holds %d back", r.st.UpdateRevision, outdated)
		}
		return condition(t, false, workloadv1alpha1.ReasonUpToDate, "no ServingGroup waits for revision %s", r.st.UpdateRevision)
	}
	reason, note := workloadv1alpha1.ReasonRollingUpdate, ""
	switch {
	case r.Paused:
		reason, note = workloadv1alpha1.ReasonRolloutPaused, "; the rollout is paused"
	case r.stalled:
		reason, note = workloadv1alpha1.ReasonRolloutStalled, fmt.Sprintf("; nothing has moved for %s", r.ProgressDeadline)
	}
	return condition(t, true, reason, "%d of %d ServingGroups have revision %s%s",
		r.st.UpdatedReplicas, r.Replicas, r.st.UpdateRevision, note)
}

func (r *report) allAvailable() bool { return int(r.st.AvailableReplicas) >= r.Replicas }

// leftovers says that Pods are there of groups that nobody wants.
func (r *report) leftovers() string {
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Kept || g.Rebuilt {
			continue
		}
		for _, replica := range g.Replicas {
			if len(replica.Pods) > 0 {
				return replica.Pods[0].Name
			}
		}
	}
	return ""
}

func (r *report) available(found *problem) metav1.Condition {
	const t = workloadv1alpha1.ConditionAvailable
	switch {
	case r.Replicas == 0:
		return condition(t, true, workloadv1alpha1.ReasonScaledToZero, "no ServingGroup is wanted")
	case r.allAvailable():
		return condition(t, true, workloadv1alpha1.ReasonAllGroupsAvailable, "%d of %d ServingGroups are available", r.st.AvailableReplicas, r.Replicas)
	case found != nil:
		return condition(t, false, found.reason, "%d of %d ServingGroups are available: %s", r.st.AvailableReplicas, r.Replicas, found.message)
	default:
		return condition(t, false, workloadv1alpha1.ReasonRollingUpdate, "%d of %d ServingGroups are available", r.st.AvailableReplicas, r.Replicas)
	}
}

func (r *report) progressing(found *problem, update metav1.Condition) metav1.Condition {
	const t = workloadv1alpha1.ConditionProgressing
	left := r.leftovers()
	switch {
	case r.stalled:
		return condition(t, false, workloadv1alpha1.ReasonRolloutStalled, "%s", update.Message)
	case r.updating && !r.Paused:
		return condition(t, true, workloadv1alpha1.ReasonRollingUpdate, "%s", update.Message)
	case found != nil:
		return condition(t, true, found.reason, "%s", found.message)
	case left != "":
		return condition(t, true, workloadv1alpha1.ReasonPodTerminating, "Pod %q, which is not wanted any more, is terminating", left)
	case r.Replicas == 0:
		return condition(t, false, workloadv1alpha1.ReasonScaledToZero, "no ServingGroup is wanted and none is there")
	default:
		return condition(t, false, workloadv1alpha1.ReasonAllGroupsAvailable, "%d of %d ServingGroups are available", r.st.AvailableReplicas, r.Replicas)
	}
}

func (r *report) ready(found *problem, update metav1.Condition) metav1.Condition {
	const t = workloadv1alpha1.ConditionReady
	left := r.leftovers()
	switch {
	case !r.allAvailable() && found != nil:
		return condition(t, false, found.reason, "%s", found.message)
	case r.updating && !r.Paused:
		return condition(t, false, update.Reason, "%s", update.Message)
	case !r.allAvailable():
		return condition(t, false, workloadv1alpha1.ReasonGroupsCreating, "%d of %d ServingGroups are available", r.st.AvailableReplicas, r.Replicas)
	case r.Replicas == 0 && left != "":
		return condition(t, false, workloadv1alpha1.ReasonPodTerminating, "Pod %q, which is not wanted any more, is terminating", left)
	case r.Route != nil && r.Route.Status != metav1.ConditionTrue:
		return condition(t, false, workloadv1alpha1.ReasonRouteNotReady, "%s: %s", r.Route.Reason, r.Route.Message)
	case r.Replicas == 0:
		return condition(t, true, workloadv1alpha1.ReasonScaledToZero, "no ServingGroup is wanted and none is there")
	default:
		return condition(t, true, workloadv1alpha1.ReasonAllGroupsAvailable, "%d of %d ServingGroups are available", r.st.AvailableReplicas, r.Replicas)
	}
}

func (r *report) gangScheduling() metav1.Condition {
	const t = workloadv1alpha1.ConditionGangSchedulingReady
	scheduler := r.ModelServing.Spec.SchedulerName
	switch {
	case scheduler != names.SchedulerVolcano:
		return condition(t, false, workloadv1alpha1.ReasonSchedulerHasNoGangs,
			"schedulerName is %q; ServingGroups are gangs only with %q", scheduler, names.SchedulerVolcano)
	case !r.GangInstalled:
		return condition(t, false, workloadv1alpha1.ReasonVolcanoNotInstalled,
			"the CRD podgroups.scheduling.volcano.sh is not installed; Pods are created without a gang. Install Volcano, or set schedulerName to a scheduler that is there")
	}
	waiting := ""
	for i := range r.Groups {
		g := &r.Groups[i]
		if !g.Kept && !g.Rebuilt || g.Available {
			continue
		}
		if p := r.gangPending(g); p != nil {
			return condition(t, false, p.reason, "%s", p.message)
		}
		if scheduled, needed := gangScheduled(g); waiting == "" && g.Wanted > 0 && (g.PodGroup == nil || scheduled < needed) {
			waiting = g.Name
		}
	}
	if waiting != "" {
		return condition(t, false, workloadv1alpha1.ReasonGroupsCreating, "the gang of ServingGroup %q is not scheduled yet", waiting)
	}
	return condition(t, true, workloadv1alpha1.ReasonGangScheduled, "the gangs of all ServingGroups are scheduled")
}
