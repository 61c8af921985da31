package vllm

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/status"
)

// judgement is what a condition will say.
type judgement struct {
	status  metav1.ConditionStatus
	reason  string
	message string
	// exists: the object that is judged is there and ours, once the writes are done.
	exists bool
	// final: it will not get better without a change by somebody.
	final bool
}

func yes(reason, message string) judgement {
	return judgement{status: metav1.ConditionTrue, reason: reason, message: message, exists: true}
}

func notYet(reason, message string) judgement {
	return judgement{status: metav1.ConditionFalse, reason: reason, message: message, exists: true}
}

func failed(reason, message string) judgement {
	return judgement{status: metav1.ConditionFalse, reason: reason, message: message, exists: true, final: true}
}

// judgeFault speaks of the first write of an object of that kind that failed.
func judgeFault(faults []action.Fault, kind string, exists bool) (judgement, bool) {
	for _, f := range faults {
		if kindOf(f.Action.Object) != kind {
			continue
		}
		j := judgement{status: metav1.ConditionFalse, reason: v1alpha1.ReasonCreateFailed, message: f.Message, exists: exists}
		switch f.Kind {
		case action.NameConflict:
			j.reason, j.final, j.exists = v1alpha1.ReasonNameConflict, true, false
		case action.Refused:
			j.final = true
		case action.Transient:
			if exists { // an update that was late: nothing to tell
				continue
			}
		case action.Overruled:
			continue
		}
		return j, true
	}
	return judgement{}, false
}

// overruled says that an object of that kind is as right as the cluster lets it be.
func overruled(faults []action.Fault, kind string) bool {
	return slices.ContainsFunc(faults, func(f action.Fault) bool {
		return f.Kind == action.Overruled && kindOf(f.Action.Object) == kind
	})
}

// kindOf looks at the Go type, since observed objects carry no kind.
func kindOf(obj action.Object) string {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *corev1.Service:
		return "Service"
	case *unstructured.Unstructured:
		return o.GetKind()
	}
	return ""
}

func judgeDeployment(s Snapshot, faults []action.Fault) judgement {
	d, name := s.Deployment, names.Deployment(s.VLLMService.Name)
	if d != nil && !s.Route.Owner.Owns(d) {
		j := failed(v1alpha1.ReasonNameConflict, s.Route.Owner.Conflict("Deployment", d))
		j.exists = false
		return j
	}
	if j, ok := judgeFault(faults, "Deployment", d != nil); ok {
		return j
	}
	switch {
	case d == nil:
		return notYet(v1alpha1.ReasonDeploymentProgressing, fmt.Sprintf("Deployment %q is being created", name))
	case d.DeletionTimestamp != nil:
		return notYet(v1alpha1.ReasonTerminating, fmt.Sprintf("the earlier Deployment %q is still being deleted", name))
	}
	_, changed := deploymentUpdate(s.VLLMService, d)
	if changed && !overruled(faults, "Deployment") || d.Status.ObservedGeneration < d.Generation {
		return notYet(v1alpha1.ReasonDeploymentProgressing, fmt.Sprintf("Deployment %q is being updated", name))
	}
	return judgeRollout(d, ptr.Deref(s.VLLMService.Spec.Replicas, 1))
}

func judgeRollout(d *appsv1.Deployment, wanted int32) judgement {
	st := d.Status
	if st.UpdatedReplicas == wanted && st.Replicas == wanted && st.AvailableReplicas == wanted {
		return yes(v1alpha1.ReasonRolledOut, fmt.Sprintf("Deployment %q runs %d of %d replicas of the current spec", d.Name, wanted, wanted))
	}
	for i := range st.Conditions {
		c := st.Conditions[i]
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return notYet(v1alpha1.ReasonReplicaFailure, fmt.Sprintf("Deployment %q cannot make Pods: %s", d.Name, c.Message))
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse &&
			c.Reason == "ProgressDeadlineExceeded":
			return failed(v1alpha1.ReasonProgressDeadlineExceeded, fmt.Sprintf("Deployment %q: %s", d.Name, c.Message))
		}
	}
	held := ""
	if d.Spec.Paused {
		held = "; its spec.paused holds the rollout"
	}
	return notYet(v1alpha1.ReasonDeploymentProgressing, fmt.Sprintf(
		"Deployment %q: %d of %d replicas run the current spec, %d are available, %d old ones remain%s",
		d.Name, st.UpdatedReplicas, wanted, st.AvailableReplicas, st.Replicas-st.UpdatedReplicas, held))
}

