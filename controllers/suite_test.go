package controllers_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

var shared *gangwaytesting.APIServer

func TestMain(m *testing.M) {
	logger := logr.Discard()
	if os.Getenv("GANGWAY_TEST_LOG") != "" {
		logger = zap.New(zap.UseDevMode(true))
	}
	ctrl.SetLogger(logger)
	// The tests mostly wait, so more of them run at a time than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	gangwaytesting.RunWithAPIServer(m, gangwaytesting.APIServerOptions{}, &shared)
}

// timeout is how long a condition may take to come true on a busy machine.
const timeout = 60 * time.Second

// world is a namespace with a manager that looks after it alone, and a kubelet.
type world struct {
	testing.TB
	server  *gangwaytesting.APIServer
	client  client.Client
	ns      string
	clock   *shiftedClock
	kubelet *kubelet
	net     *network
	stop    func()
	pokes   int
	resync  *time.Duration
	qps     float32
	// config is the manager's; nil for a cluster administrator's.
	config *rest.Config
}

// newWorld makes a world on the package's API server, with its manager running.
func newWorld(t testing.TB) *world {
	w := newWorldOn(t, shared)
	w.start()
	return w
}

// newWorldOn makes a world whose manager is not started yet.
func newWorldOn(t testing.TB, server *gangwaytesting.APIServer) *world {
	t.Helper()
	w := &world{
		TB: t, server: server, client: server.Client, ns: server.Namespace(t, nil),
		clock: &shiftedClock{}, net: &network{},
	}
	w.kubelet = startKubelet(t, server, w.ns, w.clock)
	t.Cleanup(func() {
		if w.stop != nil {
			w.stop()
		}
	})
	return w
}

// start starts the manager; w.stop stops it and waits for its end.
func (w *world) start() {
	w.Helper()
	config := rest.CopyConfig(cmp.Or(w.config, w.server.Config))
	config.QPS, config.Burst = -1, 0
	if w.qps > 0 {
		config.QPS, config.Burst = w.qps, int(w.qps)
	}
	config.Wrap(w.net.wrap)
	cacheOptions := controllers.CacheOptions()
	cacheOptions.DefaultNamespaces = map[string]cache.Config{w.ns: {}}
	cacheOptions.SyncPeriod = w.resync
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 w.server.Environment.Scheme,
		Cache:                  cacheOptions,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		w.Fatalf("make a manager: %v", err)
	}
	err = controllers.SetupWithManager(mgr, controllers.Options{
		Clock: w.clock, SkipNameValidation: true, MaxBackoff: time.Second, Namespaces: []string{w.ns},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.stop = func() {
		w.stop = nil
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the manager ended with: %v", err)
		}
	}
}

// shiftedClock is the real clock, moved. It counts how often a pass has asked it.
type shiftedClock struct {
	shift  atomic.Int64
	passes atomic.Int64
}

func (c *shiftedClock) Now() time.Time {
	c.passes.Add(1)
	return c.time()
}

func (c *shiftedClock) time() time.Time { return time.Now().Add(time.Duration(c.shift.Load())) }

func (c *shiftedClock) Since(t time.Time) time.Duration { return c.time().Sub(t) }

// later moves the time forward and lets the manager see it.
func (w *world) later(d time.Duration, ms *workloadv1alpha1.ModelServing) {
	w.Helper()
	w.clock.shift.Add(int64(d))
	w.pass(ms)
}

// eventually waits until check has no objection.
func (w *world) eventually(what string, check func() error) {
	w.Helper()
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), 25*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("%s: still not so after %v: %v\n%s", what, timeout, last, w.describe())
	}
}

// create creates objects in the world's namespace.
func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, obj := range objects {
		obj.SetNamespace(w.ns)
		obj.SetUID("")
		obj.SetGeneration(0)
		if err := w.client.Create(context.Background(), obj); err != nil {
			w.Fatalf("create %T %q: %v", obj, obj.GetName(), err)
		}
	}
}

// get reads an object anew; a test that cannot have it ends.
func (w *world) get(obj client.Object) {
	w.Helper()
	if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(obj), obj); err != nil {
		w.Fatalf("get %T %q: %v", obj, obj.GetName(), err)
	}
}

// change changes a ModelServing's spec or metadata, whoever else writes it meanwhile.
func (w *world) change(ms *workloadv1alpha1.ModelServing, change func(*workloadv1alpha1.ModelServing)) {
	w.Helper()
	w.get(ms)
	before := ms.DeepCopy()
	change(ms)
	if err := w.client.Patch(context.Background(), ms, client.MergeFrom(before)); err != nil {
		w.Fatalf("change ModelServing %q: %v", ms.Name, err)
	}
}

// pass waits until the manager has done a whole pass over ms that began after the call.
func (w *world) pass(ms *workloadv1alpha1.ModelServing) {
	w.Helper()
	// A pass over an object begins only when the one before it has ended.
	for range 2 {
		before := w.clock.passes.Load()
		w.pokes++
		w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
			metav1.SetMetaDataAnnotation(&ms.ObjectMeta, "test.example/poke", fmt.Sprint(w.pokes))
		})
		w.eventually("a pass", func() error {
			if w.clock.passes.Load() == before {
				return fmt.Errorf("no pass has begun")
			}
			return nil
		})
	}
}

