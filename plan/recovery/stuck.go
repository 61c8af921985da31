package recovery

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// unreachableFor is how long a node must have been unreachable before its terminating Pods are given up.
const unreachableFor = 5 * time.Minute

// Stuck says whether a terminating Pod hangs on a node that is gone or unreachable, and from when on
// it may be force deleted: never before its own grace period is over, which a kubelet that only the
// API server cannot reach will keep to. nodes holds the nodes of terminating Pods; one that is not
// in it does not exist. A Pod whose grace period is 0 was force deleted already: only somebody's
// finalizer holds it.
func Stuck(pod *corev1.Pod, nodes map[string]*corev1.Node) (at time.Time, stuck bool) {
	if pod.DeletionTimestamp == nil || pod.Spec.NodeName == "" || ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return time.Time{}, false
	}
	over := pod.DeletionTimestamp.Time
	node, ok := nodes[pod.Spec.NodeName]
	if !ok {
		return over, true
	}
	since, unreachable := unreachableSince(node)
	if !unreachable {
		return time.Time{}, false
	}
	if at := since.Add(unreachableFor); at.After(over) {
		return at, true
	}
	return over, true
}

// unreachableSince reads the taint that Kubernetes puts on a node that stopped reporting.
func unreachableSince(node *corev1.Node) (time.Time, bool) {
	var ready *corev1.NodeCondition
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			ready = &node.Status.Conditions[i]
		}
	}
	if ready == nil || ready.Status == corev1.ConditionTrue {
		return time.Time{}, false
	}
	for _, t := range node.Spec.Taints {
		if t.Key != corev1.TaintNodeUnreachable {
			continue
		}
		if t.TimeAdded != nil {
			return t.TimeAdded.Time, true
		}
		return ready.LastTransitionTime.Time, true
	}
	return time.Time{}, false
}