// blocking is the deployment's judgement where it is a cause of everything else, and else True:
// why no Pod can be made comes before what the Pods lack.
func blocking(deployment judgement) judgement {
	switch deployment.reason {
	case v1alpha1.ReasonNameConflict, v1alpha1.ReasonCreateFailed, v1alpha1.ReasonReplicaFailure:
		return deployment
	}
	return judgement{status: metav1.ConditionTrue}
}

// judgeService has no condition of its own: it speaks through Ready, and through RouteReady.
func judgeService(s Snapshot, faults []action.Fault) judgement {
	svc := s.Route.Service
	if svc != nil && !s.Route.Owner.Owns(svc) {
		j := failed(v1alpha1.ReasonNameConflict, s.Route.Owner.Conflict("Service", svc))
		j.exists = false
		return j
	}
	if j, ok := judgeFault(faults, "Service", svc != nil); ok {
		return j
	}
	if svc != nil && svc.DeletionTimestamp != nil {
		return notYet(v1alpha1.ReasonTerminating, fmt.Sprintf("the earlier Service %q is still being deleted", svc.Name))
	}
	return yes("", "")
}

// judgeAvailable speaks of the Pods: how many are Ready and, when some are not, what the scheduler
// or kubelet says of the first.
func judgeAvailable(s Snapshot, deployment judgement) judgement {
	wanted, ready := ptr.Deref(s.VLLMService.Spec.Replicas, 1), int32(0)
	if s.Deployment != nil && s.Route.Owner.Owns(s.Deployment) {
		ready = s.Deployment.Status.ReadyReplicas
	}
	switch {
	case wanted == 0 && deployment.exists:
		return yes(v1alpha1.ReasonScaledToZero, "no replica is wanted")
	case wanted > 0 && ready >= wanted:
		return yes(v1alpha1.ReasonReplicasReady, fmt.Sprintf("%d of %d replicas are Ready", min(ready, wanted), wanted))
	}
	counted := fmt.Sprintf("%d of %d replicas are Ready", min(ready, wanted), wanted)
	reason, message, passing := status.OfPods(s.Pods)
	switch {
	case reason == "":
		return notYet(v1alpha1.ReasonReplicasNotReady, counted)
	case passing:
		return notYet(v1alpha1.ReasonReplicasNotReady, counted+"; "+message)
	}
	return notYet(reason, counted+"; "+message)
}

func judgeStorage(pvc *corev1.PersistentVolumeClaim, v *v1alpha1.VLLMService) judgement {
	name := v.Spec.Storage.PVCName
	switch {
	case pvc == nil:
		return notYet(v1alpha1.ReasonPVCNotFound, fmt.Sprintf("PersistentVolumeClaim %q does not exist in namespace %q; create it, or correct storage.pvcName",
			name, v.Namespace))
	case pvc.Status.Phase == corev1.ClaimLost:
		return failed(v1alpha1.ReasonPVCLost, fmt.Sprintf("the volume of PersistentVolumeClaim %q is gone", name))
	case pvc.Status.Phase != corev1.ClaimBound:
		return notYet(v1alpha1.ReasonPVCNotBound, fmt.Sprintf("PersistentVolumeClaim %q is not bound to a volume yet (phase %q)",
			name, orString(string(pvc.Status.Phase), string(corev1.ClaimPending))))
	}
	return yes(v1alpha1.ReasonPVCBound, fmt.Sprintf("PersistentVolumeClaim %q is bound", name))
}

func judgeMonitor(s Snapshot, faults []action.Fault) judgement {
	current := s.ServiceMonitor
	switch {
	case !monitored(s.VLLMService):
		return judgement{}
	case !s.Monitors:
		return judgement{
			status: metav1.ConditionFalse, reason: v1alpha1.ReasonPrometheusOperatorNotInstalled,
			message: "the cluster does not serve ServiceMonitor of monitoring.coreos.com/v1; install the Prometheus operator's CRDs, or turn monitoring off",
		}
	case current != nil && !s.Route.Owner.Owns(current):
		return judgement{
			status: metav1.ConditionFalse, reason: v1alpha1.ReasonNameConflict,
			message: s.Route.Owner.Conflict("ServiceMonitor", current),
		}
	}
	if j, ok := judgeFault(faults, "ServiceMonitor", current != nil); ok {
		return j
	}
	return yes(v1alpha1.ReasonServiceMonitorReady, fmt.Sprintf("ServiceMonitor %q exists", names.ServiceMonitor(s.VLLMService.Name)))
}
