package vllm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
)

func TestTransitionTimesMoveWithTheStatusOnly(t *testing.T) {
	s := healthy()
	s.VLLMService.Status = Compute(s, now).Status
	later := now.Add(time.Hour)
	if diff := cmp.Diff(s.VLLMService.Status, Compute(s, later).Status); diff != "" {
		t.Errorf("an hour later, with nothing changed (-want +got):\n%s", diff)
	}
	s.PVC = nil
	got := Compute(s, later)
	for conditionType, want := range map[string]time.Time{"StorageReady": later, "Ready": later, "Available": now} {
		if c := meta.FindStatusCondition(got.Status.Conditions, conditionType); !c.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s has been so since %s, want %s", conditionType, c.LastTransitionTime, want)
		}
	}
}

func TestEventsTellOfTransitions(t *testing.T) {
	s := healthy()
	s.VLLMService.Status = Compute(s, now).Status
	if got := Compute(s, now).Events; len(got) != 0 {
		t.Errorf("nothing has changed, and there are events %v", got)
	}
	s.PVC = nil
	missing := action.Event{
		Type: corev1.EventTypeWarning, Reason: "PVCNotFound", Field: "status.conditions{StorageReady}",
		Message: `PersistentVolumeClaim "models" does not exist in namespace "team"; create it, or correct storage.pvcName`,
	}
	p := Compute(s, now)
	if diff := cmp.Diff([]action.Event{missing}, p.Events); diff != "" {
		t.Errorf("the claim is gone (-want +got):\n%s", diff)
	}
	s.VLLMService.Status = p.Status
	s.PVC = &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	want := []action.Event{
		{Type: corev1.EventTypeNormal, Reason: "PVCBound", Message: `PersistentVolumeClaim "models" is bound`, Field: "status.conditions{StorageReady}"},
		{Type: corev1.EventTypeNormal, Reason: "Ready", Message: "2 of 2 replicas are Ready", Field: "status.conditions{Ready}"},
	}
	if diff := cmp.Diff(want, Compute(s, now).Events); diff != "" {
		t.Errorf("the claim is back (-want +got):\n%s", diff)
	}
}

func TestSettleTellsOfWritesThatFailed(t *testing.T) {
	empty := func(s *Snapshot) {
		s.Deployment, s.ServiceMonitor, s.Route.Service, s.Route.HTTPRoute = nil, nil, nil, nil
	}
	fault := func(obj action.Object, kind action.FaultKind) action.Fault {
		return action.Fault{Action: action.Action{Verb: action.Create, Object: obj}, Kind: kind, Message: "the server's words"}
	}
	v := healthy().VLLMService
	tests := map[string]struct {
		fault      action.Fault
		conditions map[string]string
		phase      v1alpha1.VLLMServicePhase
	}{
		"the Deployment is refused": {
			fault(Deployment(v), action.Refused), map[string]string{"DeploymentReady": "CreateFailed", "Ready": "CreateFailed"}, "Failed",
		},
		"the Deployment's name was taken meanwhile": {
			fault(Deployment(v), action.NameConflict), map[string]string{"DeploymentReady": "NameConflict", "Ready": "NameConflict"}, "Failed",
		},
		"the Deployment is over quota, which may be raised": {
			fault(Deployment(v), action.QuotaExceeded), map[string]string{"DeploymentReady": "CreateFailed", "Ready": "CreateFailed"}, "Pending",
		},
		"the Service is refused": {
			fault(route.Service(healthy().Route), action.Refused), map[string]string{"RouteReady": "CreateFailed", "Ready": "CreateFailed"}, "Failed",
		},
		"the HTTPRoute is refused": {
			fault(route.HTTPRoute(healthy().Route), action.Refused), map[string]string{"RouteReady": "CreateFailed"}, "Pending",
		},
		"the ServiceMonitor is refused": {
			fault(ServiceMonitor(v), action.Refused), map[string]string{"MonitoringReady": "CreateFailed"}, "Pending",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := healthy(empty)
			status, _ := Compute(s, now).Settle(s, []action.Fault{tc.fault}, now)
			for conditionType, reason := range tc.conditions {
				c := meta.FindStatusCondition(status.Conditions, conditionType)
				if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || c.Message != "the server's words" {
					t.Errorf("%s is %+v, want False %s in the server's words", conditionType, c, reason)
				}
			}
			if status.Phase != tc.phase {
				t.Errorf("the phase is %q, want %q", status.Phase, tc.phase)
			}
		})
	}
	s := healthy(empty)
	p := Compute(s, now)
	status, events := p.Settle(s, nil, now)
	if diff := cmp.Diff([]any{p.Status, p.Events}, []any{status, events}); diff != "" {
		t.Errorf("without faults (-plan +settled):\n%s", diff)
	}
}

func TestADeploymentThatIsOverruledIsJudgedAsItIs(t *testing.T) {
	s := healthy(func(s *Snapshot) {
		s.Deployment.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "policy", Operator: corev1.TolerationOpExists}}
	})
	p := Compute(s, now)
	fault := action.Fault{Action: p.Lanes[0].Stages[0][0], Kind: action.Overruled, Message: "the cluster's policy"}
	status, _ := p.Settle(s, []action.Fault{fault}, now)
	if c := meta.FindStatusCondition(status.Conditions, "Ready"); c.Status != metav1.ConditionTrue {
		t.Errorf("rolled out as the policy wants it: Ready is %+v", c)
	}
	s.Deployment.Status.UpdatedReplicas = 1
	status, _ = p.Settle(s, []action.Fault{fault}, now)
	if c := meta.FindStatusCondition(status.Conditions, "DeploymentReady"); c.Status != metav1.ConditionFalse {
		t.Errorf("half rolled out: DeploymentReady is %+v", c)
	}
}

func TestPullPolicyIsTheAPIServers(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"vllm":                              corev1.PullAlways,
		"vllm:latest":                       corev1.PullAlways,
		"registry:5000/vllm":                corev1.PullAlways,
		"registry:5000/vllm:v1":             corev1.PullIfNotPresent,
		"vllm@sha256:0123":                  corev1.PullIfNotPresent,
		"registry:5000/vllm:v1@sha256:0123": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("pullPolicy(%q) = %s, want %s", image, got, want)
		}
	}
}
