package children

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// EntryService makes the headless Service of a role replica that has workers. It selects the entry
// Pod alone, so that its DNS name means the entry and nothing else, and publishes it before it is
// Ready: the entry becomes Ready only after its workers have found it. A headless Service needs no
// ports.
func EntryService(ms *workloadv1alpha1.ModelServing, role string, group, replica int) *corev1.Service {
	groupName, roleID := names.Group(ms.Name, group), names.RoleReplica(role, replica)
	labels := map[string]string{
		names.LabelModelServing: ms.Name,
		names.LabelGroup:        groupName,
		names.LabelRole:         role,
		names.LabelRoleID:       roleID,
	}
	selector := maps.Clone(labels)
	selector[names.LabelEntry] = names.EntryValue
	labels[names.LabelManagedBy] = names.ManagedByGangway
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            names.EntryService(groupName, roleID),
			Namespace:       ms.Namespace,
			Labels:          labels,
			OwnerReferences: []metav1.OwnerReference{OwnerReference(ms)},
		},
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			ClusterIP:                corev1.ClusterIPNone,
			SessionAffinity:          corev1.ServiceAffinityNone,
			PublishNotReadyAddresses: true,
			Selector:                 selector,
		},
	}
}

// ReconcileService corrects what is ours in a Service that somebody changed. updated is a copy;
// when changed is false, nothing is to be written. Labels, annotations and ports that others added stay.
func ReconcileService(current, desired *corev1.Service) (updated *corev1.Service, changed bool) {
	updated = current.DeepCopy()
	if updated.Labels == nil {
		updated.Labels = map[string]string{}
	}
	maps.Copy(updated.Labels, desired.Labels)
	updated.Spec.Selector = maps.Clone(desired.Spec.Selector)
	updated.Spec.PublishNotReadyAddresses = desired.Spec.PublishNotReadyAddresses
	return updated, !apiequality.Semantic.DeepEqual(current, updated)
}
