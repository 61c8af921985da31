package gang

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Like is the PodGroup of another ServingGroup of the same ModelServing and revision: what Desired
// would make for it, without computing again what does not differ.
func Like(desired *schedulingv1beta1.PodGroup, ms *workloadv1alpha1.ModelServing, group int) *schedulingv1beta1.PodGroup {
	pg := desired.DeepCopy()
	pg.Name = names.Group(ms.Name, group)
	pg.Labels[names.LabelGroup] = pg.Name
	pg.Labels[names.LabelModelInfer] = pg.Name
	return pg
}

// InSync is a cheap look at whether an observed PodGroup is what Like would make of desired. When it
// says so, Reconcile changes nothing; when it does not, Reconcile has the last word.
func InSync(current, desired *schedulingv1beta1.PodGroup) bool {
	for k, v := range desired.Labels {
		if k == names.LabelGroup || k == names.LabelModelInfer {
			v = current.Name
		}
		if current.Labels[k] != v {
			return false
		}
	}
	for k, v := range desired.Annotations {
		if current.Annotations[k] != v {
			return false
		}
	}
	_, ours := desired.Annotations[names.AnnotationQueue]
	_, was := current.Annotations[names.AnnotationQueue]
	if was != ours || current.Spec.Queue == "" || (ours && current.Spec.Queue != desired.Spec.Queue) {
		return false
	}
	return current.Spec.MinMember == desired.Spec.MinMember &&
		current.Spec.PriorityClassName == desired.Spec.PriorityClassName &&
		apiequality.Semantic.DeepEqual(current.Spec.MinTaskMember, desired.Spec.MinTaskMember) &&
		apiequality.Semantic.DeepEqual(current.Spec.NetworkTopology, desired.Spec.NetworkTopology) &&
		apiequality.Semantic.DeepEqual(current.Spec.SubGroupPolicy, desired.Spec.SubGroupPolicy) &&
		sameResources(current.Spec.MinResources, desired.Spec.MinResources)
}
