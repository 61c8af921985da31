package gather

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

const (
	// IndexOwner finds the objects whose controller is a ModelServing, by its UID: a ModelServing
	// of the same name that was there before has another.
	IndexOwner = "gangway.controllerUID"
	// IndexTerminatingOnNode finds terminating Pods by the node that they are on.
	IndexTerminatingOnNode = "gangway.terminatingOnNode"
)

// Index registers the indexes that Snapshot needs, apart from the PodGroups'.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, obj := range []client.Object{&corev1.Pod{}, &corev1.Service{}, &appsv1.ControllerRevision{}} {
		if err := indexer.IndexField(ctx, obj, IndexOwner, ownerUID); err != nil {
			return fmt.Errorf("index %T by owner: %w", obj, err)
		}
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, IndexTerminatingOnNode, terminatingOn); err != nil {
		return fmt.Errorf("index terminating Pods by node: %w", err)
	}
	return nil
}

// IndexPodGroups registers the index of the PodGroups, which must be served. The first list of them
// then waits until the cache has them all.
func IndexPodGroups(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &schedulingv1beta1.PodGroup{}, IndexOwner, ownerUID); err != nil {
		return fmt.Errorf("index PodGroups by owner: %w", err)
	}
	return nil
}

// Owner is the reference to the ModelServing that controls obj; nil when none does.
func Owner(obj metav1.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOf(obj)
	if ref == nil || ref.Kind != workloadv1alpha1.ModelServingKind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != workloadv1alpha1.GroupName {
		return nil
	}
	return ref
}

func ownerUID(obj client.Object) []string {
	if ref := Owner(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

func terminatingOn(obj client.Object) []string {
	pod := obj.(*corev1.Pod)
	if pod.DeletionTimestamp == nil || pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}
