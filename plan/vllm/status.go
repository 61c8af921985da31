package vllm

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/route"
)

// wholeStatus is the status, given what the route came to and which writes failed.
func wholeStatus(s Snapshot, routed route.Output, faults []action.Fault, now time.Time) v1alpha1.VLLMServiceStatus {
	v := s.VLLMService
	st := v1alpha1.VLLMServiceStatus{
		ObservedGeneration: v.Generation,
		LabelSelector:      labels.SelectorFromSet(selector(v)).String(),
		HTTPRouteName:      routed.RouteName,
		Address:            routed.Address,
	}
	if d := s.Deployment; d != nil && s.Route.Owner.Owns(d) {
		st.Replicas, st.ReadyReplicas = d.Status.Replicas, d.Status.ReadyReplicas
	}
	if s.Route.Ref != nil {
		st.GatewayRefName, st.GatewayRefNamespace = s.Route.Ref.Name, s.Route.Ref.Namespace
	}

	deployment := judgeDeployment(s, faults)
	if deployment.exists {
		st.DeploymentName = names.Deployment(v.Name)
	}
	service := judgeService(s, faults)
	if service.exists {
		st.ServiceName = names.Service(v.Name)
	}
	monitor := judgeMonitor(s, faults)
	if monitor.exists {
		st.ServiceMonitorName = names.ServiceMonitor(v.Name)
	}

	storage, available := judgeStorage(s.PVC, v), judgeAvailable(s, deployment)
	c := conditions{observed: v.Status.Conditions, generation: v.Generation, now: metav1.NewTime(now)}
	c.set(v1alpha1.ConditionDeploymentReady, deployment)
	c.set(v1alpha1.ConditionStorageReady, storage)
	c.set(v1alpha1.ConditionAvailable, available)
	inOrder := []judgement{service, blocking(deployment), storage, available, deployment}
	if routed.Condition != nil {
		r := judgement{status: routed.Condition.Status, reason: routed.Condition.Reason, message: routed.Condition.Message}
		c.set(v1alpha1.ConditionRouteReady, r)
		inOrder = append(inOrder, r)
	}
	if monitored(v) {
		c.set(v1alpha1.ConditionMonitoringReady, monitor)
	}
	ready := firstWrong(inOrder, available)
	c.set(v1alpha1.ConditionReady, ready)
	st.Conditions = c.result
	st.Message = ready.message
	st.Phase = phase(available, service, deployment, storage)
	return st
}

// phase is about the Pods: the route has its own condition.
func phase(available judgement, causes ...judgement) v1alpha1.VLLMServicePhase {
	for _, j := range causes {
		if j.final {
			return v1alpha1.PhaseFailed
		}
	}
	if available.status == metav1.ConditionTrue {
		return v1alpha1.PhaseRunning
	}
	return v1alpha1.PhasePending
}

// firstWrong repeats the first judgement that is not True: they are in the order of cause and effect.
func firstWrong(inOrder []judgement, available judgement) judgement {
	for _, j := range inOrder {
		if j.status != metav1.ConditionTrue {
			j.status = metav1.ConditionFalse
			return j
		}
	}
	return judgement{status: metav1.ConditionTrue, reason: v1alpha1.ReasonReady, message: available.message}
}

// conditions builds a list in a fixed order, in which a transition time moves only with a status.
type conditions struct {
	observed   []metav1.Condition
	generation int64
	now        metav1.Time
	result     []metav1.Condition
}

func (c *conditions) set(conditionType string, j judgement) {
	since := c.now
	if old := meta.FindStatusCondition(c.observed, conditionType); old != nil && old.Status == j.status {
		since = old.LastTransitionTime
	}
	c.result = append(c.result, metav1.Condition{
		Type: conditionType, Status: j.status, Reason: j.reason, Message: trimMessage(j.message),
		ObservedGeneration: c.generation, LastTransitionTime: since,
	})
}

// trimMessage keeps to the limit of metav1.Condition.
func trimMessage(m string) string {
	const limit = 32768
	if len(m) <= limit {
		return m
	}
	return m[:limit]
}

func hasReason(list []metav1.Condition, reason string) bool {
	for _, c := range list {
		if c.Reason == reason {
			return true
		}
	}
	return false
}
