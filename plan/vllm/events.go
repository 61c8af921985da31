package vllm

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
)

// transitions tells of every condition whose status or reason is another one than before. Ready
// repeats what another condition says: it is told when it becomes True, and where no other
// condition has said it, as of the Service.
func transitions(before, after []metav1.Condition) []action.Event {
	var events []action.Event
	told := map[string]bool{}
	for _, c := range after {
		old := meta.FindStatusCondition(before, c.Type)
		changed := old == nil || old.Status != c.Status || old.Reason != c.Reason
		isReady := c.Type == v1alpha1.ConditionReady
		// Replicas that come and go in the normal course are the Deployment's to tell.
		routine := c.Type == v1alpha1.ConditionAvailable && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonReplicasNotReady)
		if changed && !routine && (!told[c.Message] || isReady && c.Status == metav1.ConditionTrue) {
			events = append(events, action.Event{Type: eventType(c), Reason: c.Reason, Message: c.Message, Field: "status.conditions{" + c.Type + "}"})
		}
		told[c.Message] = true
	}
	return events
}

// eventType is a warning where somebody has to do something.
func eventType(c metav1.Condition) string {
	if c.Status == metav1.ConditionTrue {
		return corev1.EventTypeNormal
	}
	switch c.Reason {
	case v1alpha1.ReasonDeploymentProgressing, v1alpha1.ReasonReplicasNotReady, v1alpha1.ReasonTerminating,
		v1alpha1.ReasonPVCNotBound, workloadv1alpha1.ReasonWaitingForGatewayController:
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}
