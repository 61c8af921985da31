package gang

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/gangway-serving/gangway/plan/names"
)

// Reconcile makes an observed PodGroup equal to the desired one in the fields that are ours.
// updated is a copy; when changed is false, nothing is to be written. Status, and labels and
// annotations of others, stay as they are. So does the queue while the ModelServing names none: Volcano
// may have given the PodGroup its namespace's queue; only a queue that came from the ModelServing
// goes when its annotation goes.
func Reconcile(current, desired *schedulingv1beta1.PodGroup) (updated *schedulingv1beta1.PodGroup, changed bool) {
	updated = current.DeepCopy()
	updated.Labels = merged(updated.Labels, desired.Labels)
	updated.Annotations = merged(updated.Annotations, desired.Annotations)

	_, ours := desired.Annotations[names.AnnotationQueue]
	_, was := current.Annotations[names.AnnotationQueue]
	switch {
	case ours, updated.Spec.Queue == "":
		updated.Spec.Queue = desired.Spec.Queue
	case was:
		delete(updated.Annotations, names.AnnotationQueue)
		updated.Spec.Queue = desired.Spec.Queue
	}
	updated.Spec.MinMember = desired.Spec.MinMember
	updated.Spec.MinTaskMember = maps.Clone(desired.Spec.MinTaskMember)
	updated.Spec.PriorityClassName = desired.Spec.PriorityClassName
	own := desired.DeepCopy()
	updated.Spec.NetworkTopology = own.Spec.NetworkTopology
	updated.Spec.SubGroupPolicy = own.Spec.SubGroupPolicy
	if !sameResources(updated.Spec.MinResources, own.Spec.MinResources) {
		updated.Spec.MinResources = own.Spec.MinResources
	}
	if apiequality.Semantic.DeepEqual(current, updated) {
		return updated, false
	}
	return updated, true
}

func sameResources(a, b *corev1.ResourceList) bool {
	var la, lb corev1.ResourceList
	if a != nil {
		la = *a
	}
	if b != nil {
		lb = *b
	}
	return apiequality.Semantic.DeepEqual(la, lb)
}

func merged(current, ours map[string]string) map[string]string {
	if current == nil {
		current = map[string]string{}
	}
	maps.Copy(current, ours)
	return current
}
