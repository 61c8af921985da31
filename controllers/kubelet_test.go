package controllers_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// Words in the image of a container that tell the kubelet what happens to it.
const (
	imageBroken  = "registry.example/broken:1"  // cannot be pulled
	imageSlow    = "registry.example/slow:1"    // is being pulled for as long as the test lasts
	imageFailing = "registry.example/failing:1" // an init container that fails for ever
)

// kubelet does for the Pods of a namespace what scheduler and kubelet do: binds them to a node of its
// own, brings them up as their images say, and finishes those that terminate. What a test does to a Pod that is up stays.
type kubelet struct {
	testing.TB
	client client.WithWatch
	ns     string
	node   string
	clock  *shiftedClock

	mu   sync.Mutex
	held map[string]bool
	full bool
}

func startKubelet(t testing.TB, server *gangwaytesting.APIServer, ns string, clock *shiftedClock) *kubelet {
	t.Helper()
	c, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Environment.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-of-" + ns}}
	if err := c.Create(context.Background(), node); err != nil {
		t.Fatal(err)
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := c.Status().Update(context.Background(), node); err != nil {
		t.Fatal(err)
	}
	k := &kubelet{TB: t, client: c, ns: ns, node: node.Name, clock: clock, held: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			k.run(ctx)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

// run acts on every Pod that changes, until the watch ends.
func (k *kubelet) run(ctx context.Context) {
	w, err := k.client.Watch(ctx, &corev1.PodList{}, client.InNamespace(k.ns))
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && event.Type != "DELETED" {
			if err := k.sync(ctx, pod); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
				k.Errorf("kubelet: Pod %s: %v", pod.Name, err)
			}
		}
	}
}

func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		if k.holds(pod.Name) {
			return nil
		}
		return k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	case pod.Spec.NodeName == "" && k.isFull():
		return nil
	case pod.Spec.NodeName == "":
		return k.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			Target: corev1.ObjectReference{Kind: "Node", Name: k.node},
		})
	case len(pod.Status.ContainerStatuses) == 0:
		began := pod.DeepCopy()
		k.begin(pod)
		return k.client.Status().Patch(ctx, pod, client.MergeFrom(began))
	}
	return nil
}

// begin brings a bound Pod up, as far as its images go.
func (k *kubelet) begin(pod *corev1.Pod) {
	now := k.clock.time()
	start := now.Add(-2 * time.Second) // Whoever asks whether it was ever Ready compares whole seconds.
	pod.Status.Phase = corev1.PodPending
	pod.Status.StartTime = &metav1.Time{Time: start}
	initialized := true
	for _, c := range pod.Spec.InitContainers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
		if c.Image == imageFailing {
			initialized = false
			s.RestartCount = 3
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s restarting failed container=" + c.Name}
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 7, Reason: "Error"}
		} else {
			s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}
		}
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, s)
	}
	up := initialized
	for _, c := range pod.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image}
		switch {
		case !initialized:
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		case c.Image == imageBroken:
			up = false
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image " + c.Image}
		case c.Image == imageSlow:
			up = false
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		default:
			s.Ready = true
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
	}
	setPodCondition(pod, corev1.PodInitialized, initialized, start)
	setPodCondition(pod, corev1.ContainersReady, up, start)
	setPodCondition(pod, corev1.PodReady, up, start)
	if up {
		pod.Status.Phase = corev1.PodRunning
		setPodCondition(pod, corev1.PodReady, true, now)
	}
}

// setPodCondition sets a condition as it stands since then.
func setPodCondition(pod *corev1.Pod, t corev1.PodConditionType, yes bool, since time.Time) {
	c := corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(since)}
	if yes {
		c.Status = corev1.ConditionTrue
	} else {
		c.Reason = "ContainersNotReady"
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			pod.Status.Conditions[i] = c
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}

// update changes the status of a Pod that is up.
func (k *kubelet) update(name string, change func(*corev1.Pod)) {
	k.Helper()
	ctx := context.Background()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod := &corev1.Pod{}
		if err := k.client.Get(ctx, client.ObjectKey{Namespace: k.ns, Name: name}, pod); err != nil {
			return err
		}
		change(pod)
		return k.client.Status().Update(ctx, pod)
	})
	if err != nil {
		k.Fatalf("update Pod %q: %v", name, err)
	}
}

// crash has a container end and the kubelet start it again; the Pod is not Ready.
func (k *kubelet) crash(name string) {
	k.Helper()
	k.update(name, func(pod *corev1.Pod) {
		now := metav1.NewTime(k.clock.time())
		s := &pod.Status.ContainerStatuses[0]
		s.Ready = false
		s.RestartCount++
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: now}
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
		setPodCondition(pod, corev1.ContainersReady, false, now.Time)
		setPodCondition(pod, corev1.PodReady, false, now.Time)
	})
}

// ready has a Pod be Ready, or no longer Ready, with no container restarted.
func (k *kubelet) ready(name string, yes bool) {
	k.Helper()
	k.update(name, func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].Ready = yes
		}
		setPodCondition(pod, corev1.ContainersReady, yes, k.clock.time())
		setPodCondition(pod, corev1.PodReady, yes, k.clock.time())
	})
}

// fail ends a Pod for good, as an eviction does.
func (k *kubelet) fail(name string) {
	k.Helper()
	k.update(name, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Reason = "Evicted"
		pod.Status.Message = "The node was low on resource: memory."
		setPodCondition(pod, corev1.PodReady, false, k.clock.time())
	})
}

// hold keeps Pods whose name has that prefix from finishing when they terminate.
func (k *kubelet) hold(prefix string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[prefix] = true
}

// release lets held Pods finish.
func (k *kubelet) release(prefix string) {
	k.Helper()
	k.mu.Lock()
	delete(k.held, prefix)
	k.mu.Unlock()
	var pods corev1.PodList
	if err := k.client.List(context.Background(), &pods, client.InNamespace(k.ns)); err != nil {
		k.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil && strings.HasPrefix(pods.Items[i].Name, prefix) {
			if err := k.sync(context.Background(), &pods.Items[i]); client.IgnoreNotFound(err) != nil {
				k.Fatal(err)
			}
		}
	}
}

// setFull says whether the node has no room for further Pods. Those that waited are bound when they
// change next, or when they are made anew.
func (k *kubelet) setFull(full bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.full = full
}

func (k *kubelet) isFull() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.full
}

func (k *kubelet) holds(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for prefix := range k.held {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
