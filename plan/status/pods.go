package status

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gangway-serving/gangway/plan/state"
)

// podLooks are the looks at one Pod, in the order of what tells most.
var podLooks = []func(*state.Pod) *problem{
	unschedulable, imagePull, configError, initFailed, crashLooping, podFailed, notReady,
}

// OfPods says what the first thing is that is wrong with Pods that belong together and are all
// wanted Ready, in the scheduler's or kubelet's words, for those who plan other kinds than
// ModelServing. passing: it is part of a start's normal course. The reason is empty when nothing
// is wrong; Pods that are being deleted do not count.
func OfPods(pods []*corev1.Pod) (reason, message string, passing bool) {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, look := range podLooks {
		for _, pod := range pods {
			p := &state.Pod{Pod: pod}
			if ready := p.Condition(corev1.PodReady); pod.DeletionTimestamp != nil || ready != nil && ready.Status == corev1.ConditionTrue {
				continue
			}
			if found := look(p); found != nil {
				return found.reason, found.message, found.passing
			}
		}
	}
	return "", "", false
}
