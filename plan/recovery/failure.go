package recovery

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gangway-serving/gangway/plan/state"
)

const (
	// reportLag is how long after a container ended its Pod may still be reported Ready: the kubelet
	// restarts a container that failed its liveness probe before it looks at the Pod again.
	reportLag = 5 * time.Second
	// resetAfter is how long a unit must be Ready for its recoveries to be forgotten, and how old a
	// restart must be that did its Pod no visible harm.
	resetAfter = 10 * time.Minute
)

// failure says that a Pod has failed, and when the recovery policy may act on it.
type failure struct {
	// what is wrong, for Events; it names the Pod.
	what string
	due  time.Time
	// gone: the Pod is lost to somebody else, so that nobody will see the failure once it has vanished.
	gone bool
}

// check looks for one kind of failure of a Pod; nil is none. wasReady says that the Pod's unit has
// been wholly Ready.
type check func(p *state.Pod, wasReady bool, grace time.Duration, now time.Time) *failure

// checks are in the order of what is certain: a Pod that was deleted may also have restarted.
var checks = []check{taken, ended, restarted}

func judge(p *state.Pod, wasReady bool, grace time.Duration, now time.Time) *failure {
	if p.Removing {
		return nil
	}
	for _, c := range checks {
		if f := c(p, wasReady, grace, now); f != nil {
			return f
		}
	}
	return nil
}

// taken: somebody else deleted the Pod. It will never be Ready again, so no grace is given.
func taken(p *state.Pod, _ bool, _ time.Duration, now time.Time) *failure {
	if !p.Taken() {
		return nil
	}
	return &failure{what: fmt.Sprintf("Pod %q was deleted", p.Name), due: now, gone: true}
}

// ended: likewise, nothing starts a Pod again that is in phase Failed.
func ended(p *state.Pod, _ bool, _ time.Duration, now time.Time) *failure {
	if !p.Ended() {
		return nil
	}
	return &failure{what: strings.TrimSpace(fmt.Sprintf("Pod %q is in phase %s %s", p.Name, p.Status.Phase, p.Status.Reason)), due: now}
}

// restarted: a container was started again after the unit had been wholly Ready. The grace period
// begins when the Pod stopped being Ready, and a Pod that is Ready again is forgiven.
func restarted(p *state.Pod, wasReady bool, grace time.Duration, now time.Time) *failure {
	if !wasReady {
		return nil
	}
	for _, list := range [...][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.RestartCount == 0 || !restartCounts(p, lastEnd(c), grace, now) {
				continue
			}
			return &failure{
				what: fmt.Sprintf("container %q of Pod %q restarted", c.Name, p.Name),
				due:  p.ReadySince().Add(grace),
			}
		}
	}
	return nil
}

// restartCounts says whether a restart is why the Pod is not Ready. One from before the Pod was last
// Ready is over: a blip of the readiness probe today is no failure because of a restart yesterday.
// A Pod that is Ready has failed only if it may not be forgiven and the restart is seen to be recent.
func restartCounts(p *state.Pod, end time.Time, grace time.Duration, now time.Time) bool {
	if p.Ready {
		return grace == 0 && end.After(p.ReadySince()) && now.Sub(end) < resetAfter
	}
	return end.IsZero() || !end.Before(p.ReadySince().Add(-reportLag))
}

// lastEnd is when a container last ended or, when that is not known, last began; zero for unknown.
func lastEnd(c *corev1.ContainerStatus) time.Time {
	var at time.Time
	for _, s := range [...]corev1.ContainerState{c.LastTerminationState, c.State} {
		if s.Terminated != nil && s.Terminated.FinishedAt.After(at) {
			at = s.Terminated.FinishedAt.Time
		}
	}
	if at.IsZero() && c.State.Running != nil {
		at = c.State.Running.StartedAt.Time
	}
	return at
}

// replicaWasReady says whether all Pods of a role replica have been Ready.
func replicaWasReady(pods []*state.Pod, size int) bool {
	if len(pods) < size {
		return false
	}
	for _, p := range pods {
		if !p.EverReady() {
			return false
		}
	}
	return true
}

// groupWasReady says whether all Pods of a group have been Ready. Role replicas that were added
// later, when the others were Ready already, do not make a group young again.
func groupWasReady(pods []*state.Pod) bool {
	var known time.Time
	any := false
	for _, p := range pods {
		if !p.EverReady() {
			continue
		}
		any = true
		at := p.CreationTimestamp.Time
		if p.Ready {
			at = p.ReadySince()
		}
		if at.After(known) {
			known = at
		}
	}
	for _, p := range pods {
		if !p.EverReady() && !p.CreationTimestamp.After(known) {
			return false
		}
	}
	return any
}
