package controllers

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// onUpdate passes every event but those updates for which changed says false. The update that a
// resync makes up is among those: the ModelServing's own resync is enough.
func onUpdate[T client.Object](changed func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, ok2 := e.ObjectNew.(T)
		return ok && ok2 && changed(before, after)
	}}
}

// changedPredicate drops updates that change nothing at all.
func changedPredicate() predicate.Predicate {
	return onUpdate(func(before, after client.Object) bool {
		return before.GetResourceVersion() != after.GetResourceVersion()
	})
}

// podPredicate drops updates of what no planner reads: addresses, probe times, resources in use.
func podPredicate() predicate.Predicate { return onUpdate(podChanged) }

func podChanged(before, after *corev1.Pod) bool {
	return metaChanged(before, after) ||
		before.Spec.NodeName != after.Spec.NodeName ||
		before.Status.Phase != after.Status.Phase ||
		before.Status.Reason != after.Status.Reason ||
		before.Status.Message != after.Status.Message ||
		!slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, sameCondition) ||
		!slices.EqualFunc(before.Status.InitContainerStatuses, after.Status.InitContainerStatuses, sameContainer) ||
		!slices.EqualFunc(before.Status.ContainerStatuses, after.Status.ContainerStatuses, sameContainer)
}

func metaChanged(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}

func sameCondition(a, b corev1.PodCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

func sameContainer(a, b corev1.ContainerStatus) bool {
	return a.Name == b.Name && a.Ready == b.Ready && a.RestartCount == b.RestartCount &&
		equality.Semantic.DeepEqual(a.Started, b.Started) &&
		equality.Semantic.DeepEqual(a.State, b.State) &&
		equality.Semantic.DeepEqual(a.LastTerminationState, b.LastTerminationState)
}

// podGroupPredicate drops updates of what no planner reads. While a gang does not fit, Volcano
// refreshes the time and the transition id of its condition in every scheduling session.
func podGroupPredicate() predicate.Predicate { return onUpdate(podGroupChanged) }

func podGroupChanged(before, after *schedulingv1beta1.PodGroup) bool {
	return metaChanged(before, after) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		before.Status.Phase != after.Status.Phase ||
		!slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, func(a, b schedulingv1beta1.PodGroupCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
		})
}

// nodePredicate passes a node that goes, and a change of what tells whether it is gone. A node that
// comes frees no Pod.
func nodePredicate() predicate.Predicate {
	p := onUpdate(nodeChanged).(predicate.Funcs)
	p.CreateFunc = func(event.CreateEvent) bool { return false }
	return p
}

func nodeChanged(before, after *corev1.Node) bool {
	return !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		readiness(before) != readiness(after)
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
