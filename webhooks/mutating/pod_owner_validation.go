package mutating

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Stranger is why a Pod may not join a ServingGroup. It is an error that users read.
type Stranger string

func (s Stranger) Error() string { return string(s) }

// IsMember is true for a Pod that claims to be of a ServingGroup: it carries both labels by which
// the webhook selects Pods.
func IsMember(pod *corev1.Pod) bool {
	_, named := pod.Labels[names.LabelModelServing]
	_, grouped := pod.Labels[names.LabelGroup]
	return named && grouped
}

// Owner is the ModelServing that controls the Pod. A nil error promises that the Pod has one
// controller, of kind ModelServing; whether it exists is for the caller to find out.
func Owner(pod *corev1.Pod) (*metav1.OwnerReference, error) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return nil, Stranger(fmt.Sprintf(
			"metadata.ownerReferences: Required value: a Pod with labels %s and %s is controlled by its ModelServing; "+
				"remove the labels, or let the ModelServing create the Pod",
			names.LabelModelServing, names.LabelGroup))
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != workloadv1alpha1.GroupName || ref.Kind != workloadv1alpha1.ModelServingKind {
		return nil, Stranger(fmt.Sprintf(
			"metadata.ownerReferences: Invalid value: %q: a Pod with labels %s and %s is controlled by a ModelServing of %s; "+
				"remove the labels from the Pod or its template",
			clip(ref.Kind+"/"+ref.Name), names.LabelModelServing, names.LabelGroup, workloadv1alpha1.GroupName))
	}
	return ref, nil
}

// Missing is the answer to a Pod whose owner does not exist, or exists with another UID.
func Missing(ref *metav1.OwnerReference, namespace string) Stranger {
	return Stranger(fmt.Sprintf(
		"metadata.ownerReferences: Invalid value: %q: there is no ModelServing %s/%s with UID %s; "+
			"a Pod is owned by the ModelServing that exists now",
		clip(ref.Name), clip(namespace), clip(ref.Name), clip(string(ref.UID))))
}

// Owns is true when ms is the very object that ref means, not another one of that name.
func Owns(ms *workloadv1alpha1.ModelServing, ref *metav1.OwnerReference) bool {
	return ms.Name == ref.Name && ms.UID == ref.UID && ref.UID != ""
}

// checkLabels refuses a Pod that would join the gang of another ModelServing, or of no role.
func checkLabels(pod *corev1.Pod, ms *workloadv1alpha1.ModelServing) error {
	if name := pod.Labels[names.LabelModelServing]; name != ms.Name {
		return Stranger(fmt.Sprintf("metadata.labels[%s]: Invalid value: %q: the label names the Pod's owner; write %q",
			names.LabelModelServing, clip(name), ms.Name))
	}
	group := pod.Labels[names.LabelGroup]
	if _, ok := names.GroupOrdinal(ms.Name, group); !ok {
		return Stranger(fmt.Sprintf("metadata.labels[%s]: Invalid value: %q: the label names a ServingGroup of the Pod's owner; write for example %q",
			names.LabelGroup, clip(group), names.Group(ms.Name, 0)))
	}
	if pod.Labels[names.LabelRole] == "" {
		return Stranger(fmt.Sprintf("metadata.labels[%s]: Required value: the label names the role that the Pod counts for in its gang; add it",
			names.LabelRole))
	}
	return nil
}

const maxShown = 80

// clip shortens what a user wrote to what a message can hold.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return s[:maxShown] + "..."
}
