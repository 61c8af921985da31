package recovery

import (
	"fmt"
	"slices"
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

// past is what is known of the unit that a Pod is of.
type past struct {
	// wasReady: it has been wholly Ready.
	wasReady bool
	// wholeSince: it was so then, and nobody has seen anything else since; zero for unknown.
	wholeSince time.Time
}

// check looks for one kind of failure of a Pod; nil is none.
type check func(p *state.Pod, unit past, grace time.Duration, now time.Time) *failure

// checks are in the order of what is certain: a Pod that was deleted may also have restarted.
var checks = []check{taken, ended, restarted}

func judge(p *state.Pod, unit past, grace time.Duration, now time.Time) *failure {
	if p.Removing {
		return nil
	}
	for _, c := range checks {
		if f := c(p, unit, grace, now); f != nil {
			return f
		}
	}
	return nil
}

// taken: somebody else deleted the Pod. It will never be Ready again, so no grace is given.
func taken(p *state.Pod, _ past, _ time.Duration, now time.Time) *failure {
	if !p.Taken() {
		return nil
	}
	return &failure{what: fmt.Sprintf("Pod %q was deleted", p.Name), due: now, gone: true}
}

// ended: likewise, nothing starts a Pod again that is in phase Failed.
func ended(p *state.Pod, _ past, _ time.Duration, now time.Time) *failure {
	if !p.Ended() {
		return nil
	}
	return &failure{what: strings.TrimSpace(fmt.Sprintf("Pod %q is in phase %s %s", p.Name, p.Status.Phase, p.Status.Reason)), due: now}
}

// restarted: a container was started again after the unit had been wholly Ready. The grace period
// begins when the Pod stopped being Ready, and a Pod that is Ready again is forgiven.
func restarted(p *state.Pod, unit past, grace time.Duration, now time.Time) *failure {
	if !unit.wasReady {
		return nil
	}
	for _, list := range [...][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.RestartCount == 0 || !restartCounts(p, lastEnd(c), unit.wholeSince, grace, now) {
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
// A Pod that is Ready has failed only if it may not be forgiven, and the restart is seen to be recent
// and no start-up trouble: the Pod was Ready when the container ended, or its unit was wholly Ready
// before, and no manager was there to see it end.
func restartCounts(p *state.Pod, end, wholeSince time.Time, grace time.Duration, now time.Time) bool {
	if p.Ready {
		unseen := !wholeSince.IsZero() && end.After(wholeSince.Add(reportLag))
		return grace == 0 && now.Sub(end) < resetAfter && (unseen || end.After(p.ReadySince()))
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

// since is WholeSince, as far as it tells of Pods that are all of a unit: of those that were there then.
func (d *decision) since(pods []*state.Pod) time.Time {
	for _, p := range pods {
		if p.CreationTimestamp.After(d.WholeSince) {
			return time.Time{}
		}
	}
	return d.WholeSince
}

// replicaWasReady says whether all Pods of a role replica have been Ready.
func replicaWasReady(pods []*state.Pod, size int) bool {
	return len(pods) >= size && !slices.ContainsFunc(pods, func(p *state.Pod) bool { return !p.EverReady() })
}

// groupWasReady says whether all Pods of a group have been Ready. Replicas that a role got later, when
// its others were Ready already, do not make a group young again.
func groupWasReady(replicas []Replica) bool {
	var known time.Time
	served := map[string]bool{}
	for i := range replicas {
		r := &replicas[i]
		for _, p := range r.Pods {
			if at := readyAt(p); at.After(known) {
				known = at
			}
		}
		if replicaWasReady(r.Pods, max(r.Size, 1)) {
			served[roleOf(r.ID)] = true
		}
	}
	any := false
	for i := range replicas {
		r := &replicas[i]
		if replicaWasReady(r.Pods, r.Size) {
			any = any || len(r.Pods) > 0
			continue
		}
		later := func(p *state.Pod) bool { return p.CreationTimestamp.After(known) && !p.EverReady() }
		if !served[roleOf(r.ID)] || slices.ContainsFunc(r.Pods, func(p *state.Pod) bool { return !later(p) }) {
			return false
		}
	}
	return any
}

// readyAt is a time by which a Pod had been made that has been Ready; zero for one that never was.
func readyAt(p *state.Pod) time.Time {
	switch {
	case !p.EverReady():
		return time.Time{}
	case p.Ready:
		return p.ReadySince()
	default:
		return p.CreationTimestamp.Time
	}
}

// roleOf is the role that a role replica's id begins with.
func roleOf(id string) string { return id[:max(0, strings.LastIndexByte(id, '-'))] }
