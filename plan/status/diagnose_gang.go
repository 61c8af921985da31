package status

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/state"
)

// gangScheduled counts the Pods of a group that have a node, of those that its gang needs.
func gangScheduled(g *Group) (scheduled, needed int) {
	if g.PodGroup == nil {
		return 0, 0
	}
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			if !p.Going() && p.Spec.NodeName != "" {
				scheduled++
			}
		}
	}
	return scheduled, int(g.PodGroup.Spec.MinMember)
}

// sessionTime is how long Volcano takes to judge a gang again, with room to spare.
const sessionTime = 3 * time.Second

// isForming says that Volcano cannot have seen the whole gang yet: its Pods are still being made. What
// it says of a part of a gang, that it does not fit, is no news.
func (r *report) isForming(g *Group) bool {
	if g.PodGroup == nil {
		return false
	}
	var youngest metav1.Time
	for _, replica := range g.Replicas {
		for _, p := range replica.Pods {
			if !p.Going() && youngest.Before(&p.CreationTimestamp) {
				youngest = p.CreationTimestamp
			}
		}
	}
	at := youngest.Add(sessionTime)
	if youngest.IsZero() || !r.Now.Before(at) {
		return false
	}
	r.wake(at)
	return true
}

// gangPending repeats what Volcano says of the gang, or of one of its Pods.
func (r *report) gangPending(g *Group) *problem {
	scheduled, needed := gangScheduled(g)
	switch {
	case scheduled >= needed:
		return nil
	case g.Living < needed && isWhole(g):
		return &problem{reason: workloadv1alpha1.ReasonGangPending, message: fmt.Sprintf(
			"ServingGroup %q: its PodGroup asks for %d Pods, and the group has %d: something in the cluster changes PodGroups as they are written",
			g.Name, needed, g.Living)}
	case g.Living < needed:
		return nil
	}
	words := gangWords(g.PodGroup)
	if words == "" {
		for _, r := range g.Replicas {
			for _, p := range r.Pods {
				if c := p.Condition(corev1.PodScheduled); words == "" && c != nil && c.Status == corev1.ConditionFalse && !p.Going() {
					words = c.Message
				}
			}
		}
	}
	if p := r.unheard(g); words == "" && p != nil {
		words = fmt.Sprintf("the scheduler has said nothing of them; is %q running, and the queue %q there and open?",
			p.Spec.SchedulerName, cmp.Or(g.PodGroup.Spec.Queue, schedulingv1beta1.DefaultQueue))
	}
	if words == "" || r.isForming(g) {
		return nil
	}
	return &problem{reason: workloadv1alpha1.ReasonGangPending, message: fmt.Sprintf(
		"ServingGroup %q: %d of the %d Pods that its gang needs are scheduled: %s", g.Name, scheduled, needed, words)}
}

// gangWords is the message of the condition Unschedulable, unless the gang was scheduled since.
func gangWords(pg *schedulingv1beta1.PodGroup) string {
	var words string
	var last *schedulingv1beta1.PodGroupCondition
	for i := range pg.Status.Conditions {
		c := &pg.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue || (last != nil && !c.LastTransitionTime.After(last.LastTransitionTime.Time)) {
			continue
		}
		last, words = c, ""
		if c.Type == schedulingv1beta1.PodGroupUnschedulableType {
			words = c.Message
		}
	}
	return words
}

// isWhole says that all role replicas that are wanted of a group are there.
func isWhole(g *Group) bool {
	whole := 0
	for _, r := range g.Replicas {
		if r.Complete {
			whole++
		}
	}
	return g.Wanted > 0 && whole >= g.Wanted
}

// silence is how long a scheduler may say nothing of a Pod.
const silence = 30 * time.Second

// unheard is a Pod without a node of which no scheduler has said anything for long: none of that name
// runs, or Volcano knows no queue to judge its gang by.
func (r *report) unheard(g *Group) *state.Pod {
	for _, replica := range g.Replicas {
		for _, p := range replica.Pods {
			if p.Going() || p.Ended() || p.Spec.NodeName != "" || p.Condition(corev1.PodScheduled) != nil {
				continue
			}
			at := p.CreationTimestamp.Add(silence)
			if !r.Now.Before(at) {
				return p
			}
			r.wake(at)
		}
	}
	return nil
}

// unschedulable is what a scheduler says of a Pod, and of a gang's Pod once the gang is there.
func (r *report) unschedulable(g *Group) *problem {
	found := ofPods(unschedulable)(r, g)
	if p := r.unheard(g); found == nil && p != nil {
		found = &problem{reason: workloadv1alpha1.ReasonUnschedulable, message: fmt.Sprintf(
			"Pod %q: no scheduler has said anything of it; is %q running?", p.Name, p.Spec.SchedulerName)}
	}
	if found != nil && g.PodGroup != nil && (g.Living < int(g.PodGroup.Spec.MinMember) || r.isForming(g)) {
		return nil
	}
	return found
}

func unschedulable(p *state.Pod) *problem {
	c := p.Condition(corev1.PodScheduled)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable {
		return nil
	}
	return &problem{reason: workloadv1alpha1.ReasonUnschedulable, message: fmt.Sprintf("Pod %q: %s", p.Name, c.Message)}
}
