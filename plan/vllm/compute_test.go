package vllm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
)

// healthy is a VLLMService with 2 replicas, whose objects are all there and well.
func healthy(change ...func(*Snapshot)) Snapshot {
	v := &v1alpha1.VLLMService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "qwen", UID: "qwen-uid", Generation: 4},
		Spec: v1alpha1.VLLMServiceSpec{
			Image: "vllm/vllm-openai:v0.11.0", ModelPath: "/models/qwen", ModelName: "qwen", Replicas: ptr.To[int32](2),
			Storage:    v1alpha1.Storage{PVCName: "models", MountPath: "/models"},
			GatewayRef: &v1alpha1.GatewayReference{Name: "llm", SectionName: "http", Host: "llm.example.com"},
			Monitoring: &v1alpha1.Monitoring{Enabled: true},
		},
	}
	s := snapshotOf(v)
	s.Deployment = Deployment(v)
	s.Deployment.Generation = 7
	s.Deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 7, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
	}
	s.ServiceMonitor = ServiceMonitor(v)
	s.PVC = &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	s.Route.Service = route.Service(s.Route)
	s.Route.HTTPRoute = route.HTTPRoute(s.Route)
	accepted := func(t string) metav1.Condition {
		return metav1.Condition{Type: t, Status: metav1.ConditionTrue, Reason: t}
	}
	s.Route.HTTPRoute.Status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef: s.Route.HTTPRoute.Spec.ParentRefs[0], ControllerName: "example.com/a",
		Conditions: []metav1.Condition{accepted("Accepted"), accepted("ResolvedRefs")},
	}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// writes are a plan's, as "Verb name" by lane.
func writes(p Plan) map[string][]string {
	out := map[string][]string{}
	for _, lane := range p.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				kind := kindOf(a.Object)
				if kind == "" {
					kind = "HTTPRoute"
				}
				out[lane.Name] = append(out[lane.Name], string(a.Verb)+" "+kind)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func stranger(obj metav1.Object) {
	obj.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Rollout", Name: "web", UID: "web", Controller: ptr.To(true)}})
}

func podOf(name string, conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Conditions: conditions}}
}

