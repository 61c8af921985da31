// Package vllm decides what a VLLMService needs: one Deployment, one Service, an HTTPRoute where a
// gatewayRef asks for it and a ServiceMonitor where monitoring does; and what its status says.
//
// Comparing is exact, not by hash or annotation: the constructors write out every default that
// the API server would fill in, so that an object that was written once compares equal for ever,
// a change by hand is seen and put right, and a steady cluster costs no write. What belongs to
// others is kept: the annotations of the Pod template (kubectl rollout restart), foreign labels
// and annotations of the objects, and whether a rollout is paused.
//
// The price: whatever is changed here in the Pod template restarts every model of every cluster at the
// next upgrade. The golden files show such a change; a new field must be absent unless it is asked for.
package vllm

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
)

// Snapshot is what was observed for one VLLMService. The planner treats it as read-only.
type Snapshot struct {
	// VLLMService is the object, with defaults applied by the API server.
	VLLMService *aiinfrav1alpha1.VLLMService

	// Deployment and ServiceMonitor are those of its name in its namespace, whoever owns them;
	// nil when there is none.
	Deployment     *appsv1.Deployment
	ServiceMonitor *unstructured.Unstructured

	// PVC is the one that spec.storage names; nil when there is none.
	PVC *corev1.PersistentVolumeClaim

	// Pods are those that the Deployment's selector selects, in any order.
	Pods []*corev1.Pod

	// Monitors: the cluster serves ServiceMonitors.
	Monitors bool

	// Route is what was observed for the gatewayRef. Its Service is the VLLMService's Service.
	Route route.Input
}

// Plan is what one pass over a VLLMService does.
type Plan struct {
	// Lanes are independent of one another: workload, route, monitoring.
	Lanes []action.Lane
	// Status is the whole status as it will be once every action has succeeded.
	Status aiinfrav1alpha1.VLLMServiceStatus
	// Events tell of transitions in Status; they are emitted once it is written.
	Events []action.Event
	// RequeueAfter is when to look again if no event comes before; 0 means never.
	RequeueAfter time.Duration
}
