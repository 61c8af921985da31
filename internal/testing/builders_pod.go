package gangwaytesting

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// PodWrapper wraps a Pod, and plays its scheduler and kubelet.
type PodWrapper struct {
	corev1.Pod
}

// WrapPod takes over a Pod that was made elsewhere, for example by plan/children, as one that the
// API server created at t: with a UID of "<name>-uid" and in phase Pending.
func WrapPod(pod *corev1.Pod, t time.Time) *PodWrapper {
	w := &PodWrapper{*pod.DeepCopy()}
	w.UID = types.UID(w.Name + "-uid")
	w.CreationTimestamp = metav1.NewTime(t)
	w.Status.Phase = corev1.PodPending
	return w
}

// Obj returns the Pod.
func (w *PodWrapper) Obj() *corev1.Pod { return &w.Pod }

// SetUID sets the UID.
func (w *PodWrapper) SetUID(uid string) *PodWrapper {
	w.ObjectMeta.UID = types.UID(uid)
	return w
}

// DeletionCost sets the Pod's deletion cost.
func (w *PodWrapper) DeletionCost(cost string) *PodWrapper {
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, corev1.PodDeletionCost, cost)
	return w
}

// Unschedulable is what the scheduler says of a Pod that fits nowhere.
func (w *PodWrapper) Unschedulable(t time.Time, message string) *PodWrapper {
	w.condition(corev1.PodScheduled, corev1.ConditionFalse, t)
	w.Status.Conditions[len(w.Status.Conditions)-1].Reason = corev1.PodReasonUnschedulable
	w.Status.Conditions[len(w.Status.Conditions)-1].Message = message
	return w
}

// Scheduled binds the Pod to a node.
func (w *PodWrapper) Scheduled(t time.Time, node string) *PodWrapper {
	w.Spec.NodeName = node
	w.condition(corev1.PodScheduled, corev1.ConditionTrue, t)
	return w
}

// Starting is a Pod on a node whose containers run but are not Ready, and never were.
func (w *PodWrapper) Starting(t time.Time) *PodWrapper {
	if w.Spec.NodeName == "" {
		w.Scheduled(t, "node-0")
	}
	w.Status.Phase = corev1.PodRunning
	w.Status.StartTime = ptr.To(metav1.NewTime(t))
	w.condition(corev1.PodInitialized, corev1.ConditionTrue, t)
	w.condition(corev1.PodReady, corev1.ConditionFalse, t)
	w.condition(corev1.ContainersReady, corev1.ConditionFalse, t)
	w.containers(false, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t)}})
	return w
}

// Ready is a Pod whose containers are Ready since t.
func (w *PodWrapper) Ready(t time.Time) *PodWrapper {
	if w.Status.Phase != corev1.PodRunning {
		w.Starting(t)
	}
	w.condition(corev1.PodReady, corev1.ConditionTrue, t)
	w.condition(corev1.ContainersReady, corev1.ConditionTrue, t)
	for i := range w.Status.ContainerStatuses {
		s := &w.Status.ContainerStatuses[i]
		s.Ready = true
		if s.State.Running == nil {
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t)}}
		}
	}
	return w
}

// NotReady is a Pod that lost its readiness at t, by a probe, not by a restart.
func (w *PodWrapper) NotReady(t time.Time) *PodWrapper {
	w.condition(corev1.PodReady, corev1.ConditionFalse, t)
	w.condition(corev1.ContainersReady, corev1.ConditionFalse, t)
	for i := range w.Status.ContainerStatuses {
		w.Status.ContainerStatuses[i].Ready = false
	}
	return w
}

// Restarted is a Pod whose first container ended at t and was started again; it is not Ready.
func (w *PodWrapper) Restarted(t time.Time) *PodWrapper {
	w.NotReady(t)
	s := &w.Status.ContainerStatuses[0]
	s.RestartCount++
	s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(t), StartedAt: metav1.NewTime(t),
	}}
	s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t)}}
	return w
}

// Waiting is a Pod whose first container waits for that reason, for example ImagePullBackOff.
func (w *PodWrapper) Waiting(reason, message string) *PodWrapper {
	if len(w.Status.ContainerStatuses) == 0 {
		w.containers(false, corev1.ContainerState{})
	}
	s := &w.Status.ContainerStatuses[0]
	s.Ready = false
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	return w
}

// Failed is a Pod in phase Failed since t, for example evicted.
func (w *PodWrapper) Failed(t time.Time, reason, message string) *PodWrapper {
	if len(w.Status.ContainerStatuses) > 0 {
		w.NotReady(t)
	}
	w.Status.Phase = corev1.PodFailed
	w.Status.Reason = reason
	w.Status.Message = message
	return w
}

// Terminating is a Pod that was deleted at t, with 30 seconds of grace.
func (w *PodWrapper) Terminating(t time.Time) *PodWrapper {
	w.DeletionTimestamp = ptr.To(metav1.NewTime(t.Add(30 * time.Second)))
	w.DeletionGracePeriodSeconds = ptr.To[int64](30)
	return w
}

func (w *PodWrapper) condition(ct corev1.PodConditionType, status corev1.ConditionStatus, t time.Time) {
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		if c.Type != ct {
			continue
		}
		if c.Status != status {
			c.Status = status
			c.LastTransitionTime = metav1.NewTime(t)
		}
		return
	}
	w.Status.Conditions = append(w.Status.Conditions, corev1.PodCondition{
		Type: ct, Status: status, LastTransitionTime: metav1.NewTime(t),
	})
}

func (w *PodWrapper) containers(ready bool, state corev1.ContainerState) {
	if len(w.Status.ContainerStatuses) == 0 {
		for _, c := range w.Spec.Containers {
			w.Status.ContainerStatuses = append(w.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image})
		}
	}
	for i := range w.Status.ContainerStatuses {
		w.Status.ContainerStatuses[i].Ready = ready
		w.Status.ContainerStatuses[i].State = state
	}
}
