package state

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gangway-serving/gangway/plan/names"
)

// Pod is an observed Pod in its place.
type Pod struct {
	*corev1.Pod
	// Index is 0 for the entry Pod, 1.. for the workers.
	Index int
	// Removing: Gangway has decided to delete it, whether the cache shows that or not.
	Removing bool
	// Ready is the Pod's condition of that name.
	Ready bool

	// origin is what the Pod was made from, where its labels do not say it.
	origin *origin
}

// Going says that the Pod terminates or is about to.
func (p *Pod) Going() bool { return p.Removing || p.DeletionTimestamp != nil }

// Taken says that somebody else deleted the Pod, and that it is still terminating.
func (p *Pod) Taken() bool { return p.DeletionTimestamp != nil && !p.Removing }

// Revision is the hash of the revision that the Pod was made from: what its label says or, where
// that cannot be, what is known all the same.
func (p *Pod) Revision() string {
	if p.origin != nil {
		return p.origin.revision
	}
	return p.Labels[names.LabelRevision]
}

// RoleHash is the hash of the role's part of that revision, likewise.
func (p *Pod) RoleHash() string {
	if p.origin != nil {
		return p.origin.roleHash
	}
	return p.Labels[names.LabelRoleTemplateHash]
}

// Ended says that the Pod will never run again: its phase is Failed or, after a node was shut down,
// Succeeded.
func (p *Pod) Ended() bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// ReadySince is when the Pod last became Ready or stopped being Ready; zero when it never said.
func (p *Pod) ReadySince() time.Time {
	if c := p.Condition(corev1.PodReady); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// EverReady reads from the Pod itself whether it has ever been Ready: it is, or it stopped being so
// after it was initialized.
func (p *Pod) EverReady() bool {
	if p.Ready {
		return true
	}
	ready, initialized := p.Condition(corev1.PodReady), p.Condition(corev1.PodInitialized)
	return ready != nil && initialized != nil &&
		initialized.Status == corev1.ConditionTrue &&
		ready.LastTransitionTime.After(initialized.LastTransitionTime.Time)
}

// Condition is nil when the Pod has none of that type.
func (p *Pod) Condition(t corev1.PodConditionType) *corev1.PodCondition { return condition(p.Pod, t) }

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// deletionCost is that of the Pod's annotation; an absent or malformed one costs nothing.
func deletionCost(pod *corev1.Pod) int64 {
	v, ok := pod.Annotations[corev1.PodDeletionCost]
	if !ok {
		return names.DefaultPodDeletionCost
	}
	cost, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return names.DefaultPodDeletionCost
	}
	return cost
}

// groupSize is how many Pods the Pod's role replica has, as its containers are told; 0 for unknown.
func (p *Pod) groupSize() int {
	for i := range p.Spec.Containers {
		for _, e := range p.Spec.Containers[i].Env {
			if n, err := strconv.Atoi(e.Value); e.Name == names.EnvGroupSize && err == nil {
				return n
			}
		}
	}
	return 0
}

// later is the later of two times.
func later(a, b metav1.Time) metav1.Time {
	if a.Before(&b) {
		return b
	}
	return a
}
