package status

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
)

// Invalid is the status of a ModelServing whose spec nothing can be made of.
func Invalid(ms *workloadv1alpha1.ModelServing, message string, now time.Time) (workloadv1alpha1.ModelServingStatus, []action.Event) {
	st := ms.Status.DeepCopy()
	st.ObservedGeneration = ms.Generation
	st.LabelSelector = scaleSelector(ms)
	set(st, ms.Generation, now, condition(workloadv1alpha1.ConditionReady, false, workloadv1alpha1.ReasonInvalidSpec, "%s", message))
	set(st, ms.Generation, now, condition(workloadv1alpha1.ConditionProgressing, false, workloadv1alpha1.ReasonInvalidSpec, "%s", message))
	var events []action.Event
	if was := meta.FindStatusCondition(ms.Status.Conditions, workloadv1alpha1.ConditionReady); was == nil || was.Reason != workloadv1alpha1.ReasonInvalidSpec {
		events = append(events, action.Event{Type: corev1.EventTypeWarning, Reason: workloadv1alpha1.ReasonInvalidSpec, Message: message})
	}
	return *st, events
}

// Settle corrects a planned status for writes that failed: the conditions say so in the API server's
// own words. routed is what the faults make of the route.
func Settle(ms *workloadv1alpha1.ModelServing, planned workloadv1alpha1.ModelServingStatus, faults []action.Fault, routed route.Output, now time.Time) (workloadv1alpha1.ModelServingStatus, []action.Event) {
	st := planned.DeepCopy()
	if routed.Condition != nil {
		restore(st, ms, workloadv1alpha1.ConditionRouteReady)
		set(st, ms.Generation, now, *routed.Condition)
		st.Address = routed.Address
	}
	if collided(faults) {
		st.CollisionCount = ptr.To(ptr.Deref(st.CollisionCount, 0) + 1)
	}
	worst, like := worstOf(faults)
	if worst == nil {
		return *st, nil
	}
	reason := workloadv1alpha1.ReasonCreateFailed
	if worst.Kind == action.NameConflict {
		reason = workloadv1alpha1.ReasonNameConflict
	}
	progressing := reason
	if _, pod := worst.Action.Object.(*corev1.Pod); pod && worst.Kind == action.QuotaExceeded {
		progressing = workloadv1alpha1.ReasonQuotaExceeded
	}
	message := worst.Message
	if like > 1 {
		message = fmt.Sprintf("%s (and %d more)", message, like-1)
	}
	fail := func(conditionType string, status bool, reason string) {
		restore(st, ms, conditionType)
		set(st, ms.Generation, now, condition(conditionType, status, reason, "%s", message))
	}
	if !meta.IsStatusConditionTrue(planned.Conditions, workloadv1alpha1.ConditionAvailable) {
		fail(workloadv1alpha1.ConditionAvailable, false, reason)
	}
	fail(workloadv1alpha1.ConditionProgressing, true, progressing)
	fail(workloadv1alpha1.ConditionReady, false, reason)

	was := meta.FindStatusCondition(ms.Status.Conditions, workloadv1alpha1.ConditionReady)
	if was != nil && was.Reason == reason {
		return *st, nil
	}
	return *st, []action.Event{{Type: corev1.EventTypeWarning, Reason: reason, Message: message}}
}

// restore puts back the condition that was observed, so that one that the plan would have turned
// over, and that a fault turned back, has never moved.
func restore(st *workloadv1alpha1.ModelServingStatus, ms *workloadv1alpha1.ModelServing, conditionType string) {
	was := meta.FindStatusCondition(ms.Status.Conditions, conditionType)
	now := meta.FindStatusCondition(st.Conditions, conditionType)
	if was != nil && now != nil {
		*now = *was
	}
}

// worstOf is the fault to tell of, and how many there are of its rank: a taken name before a
// refusal, that before a creation that is tried again. Other writes that were only late are tried
// again without a word, and the route tells of its own.
func worstOf(faults []action.Fault) (worst *action.Fault, like int) {
	best := 0
	for i := range faults {
		f := &faults[i]
		rank := rankOf(f)
		switch {
		case rank == 0 || rank < best || route.IsObject(f.Action.Object) || isCollision(f):
		case rank > best:
			worst, like, best = f, 1, rank
		default:
			like++
		}
	}
	return worst, like
}

func rankOf(f *action.Fault) int {
	switch {
	case f.Kind == action.NameConflict:
		return 3
	case f.Kind == action.Refused, f.Kind == action.QuotaExceeded:
		return 2
	case f.Action.Verb == action.Create:
		return 1
	default:
		return 0
	}
}

// collided says that the update revision needs another hash. The next pass makes it under that, as
// StatefulSet does.
func collided(faults []action.Fault) bool {
	return slices.ContainsFunc(faults, func(f action.Fault) bool { return isCollision(&f) })
}

// isCollision: other content of ours has the name, or an object that is not ours while no Pod is of
// that hash yet. Once there are Pods, another hash would replace them all, so the name has to be freed.
func isCollision(f *action.Fault) bool {
	if _, is := f.Action.Object.(*appsv1.ControllerRevision); !is {
		return false
	}
	return f.Kind == action.HashCollision || (f.Kind == action.NameConflict && !f.Action.Optional)
}
