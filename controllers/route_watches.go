package controllers

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/gather"
)

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways;gatewayclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// routes is what the routes of both kinds share in one manager: the gatherer and the watches.
type routes struct {
	*gather.Routes
	mgr   ctrl.Manager
	cache cache.Cache
	caps  *Capabilities
}

// newRoutes registers the indexes. To be called once, before the controllers are set up.
func newRoutes(ctx context.Context, mgr ctrl.Manager, opts Options, caps *Capabilities) (*routes, error) {
	if err := gather.IndexRoutes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	return &routes{
		mgr: mgr, cache: mgr.GetCache(), caps: caps,
		Routes: &gather.Routes{
			Cache: mgr.GetCache(),
			Live:  mgr.GetAPIReader(),
			Watched: func(namespace string) bool {
				return len(opts.Namespaces) == 0 || slices.Contains(opts.Namespaces, namespace)
			},
			Installed: func(ctx context.Context) (bool, error) {
				if served, err := caps.Served(ctx, Gateways); !served || err != nil {
					return false, err
				}
				return caps.Served(ctx, HTTPRoutes)
			},
		},
	}, nil
}

// routed is one of the two kinds that have a gatewayRef.
type routed struct {
	object client.Object
	list   func() client.ObjectList
}

var (
	routedModelServings = routed{
		&workloadv1alpha1.ModelServing{}, func() client.ObjectList { return &workloadv1alpha1.ModelServingList{} },
	}
	routedVLLMServices = routed{
		&aiinfrav1alpha1.VLLMService{}, func() client.ObjectList { return &aiinfrav1alpha1.VLLMServiceList{} },
	}
)

// watch adds to b, the controller of kind, what its routes depend on and the cluster always has:
// the labels of Namespaces, and other objects' claims to hosts.
func (r *routes) watch(b *builder.Builder, kind routed) *builder.Builder {
	b = b.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace(kind)),
		builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(r.caps.Changes(r.everyRouted(kind), Gateways, HTTPRoutes))
	for _, claimant := range []routed{routedModelServings, routedVLLMServices} {
		b = b.Watches(claimant.object, r.rivals(kind), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return b
}

// watchLater adds to c, the controller of kind, what may arrive later: Gateways, their classes and
// HTTPRoutes.
func (r *routes) watchLater(c controller.Controller, kind routed) {
	r.caps.OnArrival(Gateways, func(context.Context) error {
		if err := c.Watch(source.Kind[client.Object](r.cache, &gatewayv1.Gateway{},
			handler.EnqueueRequestsFromMapFunc(r.ofGateway(kind)))); err != nil {
			return fmt.Errorf("watch Gateways: %w", err)
		}
		if err := c.Watch(source.Kind[client.Object](r.cache, &gatewayv1.GatewayClass{},
			handler.EnqueueRequestsFromMapFunc(r.ofGatewayClass(kind)), predicate.GenerationChangedPredicate{})); err != nil {
			return fmt.Errorf("watch GatewayClasses: %w", err)
		}
		return nil
	})
	r.caps.OnArrival(HTTPRoutes, func(context.Context) error {
		owner := handler.EnqueueRequestForOwner(r.mgr.GetScheme(), r.mgr.GetRESTMapper(), kind.object, handler.OnlyControllerOwner())
		if err := c.Watch(source.Kind[client.Object](r.cache, &gatewayv1.HTTPRoute{}, owner)); err != nil {
			return fmt.Errorf("watch HTTPRoutes: %w", err)
		}
		return nil
	})
}

// find lists the objects of kind that opts pick and that keep lets through.
func (r *routes) find(ctx context.Context, kind routed, keep func(client.Object) bool, opts ...client.ListOption) []client.Object {
	list := kind.list()
	if err := r.cache.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		// The cache answers from memory; it fails only for an index that is not registered.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find whose route an event is about")
		return nil
	}
	var found []client.Object
	add := func(obj client.Object) {
		if keep == nil || keep(obj) {
			found = append(found, obj)
		}
	}
	switch l := list.(type) {
	case *workloadv1alpha1.ModelServingList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	case *aiinfrav1alpha1.VLLMServiceList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	}
	return found
}

func requests(objects []client.Object) []reconcile.Request {
	out := make([]reconcile.Request, 0, len(objects))
	for _, obj := range objects {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
	}
	return out
}

func hasRef(obj client.Object) bool { return gather.Ref(obj) != nil }

func (r *routes) ofGateway(kind routed) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		key := gather.GatewayKey(obj.GetNamespace(), obj.GetName())
		return requests(r.find(ctx, kind, nil, client.MatchingFields{gather.IndexGateway: key}))
	}
}

func (r *routes) ofGatewayClass(kind routed) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var gateways gatewayv1.GatewayList
		if err := r.cache.List(ctx, &gateways, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the Gateways of a class")
			return nil
		}
		var all []reconcile.Request
		for i := range gateways.Items {
			if string(gateways.Items[i].Spec.GatewayClassName) == obj.GetName() {
				all = append(all, r.ofGateway(kind)(ctx, &gateways.Items[i])...)
			}
		}
		return all
	}
}

// ofNamespace finds the objects in a Namespace, and those elsewhere whose host is claimed from
// there: whether such a claim counts depends on the Namespace's labels. Nothing that is not served
// claims anything.
func (r *routes) ofNamespace(kind routed) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		if !r.Watched(obj.GetName()) {
			return nil
		}
		var all []reconcile.Request
		for _, claimant := range []routed{routedModelServings, routedVLLMServices} {
			for _, inside := range r.find(ctx, claimant, hasRef, client.InNamespace(obj.GetName())) {
				all = append(all, r.claimants(ctx, kind, inside)...)
			}
		}
		return all
	}
}

// claimants finds the objects of kind that claim the host that obj claims, obj among them.
func (r *routes) claimants(ctx context.Context, kind routed, obj client.Object) []reconcile.Request {
	ref := gather.Ref(obj)
	if ref == nil {
		return nil
	}
	return requests(r.find(ctx, kind, nil, client.MatchingFields{gather.IndexClaim: ref.ClaimKey()}))
}

// rivals tells the objects of kind that another one claims their host, or does no more.
func (r *routes) rivals(kind routed) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, q queue, obj client.Object) {
		self := types.NamespacedName{}
		if reflect.TypeOf(obj) == reflect.TypeOf(kind.object) {
			self = client.ObjectKeyFromObject(obj) // has its own watch
		}
		for _, req := range r.claimants(ctx, kind, obj) {
			if req.NamespacedName != self {
				q.Add(req)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			enqueue(ctx, q, e.ObjectOld)
			enqueue(ctx, q, e.ObjectNew)
		},
	}
}

// everyRouted tells all objects of kind that have a gatewayRef.
func (r *routes) everyRouted(kind routed) handler.EventHandler {
	return handler.Funcs{
		GenericFunc: func(ctx context.Context, _ event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for _, req := range requests(r.find(ctx, kind, hasRef)) {
				q.Add(req)
			}
		},
	}
}
