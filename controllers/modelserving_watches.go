package controllers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/controllers/gather"
	"github.com/gangway-serving/gangway/plan/state"
)

// settle is how long a change of an owned object waits for the changes that come with it: the Pods of
// a group become Ready one after the other, and one pass for all of them is enough.
const settle = 50 * time.Millisecond

func setupModelServing(mgr ctrl.Manager, opts Options, capabilities *Capabilities, routes *routes) error {
	indexer := mgr.GetFieldIndexer()
	if err := gather.Index(context.Background(), indexer); err != nil {
		return err
	}
	r := &ModelServingReconciler{
		client: mgr.GetClient(),
		gather: &gather.ModelServings{
			Cache: mgr.GetCache(),
			Live:  mgr.GetAPIReader(),
			Gang:  gangSupport(capabilities),
			Route: routes.ForModelServing,
		},
		writer: &apply.Writer{
			Client:   mgr.GetClient(),
			Live:     mgr.GetAPIReader(),
			Recorder: mgr.GetEventRecorder(recorderName),
			Parallel: opts.ParallelWrites,
		},
		clock:    opts.Clock,
		failures: opts.backoff(),
		own:      newOwnWrites(),
	}
	all := enqueueAllModelServings(mgr.GetCache())
	b := builder.ControllerManagedBy(mgr).
		Named(modelServingController).
		For(&workloadv1alpha1.ModelServing{}).
		Watches(&corev1.Pod{}, enqueueOwner(), builder.WithPredicates(podPredicate())).
		Watches(&corev1.Service{}, enqueueOwner(), builder.WithPredicates(changedPredicate())).
		Watches(&appsv1.ControllerRevision{}, enqueueOwner(), builder.WithPredicates(changedPredicate())).
		Watches(&corev1.Node{}, enqueueTerminatingOn(mgr.GetCache()), builder.WithPredicates(nodePredicate())).
		WatchesRawSource(capabilities.Changes(all, PodGroups)).
		WithOptions(opts.controller())
	c, err := routes.watch(b, routedModelServings).Build(r)
	if err != nil {
		return err
	}
	routes.watchLater(c, routedModelServings)
	capabilities.OnArrival(PodGroups, func(ctx context.Context) error {
		if err := gather.IndexPodGroups(ctx, indexer); err != nil {
			return err
		}
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), &schedulingv1beta1.PodGroup{}, enqueueOwner(), podGroupPredicate()))
	})
	return nil
}

// gangSupport reads what the installed Volcano can do.
func gangSupport(c *Capabilities) func(context.Context) (state.GangSupport, error) {
	return func(ctx context.Context) (state.GangSupport, error) {
		podGroups, err := c.Served(ctx, PodGroups)
		if err != nil || !podGroups {
			return state.GangSupport{}, err
		}
		subGroups, err := c.HasSpecField(ctx, PodGroups, "subGroupPolicy")
		return state.GangSupport{PodGroups: true, SubGroups: subGroups}, err
	}
}

// onEvent calls enqueue with the object of every event; after an update, with both.
func onEvent(enqueue func(context.Context, client.Object, workqueue.TypedRateLimitingInterface[reconcile.Request])) handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			enqueue(ctx, e.ObjectOld, q)
			enqueue(ctx, e.ObjectNew, q)
		},
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

// enqueueOwner enqueues the ModelServing that controls an object. It goes by the name: what an
// earlier ModelServing of that name has left behind keeps names taken, and its going frees them.
func enqueueOwner() handler.EventHandler {
	return onEvent(func(_ context.Context, obj client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if ref := gather.Owner(obj); ref != nil {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}}, settle)
		}
	})
}

// enqueueTerminatingOn enqueues the ModelServings with terminating Pods on a node.
func enqueueTerminatingOn(reader client.Reader) handler.EventHandler {
	return onEvent(func(ctx context.Context, node client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		var pods corev1.PodList
		err := reader.List(ctx, &pods, client.MatchingFields{gather.IndexTerminatingOnNode: node.GetName()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the terminating Pods of a node", "node", node.GetName())
			return
		}
		for i := range pods.Items {
			if ref := gather.Owner(&pods.Items[i]); ref != nil {
				q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pods.Items[i].Namespace, Name: ref.Name}}, settle)
			}
		}
	})
}

// enqueueAllModelServings enqueues every ModelServing.
func enqueueAllModelServings(reader client.Reader) handler.EventHandler {
	return onEvent(func(ctx context.Context, _ client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		var all workloadv1alpha1.ModelServingList
		if err := reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list the ModelServings")
			return
		}
		for i := range all.Items {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	})
}
