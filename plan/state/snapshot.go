// Package state is one observed moment of a ModelServing: the snapshot that gather lists,
// sorted into groups, roles and role replicas, with the predicates that planners judge by.
package state

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
)

// Snapshot is what gather observed. Planners treat it as read-only.
type Snapshot struct {
	// ModelServing is the object, with defaults applied by the API server.
	ModelServing *workloadv1alpha1.ModelServing

	// Revisions, Pods, Services and PodGroups are those whose controller is ModelServing (by UID),
	// in no particular order.
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
	Services  []*corev1.Service
	PodGroups []*schedulingv1beta1.PodGroup

	// Nodes holds the nodes of terminating Pods. A terminating Pod's node that is missing here
	// does not exist.
	Nodes map[string]*corev1.Node

	// Gang says what the installed Volcano can do.
	Gang GangSupport

	// Route is what was observed for the gatewayRef.
	Route route.Input
}

// GangSupport says what the installed Volcano can do. The zero value: no PodGroup CRD.
type GangSupport struct {
	// PodGroups: the CRD podgroups.scheduling.volcano.sh is served.
	PodGroups bool
	// SubGroups: its schema has spec.subGroupPolicy (Volcano 1.14 and later).
	SubGroups bool
}
