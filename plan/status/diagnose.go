package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/state"
)

// problem is why a group is not available.
type problem struct {
	reason, message string
	// passing: it is part of a rollout's or recovery's normal course.
	passing bool
}

// look finds one kind of problem of a group; nil for none.
type look func(*report, *Group) *problem

// looks are in the order of what tells most. The first that finds anything, in the group with the
// lowest ordinal, is reported.
var looks = []look{
	(*report).gangPending,
	(*report).unschedulable,
	ofPods(podFailed),
	ofPods(imagePull),
	ofPods(configError),
	ofPods(initFailed),
	ofPods(crashLooping),
	(*report).hanging,
	recovering,
	terminating,
	creating,
	ofPods(notReady),
}

// diagnose says what the first thing is that is wrong with the groups that are wanted.
func (r *report) diagnose() *problem {
	var suspects []*Group
	for i := range r.Groups {
		if g := &r.Groups[i]; (g.Kept || g.Rebuilt) && !g.Available {
			suspects = append(suspects, g)
		}
	}
	for _, l := range looks {
		for _, g := range suspects {
			if p := l(r, g); p != nil {
				if !strings.Contains(p.message, g.Pending) {
					p.message += "; " + g.Pending
				}
				return p
			}
		}
	}
	if len(suspects) > 0 {
		return &problem{
			reason: workloadv1alpha1.ReasonGroupsCreating, passing: true,
			message: fmt.Sprintf("ServingGroup %q is not complete yet", suspects[0].Name),
		}
	}
	return nil
}

// ofPods applies a look at a Pod to those Pods of a group that stay and are not Ready.
func ofPods(l func(*state.Pod) *problem) look {
	return func(_ *report, g *Group) *problem {
		for _, r := range g.Replicas {
			for _, p := range r.Pods {
				if p.Ready || p.Going() {
					continue
				}
				if found := l(p); found != nil {
					return found
				}
			}
		}
		return nil
	}
}

// What the kubelet says of a container that waits (k8s.io/kubernetes, pkg/kubelet/images and
// pkg/kubelet/kuberuntime).
var (
	pullReasons   = []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
	configReasons = []string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError"}
)

const crashLoopBackOff = "CrashLoopBackOff"

// reportLag is how long after a container ended its Pod may still be reported Ready.
const reportLag = 5 * time.Second

func imagePull(p *state.Pod) *problem {
	return waitingFor(p, pullReasons, workloadv1alpha1.ReasonImagePullFailed)
}

func configError(p *state.Pod) *problem {
	return waitingFor(p, configReasons, workloadv1alpha1.ReasonContainerConfigError)
}

func waitingFor(p *state.Pod, reasons []string, reason string) *problem {
	for _, list := range [...][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			w := list[i].State.Waiting
			if w == nil || !slices.Contains(reasons, w.Reason) {
				continue
			}
			return &problem{reason: reason, message: fmt.Sprintf("Pod %q, container %q: %s", p.Name, list[i].Name, words(w.Reason, w.Message))}
		}
	}
	return nil
}

func initFailed(p *state.Pod) *problem {
	return crashed(p, p.Status.InitContainerStatuses, "init container", workloadv1alpha1.ReasonInitContainerFailed)
}

func crashLooping(p *state.Pod) *problem {
	return crashed(p, p.Status.ContainerStatuses, "container", workloadv1alpha1.ReasonCrashLooping)
}

func crashed(p *state.Pod, list []corev1.ContainerStatus, what, reason string) *problem {
	for i := range list {
		c := &list[i]
		last := c.LastTerminationState.Terminated
		if now := c.State.Terminated; now != nil {
			last = now
		}
		waiting := c.State.Waiting != nil && c.State.Waiting.Reason == crashLoopBackOff
		// A crash from before the Pod was last Ready is over, whatever ails the Pod now.
		again := c.RestartCount > 0 && !c.Ready && last != nil && last.ExitCode != 0 &&
			!last.FinishedAt.Time.Before(p.ReadySince().Add(-reportLag))
		failing := c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
		if !waiting && !again && !failing {
			continue
		}
		var said []string
		if last != nil {
			said = append(said, exit(last))
		}
		if waiting {
			said = append(said, words(c.State.Waiting.Reason, c.State.Waiting.Message))
		}
		return &problem{reason: reason, message: fmt.Sprintf("Pod %q, %s %q: %s", p.Name, what, c.Name, strings.Join(said, "; "))}
	}
	return nil
}

