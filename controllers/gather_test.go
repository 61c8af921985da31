package controllers_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers"
	"github.com/gangway-serving/gangway/controllers/gather"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/plan/state"
)

// lagging is a cache that has not heard of any Node yet.
type lagging struct{ client.Reader }

func (l lagging) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*corev1.Node); ok {
		return apierrors.NewNotFound(corev1.Resource("nodes"), key.Name)
	}
	return l.Reader.Get(ctx, key, obj, opts...)
}

// gatherer starts a cache as the manager has it and gathers from it.
func (w *world) gatherer() *gather.ModelServings {
	w.Helper()
	options := controllers.CacheOptions()
	options.Scheme = w.server.Environment.Scheme
	options.DefaultNamespaces = map[string]cache.Config{w.ns: {}}
	c, err := cache.New(w.server.Config, options)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := gather.Index(ctx, c); err != nil {
		w.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		w.Fatal("the cache did not sync")
	}
	return &gather.ModelServings{
		Cache: lagging{c}, Live: w.client,
		Gang: func(context.Context) (state.GangSupport, error) { return state.GangSupport{}, nil },
		Route: func(context.Context, *workloadv1alpha1.ModelServing) (route.Input, error) {
			return route.Input{}, nil
		},
	}
}

// That a node is gone lets its Pods be force deleted, so a cache that lags must not be believed.
func TestNodeThatTheCacheDoesNotKnowIsAskedForLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	w.stop()
	w.kubelet.hold("ms-")
	w.remove(w.pods(ms)["ms-0-decode-0-0"])

	nodes := func() []string {
		s, err := w.gatherer().Snapshot(context.Background(), ms)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Pods) != 3 {
			t.Errorf("%d Pods, want 3", len(s.Pods))
		}
		return slices.Collect(maps.Keys(s.Nodes))
	}
	if diff := cmp.Diff([]string{w.kubelet.node}, nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	w.remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubelet.node}})
	if got := nodes(); len(got) != 0 {
		t.Errorf("nodes %v after the only one is gone", got)
	}
}

// Objects of an earlier ModelServing of the same name, and of others, are not ours.
func TestSnapshotHoldsOnlyWhatTheModelServingControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	w.stop()
	stranger := w.pods(ms)["ms-0-decode-0-0"].DeepCopy()
	earlier := stranger.DeepCopy()
	for _, pod := range []*corev1.Pod{stranger, earlier} {
		pod.ResourceVersion = ""
		pod.Spec.NodeName = ""
	}
	stranger.Name, stranger.OwnerReferences = "stranger", nil
	earlier.Name, earlier.OwnerReferences[0].UID = "earlier", "an-earlier-one"
	w.create(stranger, earlier)

	s, err := w.gatherer().Snapshot(context.Background(), ms)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pod := range s.Pods {
		got = append(got, pod.Name)
		if pod.ManagedFields != nil {
			t.Errorf("Pod %s is cached with its managed fields", pod.Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"ms-0-decode-0-0", "ms-0-prefill-0-0", "ms-0-prefill-0-1"}, got); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
	if len(s.Revisions) != 1 || len(s.Services) != 1 || len(s.PodGroups) != 0 {
		t.Errorf("%d revisions, %d Services, %d PodGroups", len(s.Revisions), len(s.Services), len(s.PodGroups))
	}
}