// quiet fails the test when passes over ms go on writing. What came just before may still be under
// way, so that a few rounds are allowed for it to come to rest.
func (w *world) quiet(ms *workloadv1alpha1.ModelServing) {
	w.Helper()
	var wrote []string
	for range 5 {
		w.pass(ms)
		before := len(w.net.writes())
		w.pass(ms)
		w.pass(ms)
		if wrote = w.net.writes()[before:]; len(wrote) == 0 {
			return
		}
	}
	w.Errorf("passes with nothing to do wrote:\n  %s\n%s", strings.Join(wrote, "\n  "), w.describe())
}

// available waits until status says that n groups are there and available, and nothing is under way.
func (w *world) available(ms *workloadv1alpha1.ModelServing, n int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d groups available", n), func() error {
		w.get(ms)
		s := ms.Status
		switch {
		case s.ObservedGeneration != ms.Generation:
			return fmt.Errorf("observedGeneration is %d, generation %d", s.ObservedGeneration, ms.Generation)
		case s.Replicas != n || s.AvailableReplicas != n:
			return fmt.Errorf("replicas is %d, availableReplicas %d", s.Replicas, s.AvailableReplicas)
		case !meta.IsStatusConditionTrue(s.Conditions, workloadv1alpha1.ConditionReady) && n > 0:
			return fmt.Errorf("not Ready")
		case meta.IsStatusConditionTrue(s.Conditions, workloadv1alpha1.ConditionUpdateInProgress):
			return fmt.Errorf("a rollout is on")
		}
		return nil
	})
}

// condition waits until a condition has that status and reason, and a message with these words.
func (w *world) condition(ms *workloadv1alpha1.ModelServing, condition string, status metav1.ConditionStatus, reason string, words ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s %s %s", condition, status, reason), func() error {
		w.get(ms)
		c := meta.FindStatusCondition(ms.Status.Conditions, condition)
		if c == nil {
			return fmt.Errorf("there is no such condition")
		}
		if c.Status != status || c.Reason != reason {
			return fmt.Errorf("it is %s %s: %s", c.Status, c.Reason, c.Message)
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("its message %q does not say %q", c.Message, word)
			}
		}
		return nil
	})
}

// pods returns the Pods of a ModelServing that are not terminating, by name.
func (w *world) pods(ms *workloadv1alpha1.ModelServing) map[string]*corev1.Pod {
	w.Helper()
	out := map[string]*corev1.Pod{}
	for name, pod := range w.allPods(ms) {
		if pod.DeletionTimestamp == nil {
			out[name] = pod
		}
	}
	return out
}

// allPods returns the Pods of a ModelServing, by name.
func (w *world) allPods(ms *workloadv1alpha1.ModelServing) map[string]*corev1.Pod {
	w.Helper()
	var list corev1.PodList
	err := w.client.List(context.Background(), &list, client.InNamespace(w.ns), client.MatchingLabels{names.LabelModelServing: ms.Name})
	if err != nil {
		w.Fatalf("list Pods: %v", err)
	}
	out := map[string]*corev1.Pod{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

// uids maps the names of Pods to their UIDs.
func uids(pods map[string]*corev1.Pod) map[string]string {
	out := map[string]string{}
	for name, pod := range pods {
		out[name] = string(pod.UID)
	}
	return out
}

// remove deletes an object by hand.
func (w *world) remove(obj client.Object, opts ...client.DeleteOption) {
	w.Helper()
	if err := w.client.Delete(context.Background(), obj, opts...); err != nil {
		w.Fatalf("delete %T %q: %v", obj, obj.GetName(), err)
	}
}

// describe says what is there, for a test that fails.
func (w *world) describe() string {
	var b strings.Builder
	var all workloadv1alpha1.ModelServingList
	if err := w.client.List(context.Background(), &all, client.InNamespace(w.ns)); err != nil {
		return err.Error()
	}
	for i := range all.Items {
		ms := &all.Items[i]
		fmt.Fprintf(&b, "ModelServing %s: generation %d, observed %d, replicas %d, available %d, updated %d\n", ms.Name, ms.Generation,
			ms.Status.ObservedGeneration, ms.Status.Replicas, ms.Status.AvailableReplicas, ms.Status.UpdatedReplicas)
		for _, c := range ms.Status.Conditions {
			fmt.Fprintf(&b, "  %s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
		for _, r := range ms.Status.Recoveries {
			fmt.Fprintf(&b, "  recovery %s %s count %d at %s\n", r.Group, r.RoleID, r.Count, r.LastRecoveryTime)
		}
		for name, pod := range w.allPods(ms) {
			fmt.Fprintf(&b, "  Pod %s %s deleting=%v node=%q image=%s revision=%s\n", name, pod.Status.Phase,
				pod.DeletionTimestamp != nil, pod.Spec.NodeName, pod.Spec.Containers[0].Image, pod.Labels[names.LabelRevision])
		}
	}
	writes := w.net.writes()
	fmt.Fprintf(&b, "last writes:\n  %s\n", strings.Join(writes[max(0, len(writes)-20):], "\n  "))
	return b.String()
}

// events returns the reasons of the Events about an object.
func (w *world) events(obj client.Object) []string {
	w.Helper()
	var list eventsv1.EventList
	if err := w.client.List(context.Background(), &list, client.InNamespace(w.ns)); err != nil {
		w.Fatalf("list Events: %v", err)
	}
	var out []string
	for _, e := range list.Items {
		if e.Regarding.UID == obj.GetUID() {
			out = append(out, e.Reason)
		}
	}
	return out
}

// eventEmitted waits for an Event with that reason.
func (w *world) eventEmitted(obj client.Object, reason string) {
	w.Helper()
	w.eventually("an Event "+reason, func() error {
		if got := w.events(obj); !slices.Contains(got, reason) {
			return fmt.Errorf("Events: %v", got)
		}
		return nil
	})
}
