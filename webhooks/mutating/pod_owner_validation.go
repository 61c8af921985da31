package mutating

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var (
	ownerPath  = field.NewPath("metadata", "ownerReferences")
	labelsPath = field.NewPath("metadata", "labels")
)

// IsMember is true for a Pod that claims to be of a ServingGroup: it carries both labels by which
// the webhook selects Pods.
func IsMember(pod *corev1.Pod) bool {
	_, named := pod.Labels[names.LabelModelServing]
	_, grouped := pod.Labels[names.LabelGroup]
	return named && grouped
}

// Owner is the ModelServing that controls the Pod. A nil fault promises that the Pod has one
// controller, of kind ModelServing; whether it exists is for the caller to find out.
func Owner(pod *corev1.Pod) (*metav1.OwnerReference, *field.Error) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return nil, ruleOwner.required(ownerPath, "remove the labels, or let the ModelServing create the Pod")
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != workloadv1alpha1.GroupName || ref.Kind != workloadv1alpha1.ModelServingKind {
		return nil, ruleOwner.invalid(ownerPath, clip(ref.Kind)+"/"+ref.Name, "remove the labels from the Pod or its template")
	}
	return ref, nil
}

// Missing is the answer to a Pod whose owner does not exist, or exists with another UID.
func Missing(ref *metav1.OwnerReference, namespace string) *field.Error {
	return ruleOwnerExists.invalid(ownerPath, ref.Name,
		"there is no ModelServing %s/%s with UID %q: refer to the one that exists now, or leave it to create its Pods",
		clip(namespace), clip(ref.Name), clip(string(ref.UID)))
}

// Owns is true when ms is the very object that ref means, not another one of that name.
func Owns(ms *workloadv1alpha1.ModelServing, ref *metav1.OwnerReference) bool {
	return ms.Name == ref.Name && ms.UID == ref.UID && ref.UID != ""
}

// checkLabels refuses a Pod that would join the gang of another ModelServing, or of no role.
func checkLabels(pod *corev1.Pod, ms *workloadv1alpha1.ModelServing) *field.Error {
	if name := pod.Labels[names.LabelModelServing]; name != ms.Name {
		return ruleOwnLabels.invalid(labelsPath.Key(names.LabelModelServing), name, "write %q", ms.Name)
	}
	group := pod.Labels[names.LabelGroup]
	if _, ok := names.GroupOrdinal(ms.Name, group); !ok {
		return ruleOwnLabels.invalid(labelsPath.Key(names.LabelGroup), group, "write for example %q", names.Group(ms.Name, 0))
	}
	if pod.Labels[names.LabelRole] == "" {
		return ruleOwnLabels.required(labelsPath.Key(names.LabelRole), "add the role that the Pod counts for in its gang")
	}
	return nil
}
