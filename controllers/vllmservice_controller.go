package controllers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/controllers/gather"
	"github.com/gangway-serving/gangway/controllers/metrics"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/vllm"
)

// +kubebuilder:rbac:groups=aiinfra.example.com,resources=vllmservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=aiinfra.example.com,resources=vllmservices/status,verbs=update
// +kubebuilder:rbac:groups=aiinfra.example.com,resources=vllmservices/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;list;watch;create;update;delete

// vllmServiceController is the name of the controller in logs and metrics.
const vllmServiceController = "vllmservice"

// VLLMServiceReconciler makes the cluster look as a VLLMService says. It keeps nothing between
// passes but how often the last ones failed.
type VLLMServiceReconciler struct {
	client   client.Client
	gather   *gather.VLLMServices
	writer   *apply.Writer
	clock    clock.PassiveClock
	failures workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconcile does one pass: gather, plan, write, tell. Faults stand in the status and are tried
// again after a back-off; an error is returned only for what the status cannot say.
func (r *VLLMServiceReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	v := &aiinfrav1alpha1.VLLMService{}
	if err := r.client.Get(ctx, req.NamespacedName, v); err != nil {
		if apierrors.IsNotFound(err) {
			r.failures.Forget(req)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left, err := leftAlone(ctx, r.client, v); left || err != nil {
		return ctrl.Result{}, err
	}
	began := time.Now()
	defer func() { metrics.Passed(vllmServiceController, time.Since(began)) }()

	snapshot, err := r.gather.Snapshot(ctx, v)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.clock.Now()
	planning := time.Now()
	p := vllm.Compute(snapshot, now)
	metrics.Planned(vllmServiceController, time.Since(planning))

	faults := r.writer.Do(ctx, v, apply.Work{Lanes: p.Lanes}).Faults
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	status, events := p.Settle(snapshot, faults, now)
	_, wrote, err := apply.Status(ctx, r.client, v, func(v *aiinfrav1alpha1.VLLMService) { status.DeepCopyInto(&v.Status) })
	switch {
	case apierrors.IsConflict(err): // The cache was behind.
		return ctrl.Result{RequeueAfter: r.failures.When(req)}, nil
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wrote {
		r.tell(ctx, v, events)
	}
	if len(action.Retriable(faults)) > 0 {
		return ctrl.Result{RequeueAfter: sooner(r.failures.When(req), p.RequeueAfter)}, nil
	}
	r.failures.Forget(req)
	return ctrl.Result{RequeueAfter: p.RequeueAfter}, nil
}

// tell emits Events. They are transitions, so they are what is logged, too.
func (r *VLLMServiceReconciler) tell(ctx context.Context, v *aiinfrav1alpha1.VLLMService, events []action.Event) {
	log := ctrl.LoggerFrom(ctx)
	for _, e := range events {
		log.Info("transition", "reason", e.Reason, "message", e.Message, "warning", e.Type == corev1.EventTypeWarning)
		r.writer.Emit(v, "Reconcile", e)
	}
}

// setupVLLMService registers the controller of VLLMServices.
func setupVLLMService(mgr ctrl.Manager, opts Options, caps *Capabilities, routes *routes) error {
	pods, err := vllmPods(mgr, opts.Namespaces)
	if err != nil {
		return err
	}
	r := &VLLMServiceReconciler{
		client: mgr.GetClient(),
		gather: &gather.VLLMServices{
			Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Routes: routes.Routes, Pods: pods,
			Monitors: func(ctx context.Context) (bool, error) { return caps.Served(ctx, ServiceMonitors) },
		},
		writer: &apply.Writer{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
			Recorder: mgr.GetEventRecorder(recorderName), Parallel: opts.ParallelWrites,
		},
		clock:    opts.Clock,
		failures: opts.backoff(),
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(vllmServiceController).
		For(&aiinfrav1alpha1.VLLMService{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(ofPVC(routes))).
		WatchesRawSource(source.Kind[client.Object](pods, &corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ofPod), podPredicate())).
		WatchesRawSource(caps.Changes(everyMonitored(routes), ServiceMonitors)).
		WithOptions(opts.controller())
	c, err := routes.watch(b, routedVLLMServices).Build(r)
	if err != nil {
		return err
	}
	routes.watchLater(c, routedVLLMServices)
	caps.OnArrival(ServiceMonitors, func(context.Context) error {
		monitor := &unstructured.Unstructured{}
		monitor.SetGroupVersionKind(vllm.ServiceMonitorKind())
		owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &aiinfrav1alpha1.VLLMService{}, handler.OnlyControllerOwner())
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), monitor, owner))
	})
	return nil
}

func ofPVC(routes *routes) handler.MapFunc {
	return func(ctx context.Context, pvc client.Object) []reconcile.Request {
		return requests(routes.find(ctx, routedVLLMServices, nil,
			client.InNamespace(pvc.GetNamespace()), client.MatchingFields{gather.IndexPVC: pvc.GetName()}))
	}
}

// everyMonitored tells all VLLMServices that want a ServiceMonitor.
func everyMonitored(routes *routes) handler.EventHandler {
	monitored := func(obj client.Object) bool {
		v, ok := obj.(*aiinfrav1alpha1.VLLMService)
		return ok && v.Spec.Monitoring != nil && v.Spec.Monitoring.Enabled
	}
	return handler.Funcs{
		GenericFunc: func(ctx context.Context, _ event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for _, req := range requests(routes.find(ctx, routedVLLMServices, monitored)) {
				q.Add(req)
			}
		},
	}
}
