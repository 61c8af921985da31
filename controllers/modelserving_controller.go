package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/controllers/gather"
	"github.com/gangway-serving/gangway/controllers/metrics"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/state"
)

// modelServingController is the name of the controller in logs and metrics.
const modelServingController = "modelserving"

// ModelServingReconciler makes the cluster look as a ModelServing says. It keeps nothing between
// passes but how often the last ones failed, and what the cache is yet to show of what they wrote.
type ModelServingReconciler struct {
	client   client.Client
	gather   *gather.ModelServings
	writer   *apply.Writer
	clock    clock.PassiveClock
	failures workqueue.TypedRateLimiter[reconcile.Request]
	own      *ownWrites
}

// A pass over a cache that lags behind this manager's own writes is put off until the next change or
// for so long; after stale the API server is asked what has become of what was written.
const (
	catchUp = 100 * time.Millisecond
	stale   = 2 * time.Second
)

// +kubebuilder:rbac:groups=workload.serving.volcano.sh,resources=modelservings,verbs=get;list;watch
// +kubebuilder:rbac:groups=workload.serving.volcano.sh,resources=modelservings/status,verbs=update
// +kubebuilder:rbac:groups=workload.serving.volcano.sh,resources=modelservings/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=scheduling.volcano.sh,resources=podgroups,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile does one pass: gather, plan, write, tell. A pass that meets faults has told of them in
// the status, and is tried again after a back-off; an error is returned only for what the status
// cannot say.
func (r *ModelServingReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ms := &workloadv1alpha1.ModelServing{}
	if err := r.client.Get(ctx, req.NamespacedName, ms); err != nil {
		if apierrors.IsNotFound(err) {
			r.failures.Forget(req)
			r.own.forget(req.NamespacedName)
			metrics.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left, err := leftAlone(ctx, r.client, ms); left || err != nil {
		return ctrl.Result{}, err
	}
	began := time.Now()
	defer func() { metrics.Passed(modelServingController, time.Since(began)) }()

	snapshot, err := r.gather.Snapshot(ctx, ms)
	if err != nil {
		return ctrl.Result{}, err
	}
	if unseen := r.own.behind(snapshot); unseen != nil {
		return r.putOff(ctx, snapshot, unseen)
	}
	now := r.clock.Now()
	planning := time.Now()
	p := plan.Compute(snapshot, now)
	metrics.Planned(modelServingController, time.Since(planning))

	observed, wroteFirst := ms, false
	if p.StatusFirst {
		if observed, wroteFirst, err = r.write(ctx, observed, p.Status); err != nil {
			return r.again(req, err)
		}
	}
	result := r.writer.Do(ctx, ms, apply.Work{Before: p.Before, Lanes: p.Lanes, After: p.After})
	r.own.note(ms, result.Written)
	faults := action.Retriable(result.Faults)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // The manager is stopping; what is written is found again.
	}

	status, events := p.Settle(snapshot, faults, now)
	observed, wrote, err := r.write(ctx, observed, status)
	if err != nil {
		return r.again(req, err)
	}
	if wrote || wroteFirst {
		r.tell(ctx, ms, events)
	}
	metrics.Report(ms, &observed.Status)

	if len(faults) > 0 {
		return ctrl.Result{RequeueAfter: sooner(r.failures.When(req), p.RequeueAfter)}, nil
	}
	r.failures.Forget(req)
	return ctrl.Result{RequeueAfter: p.RequeueAfter}, nil
}

// write writes the status when it differs, and counts the recoveries that it remembers.
func (r *ModelServingReconciler) write(ctx context.Context, observed *workloadv1alpha1.ModelServing, status workloadv1alpha1.ModelServingStatus) (now *workloadv1alpha1.ModelServing, wrote bool, err error) {
	now, wrote, err = apply.Status(ctx, r.client, observed, func(ms *workloadv1alpha1.ModelServing) {
		status.DeepCopyInto(&ms.Status)
	})
	if err == nil && wrote {
		r.own.noteStatus(now)
		metrics.Recovered(observed, observed.Status.Recoveries, status.Recoveries)
	}
	return now, wrote, err
}

// putOff has a pass wait for the cache. The change that is waited for brings on the next one.
func (r *ModelServingReconciler) putOff(ctx context.Context, s state.Snapshot, unseen *unseen) (ctrl.Result, error) {
	lag := time.Since(unseen.at)
	if lag < stale {
		return ctrl.Result{RequeueAfter: catchUp}, nil
	}
	waited := len(unseen.writes)
	if err := unseen.verify(ctx, r.writer.Live, s); err != nil {
		return ctrl.Result{}, err
	}
	if len(unseen.writes) < waited {
		return ctrl.Result{RequeueAfter: catchUp}, nil
	}
	return ctrl.Result{}, fmt.Errorf("the cache does not show %s, which was written %s ago", unseen.first(), lag.Round(time.Second))
}

// again tries a pass again whose status could not be written. A status that somebody else has
// written since is no error: the cache was behind.
func (r *ModelServingReconciler) again(req ctrl.Request, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: r.failures.When(req)}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// tell emits Events, once the status says the same. They are transitions, so they are what is logged, too.
func (r *ModelServingReconciler) tell(ctx context.Context, ms *workloadv1alpha1.ModelServing, events []action.Event) {
	log := ctrl.LoggerFrom(ctx)
	for _, e := range events {
		log.Info("transition", "reason", e.Reason, "message", e.Message, "warning", e.Type == corev1.EventTypeWarning)
		r.writer.Emit(ms, "Reconcile", e)
	}
}

// sooner is the earlier of two waits, of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