func TestCompute(t *testing.T) {
	deployment := func(change func(*appsv1.Deployment)) func(*Snapshot) {
		return func(s *Snapshot) { change(s.Deployment) }
	}
	type result struct {
		Writes  map[string][]string
		Phase   v1alpha1.VLLMServicePhase
		Ready   string // reason of the condition, "" when it is True
		Message string
		Others  map[string]string // reasons of the conditions that are False, but for Ready
		Requeue time.Duration
	}
	well := "2 of 2 replicas are Ready"
	tests := map[string]struct {
		in   Snapshot
		want result
	}{
		"everything is well: no write": {healthy(), result{Phase: "Running", Message: well}},
		"nothing is there yet": {
			healthy(func(s *Snapshot) {
				s.Deployment, s.ServiceMonitor, s.PVC, s.Route.Service, s.Route.HTTPRoute = nil, nil, nil, nil, nil
			}),
			result{
				Writes: map[string][]string{
					"workload": {"Create Deployment"}, "route": {"Create Service", "Create HTTPRoute"}, "monitoring": {"Create ServiceMonitor"},
				},
				Phase: "Pending", Ready: "PVCNotFound",
				Message: `PersistentVolumeClaim "models" does not exist in namespace "team"; create it, or correct storage.pvcName`,
				Others: map[string]string{
					"DeploymentReady": "DeploymentProgressing", "StorageReady": "PVCNotFound", "Available": "ReplicasNotReady",
					"RouteReady": "WaitingForGatewayController",
				},
			},
		},
		"being deleted: nothing is made": {
			healthy(func(s *Snapshot) {
				s.VLLMService.DeletionTimestamp = &metav1.Time{Time: now}
				s.Deployment, s.Route.Service, s.Route.HTTPRoute = nil, nil, nil
			}), result{},
		},
		"a replica is missing": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1 })),
			result{
				Phase: "Pending", Ready: "ReplicasNotReady", Message: "1 of 2 replicas are Ready",
				Others: map[string]string{"Available": "ReplicasNotReady", "DeploymentReady": "DeploymentProgressing"},
			},
		},
		"a replica does not fit, in the scheduler's words": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1 }),
				func(s *Snapshot) {
					s.Pods = []*corev1.Pod{podOf("b", corev1.PodCondition{
						Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available",
					}), podOf("a", corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})}
				}),
			result{
				Phase: "Pending", Ready: "Unschedulable", Message: `1 of 2 replicas are Ready; Pod "b": 0/3 nodes are available`,
				Others: map[string]string{"Available": "Unschedulable", "DeploymentReady": "DeploymentProgressing"},
			},
		},
		"a replica is starting": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1 }),
				func(s *Snapshot) { s.Pods = []*corev1.Pod{podOf("a")} }),
			result{
				Phase: "Pending", Ready: "ReplicasNotReady", Message: `1 of 2 replicas are Ready; Pod "a": its containers have not started yet`,
				Others: map[string]string{"Available": "ReplicasNotReady", "DeploymentReady": "DeploymentProgressing"},
			},
		},
		"a rollout is on while all replicas are Ready": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 })),
			result{
				Phase: "Running", Ready: "DeploymentProgressing",
				Message: `Deployment "qwen": 1 of 2 replicas run the current spec, 2 are available, 1 old ones remain`,
				Others:  map[string]string{"DeploymentReady": "DeploymentProgressing"},
			},
		},
		"a rollout that somebody has paused": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas, d.Spec.Paused = 1, true })),
			result{
				Phase: "Running", Ready: "DeploymentProgressing",
				Message: `Deployment "qwen": 1 of 2 replicas run the current spec, 2 are available, 1 old ones remain; its spec.paused holds the rollout`,
				Others:  map[string]string{"DeploymentReady": "DeploymentProgressing"},
			},
		},
		"the Deployment's controller has not seen the change yet": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Generation++ })),
			result{
				Phase: "Running", Ready: "DeploymentProgressing", Message: `Deployment "qwen" is being updated`,
				Others: map[string]string{"DeploymentReady": "DeploymentProgressing"},
			},
		},
		"the rollout stands still": {
			healthy(deployment(func(d *appsv1.Deployment) {
				d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1
				d.Status.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "words",
				}}
			})),
			result{
				Phase: "Failed", Ready: "ReplicasNotReady", Message: "1 of 2 replicas are Ready",
				Others: map[string]string{"Available": "ReplicasNotReady", "DeploymentReady": "ProgressDeadlineExceeded"},
			},
		},
		"Pods cannot be made, in the server's words": {
			healthy(deployment(func(d *appsv1.Deployment) {
				d.Status = appsv1.DeploymentStatus{ObservedGeneration: 7, Conditions: []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota",
				}}}
			})),
			result{
				Phase: "Pending", Ready: "ReplicaFailure", Message: `Deployment "qwen" cannot make Pods: exceeded quota`,
				Others: map[string]string{"Available": "ReplicasNotReady", "DeploymentReady": "ReplicaFailure"},
			},
		},
		"Pods cannot be made, and the claim is missing too: no Pod comes first": {
			healthy(func(s *Snapshot) {
				s.PVC = nil
				s.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 7, Conditions: []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota",
				}}}
			}),
			result{
				Phase: "Pending", Ready: "ReplicaFailure", Message: `Deployment "qwen" cannot make Pods: exceeded quota`,
				Others: map[string]string{"Available": "ReplicasNotReady", "DeploymentReady": "ReplicaFailure", "StorageReady": "PVCNotFound"},
			},
		},
		"scaled to zero, and the Deployment is somebody else's": {
			healthy(func(s *Snapshot) {
				s.VLLMService.Spec.Replicas = ptr.To[int32](0)
				stranger(s.Deployment)
			}),
			result{
				Phase: "Failed", Ready: "NameConflict", Requeue: time.Minute,
				Message: `Deployment "qwen" exists and belongs to Rollout "web"; it is left alone: delete it, or give the VLLMService another name`,
				Others:  map[string]string{"DeploymentReady": "NameConflict", "Available": "ReplicasNotReady"},
			},
		},
		"scaled to zero": {
			healthy(func(s *Snapshot) {
				s.VLLMService.Spec.Replicas = ptr.To[int32](0)
				s.Deployment.Spec.Replicas = ptr.To[int32](0)
				s.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 7}
			}),
			result{Phase: "Running", Message: "no replica is wanted"},
		},
		"the Deployment was edited": {
			healthy(deployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.HostNetwork = true })),
			result{
				Writes: map[string][]string{"workload": {"Update Deployment"}},
				Phase:  "Running", Ready: "DeploymentProgressing", Message: `Deployment "qwen" is being updated`,
				Others: map[string]string{"DeploymentReady": "DeploymentProgressing"},
			},
		},
		"what belongs to others stays: the restart, the pause, labels": {
			healthy(deployment(func(d *appsv1.Deployment) {
				d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
				d.Spec.Paused = true
				d.Labels["x"] = "y"
				d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "3"}
			})),
			result{Phase: "Running", Message: well},
		},
		"the Deployment is somebody else's": {
			healthy(deployment(func(d *appsv1.Deployment) { stranger(d) })),
			result{
				Phase: "Failed", Ready: "NameConflict", Requeue: time.Minute,
				Message: `Deployment "qwen" exists and belongs to Rollout "web"; it is left alone: delete it, or give the VLLMService another name`,
				Others:  map[string]string{"DeploymentReady": "NameConflict", "Available": "ReplicasNotReady"},
			},
		},
		"the Service is somebody else's: our HTTPRoute goes": {
			healthy(func(s *Snapshot) { stranger(s.Route.Service) }),
			result{
				Writes: map[string][]string{"route": {"Delete HTTPRoute"}}, Phase: "Failed", Ready: "NameConflict", Requeue: time.Minute,
				Message: `Service "qwen" exists and belongs to Rollout "web"; it is left alone: delete it, or give the VLLMService another name`,
				Others:  map[string]string{"RouteReady": "NameConflict"},
			},
		},
		"the Service is somebody else's, and there is no gatewayRef": {
			healthy(func(s *Snapshot) {
				s.VLLMService.Spec.GatewayRef, s.Route.Ref, s.Route.HTTPRoute = nil, nil, nil
				stranger(s.Route.Service)
			}),
			result{
				Phase: "Failed", Ready: "NameConflict", Requeue: time.Minute,
				Message: `Service "qwen" exists and belongs to Rollout "web"; it is left alone: delete it, or give the VLLMService another name`,
			},
		},
		"the ServiceMonitor is somebody else's: the model serves all the same": {
			healthy(func(s *Snapshot) { stranger(s.ServiceMonitor) }),
			result{
				Phase: "Running", Message: well, Requeue: time.Minute,
				Others: map[string]string{"MonitoringReady": "NameConflict"},
			},
		},
		"ServiceMonitors are not served: the model serves all the same": {
			healthy(func(s *Snapshot) { s.Monitors, s.ServiceMonitor = false, nil }),
			result{Phase: "Running", Message: well, Others: map[string]string{"MonitoringReady": "PrometheusOperatorNotInstalled"}},
		},
		"monitoring is turned off: our ServiceMonitor goes": {
			healthy(func(s *Snapshot) { s.VLLMService.Spec.Monitoring.Enabled = false }),
			result{Writes: map[string][]string{"monitoring": {"Delete ServiceMonitor"}}, Phase: "Running", Message: well},
		},
		"monitoring is turned off: a stranger's ServiceMonitor stays": {
			healthy(func(s *Snapshot) { s.VLLMService.Spec.Monitoring = nil; stranger(s.ServiceMonitor) }),
			result{Phase: "Running", Message: well},
		},
		"what a release of the operator defaults in a ServiceMonitor is not ours": {
			healthy(func(s *Snapshot) {
				spec := s.ServiceMonitor.Object["spec"].(map[string]any)
				spec["jobLabel"] = "x"
				spec["endpoints"].([]any)[0].(map[string]any)["scheme"] = "http"
			}),
			result{Phase: "Running", Message: well},
		},
		"the ServiceMonitor was edited": {
			healthy(func(s *Snapshot) {
				spec := s.ServiceMonitor.Object["spec"].(map[string]any)
				spec["endpoints"] = append(spec["endpoints"].([]any), map[string]any{"port": "x"})
			}),
			result{Writes: map[string][]string{"monitoring": {"Update ServiceMonitor"}}, Phase: "Running", Message: well},
		},
		"the claim waits for a volume": {
			healthy(func(s *Snapshot) { s.PVC.Status.Phase = "" }),
			result{
				Phase: "Running", Ready: "PVCNotBound",
				Message: `PersistentVolumeClaim "models" is not bound to a volume yet (phase "Pending")`,
				Others:  map[string]string{"StorageReady": "PVCNotBound"},
			},
		},
		"the claim has lost its volume": {
			healthy(func(s *Snapshot) { s.PVC.Status.Phase = corev1.ClaimLost }),
			result{
				Phase: "Failed", Ready: "PVCLost", Message: `the volume of PersistentVolumeClaim "models" is gone`,
				Others: map[string]string{"StorageReady": "PVCLost"},
			},
		},
		"the Gateway is missing: the Pods run": {
			healthy(func(s *Snapshot) { s.Route.Gateway = nil }),
			result{
				Writes: map[string][]string{"route": {"Delete HTTPRoute"}}, Phase: "Running", Ready: "GatewayNotFound", Requeue: time.Minute,
				Message: "Gateway team/llm does not exist; create it, or correct gatewayRef.name and gatewayRef.namespace",
				Others:  map[string]string{"RouteReady": "GatewayNotFound"},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := Compute(tc.in, now)
			got := result{Writes: writes(p), Phase: p.Status.Phase, Message: p.Status.Message, Requeue: p.RequeueAfter}
			for _, c := range p.Status.Conditions {
				switch {
				case c.Status == metav1.ConditionTrue:
				case c.Type == v1alpha1.ConditionReady:
					got.Ready = c.Reason
				default:
					if got.Others == nil {
						got.Others = map[string]string{}
					}
					got.Others[c.Type] = c.Reason
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Compute (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(p, Compute(tc.in, now)); diff != "" {
				t.Errorf("a second Compute differs:\n%s", diff)
			}
		})
	}
}
