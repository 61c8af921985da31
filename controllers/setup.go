// Package controllers carries plans out: each reconciler gathers what is, has plan compute what is
// right, has apply write it, and decides nothing itself.
package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Options tune the reconcilers. The zero value is good for production.
type Options struct {
	// Clock tells the time to the planners. Default: the real one.
	Clock clock.PassiveClock
	// MaxConcurrentReconciles is how many objects of a kind are worked on at a time. Default 4.
	MaxConcurrentReconciles int
	// ParallelWrites is how many writes for one object are under way at a time. Default 32.
	ParallelWrites int
	// MaxBackoff is the longest wait before a pass that failed is tried again. Default 1 min.
	MaxBackoff time.Duration
	// Namespaces are those that the manager's cache is limited to; none means all.
	Namespaces []string
	// SkipNameValidation lets several managers run in one process, as tests do.
	SkipNameValidation bool
}

const (
	defaultConcurrency = 4
	// firstBackoff is the wait after the first failure; each further one doubles it.
	firstBackoff      = 200 * time.Millisecond
	defaultMaxBackoff = time.Minute
	// recorderName is the reportingController of Gangway's Events.
	recorderName = "gangway.dev/controller"
)

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.MaxConcurrentReconciles <= 0 {
		o.MaxConcurrentReconciles = defaultConcurrency
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = defaultMaxBackoff
	}
	return o
}

// backoff limits how often one object that fails is tried.
func (o Options) backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, o.MaxBackoff)
}

// controller are the options of every controller.
func (o Options) controller() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RateLimiter:             o.backoff(),
		SkipNameValidation:      ptr.To(o.SkipNameValidation),
	}
}

// SetupWithManager registers every reconciler. The manager's cache is to be made with CacheOptions.
func SetupWithManager(mgr ctrl.Manager, opts Options) error {
	opts = opts.withDefaults()
	capabilities := NewCapabilities(mgr.GetAPIReader(), mgr.GetCache())
	routes, err := newRoutes(context.Background(), mgr, opts, capabilities)
	if err != nil {
		return err
	}
	if err := setupModelServing(mgr, opts, capabilities, routes); err != nil {
		return fmt.Errorf("set up the ModelServing controller: %w", err)
	}
	if err := setupVLLMService(mgr, opts, capabilities, routes); err != nil {
		return fmt.Errorf("set up the VLLMService controller: %w", err)
	}
	return capabilities.SetupWithManager(mgr, controller.Options{SkipNameValidation: ptr.To(opts.SkipNameValidation)})
}