// podFailed is a Pod that will never run again. Its own words come before those of its containers,
// which only tell how they were ended.
func podFailed(p *state.Pod) *problem {
	if !p.Ended() {
		return nil
	}
	said := []string{fmt.Sprintf("Pod %q is in phase %s", p.Name, p.Status.Phase)}
	if w := words(p.Status.Reason, p.Status.Message); w != "" {
		said = append(said, w)
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			said = append(said, fmt.Sprintf("container %q ended with %s", c.Name, exit(t)))
			break
		}
	}
	return &problem{reason: workloadv1alpha1.ReasonPodFailed, message: strings.Join(said, ": ")}
}

// exit is how a container ended, in the kubelet's words.
func exit(t *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("exit code %d: %s", t.ExitCode, words(t.Reason, t.Message))
}

// hangTime is how long after the end of its grace period an object that still is terminating hangs.
const hangTime = 30 * time.Second

// hanging says what holds an object whose name its successor waits for.
func (r *report) hanging(g *Group) *problem {
	if g.PodGroup != nil && r.hangs(g.PodGroup) {
		return hung("PodGroup", g.PodGroup, "the API server has not removed it")
	}
	for _, replica := range g.Replicas {
		if replica.Service != nil && r.hangs(replica.Service) {
			return hung("Service", replica.Service, "the API server has not removed it")
		}
		for _, p := range replica.Pods {
			if r.hangs(p) {
				return hung("Pod", p, fmt.Sprintf("the kubelet of node %q has not ended it", p.Spec.NodeName))
			}
		}
	}
	return nil
}

// hangs says that an object terminates for longer than it should.
func (r *report) hangs(o metav1.Object) bool {
	going := o.GetDeletionTimestamp()
	if going == nil {
		return false
	}
	at := going.Add(hangTime)
	if r.Now.Before(at) {
		r.wake(at)
		return false
	}
	return true
}

// hung tells of an object that hangs; otherwise is why when nobody's finalizers hold it.
func hung(kind string, o metav1.Object, otherwise string) *problem {
	if f := o.GetFinalizers(); len(f) > 0 {
		otherwise = "it has the finalizers " + strings.Join(f, ", ")
	}
	return &problem{reason: workloadv1alpha1.ReasonPodTerminating, message: fmt.Sprintf(
		"%s %q hangs in Terminating: %s; its successor waits for the name", kind, o.GetName(), otherwise)}
}

func recovering(_ *report, g *Group) *problem {
	words := cmp.Or(g.Pending, g.Recovered)
	if words == "" {
		return nil
	}
	return &problem{
		reason:  workloadv1alpha1.ReasonRecovering,
		message: fmt.Sprintf("ServingGroup %q: %s", g.Name, words),
	}
}

func terminating(_ *report, g *Group) *problem {
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			if p.Going() {
				return &problem{
					reason: workloadv1alpha1.ReasonPodTerminating, passing: true,
					message: fmt.Sprintf("Pod %q is terminating; its successor waits for the name", p.Name),
				}
			}
		}
	}
	return nil
}

func creating(_ *report, g *Group) *problem {
	if g.Creates == 0 {
		return nil
	}
	return &problem{
		reason: workloadv1alpha1.ReasonGroupsCreating, passing: true,
		message: fmt.Sprintf("ServingGroup %q is being created", g.Name),
	}
}

func notReady(p *state.Pod) *problem {
	message := "its containers have not started yet"
	if c := p.Condition(corev1.PodReady); c != nil && c.Message != "" {
		message = c.Message
	} else if containers := p.Condition(corev1.ContainersReady); containers != nil && containers.Status == corev1.ConditionTrue {
		message = fmt.Sprintf("its containers are Ready, and it is not: a readiness gate is not met, or node %q was not ready", p.Spec.NodeName)
	} else if c != nil {
		message = "its containers are not Ready yet"
	}
	return &problem{reason: workloadv1alpha1.ReasonPodsNotReady, passing: true, message: fmt.Sprintf("Pod %q: %s", p.Name, message)}
}

// words joins a reason and a message as the kubelet gives them.
func words(reason, message string) string {
	switch {
	case message == "":
		return reason
	case reason == "":
		return message
	default:
		return reason + ": " + message
	}
}
