package certs

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// followed is a cache that runs on every replica, leader or not.
type followed struct{ cache.Cache }

func (followed) NeedLeaderElection() bool { return false }

// setupSelfManaged registers the authority (leader only) and the follower (every replica) over one cache
// that holds three objects by name.
func (c *Certificates) setupSelfManaged(mgr ctrl.Manager) error {
	watched, err := cache.New(mgr.GetConfig(), cacheOptions(mgr, c.opts.Namespace))
	if err != nil {
		return fmt.Errorf("make the cache of the webhook certificate: %w", err)
	}
	if err := mgr.Add(followed{watched}); err != nil {
		return fmt.Errorf("add the cache of the webhook certificate: %w", err)
	}
	key := client.ObjectKey{Namespace: c.opts.Namespace, Name: SecretName}
	err = register(mgr, watched, "webhook-authority", true, &authority{
		reader: watched, writer: mgr.GetClient(), secret: key, hosts: hosts(c.opts), policy: c.opts.Policy, clock: c.opts.Clock,
	})
	if err != nil {
		return err
	}
	return register(mgr, watched, "webhook-serving", false, &follower{
		reader: watched, secret: key, clock: c.opts.Clock, serving: c.serving,
	})
}

func cacheOptions(mgr ctrl.Manager, namespace string) cache.Options {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	return cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {FieldSelector: named(SecretName)}}},
			&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: named(ValidatingConfiguration)},
			&admissionregistrationv1.MutatingWebhookConfiguration{}:   {Field: named(MutatingConfiguration)},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

// register runs a reconciler for every event of the three objects, and once at the start, since an
// absent Secret has no events.
func register(mgr ctrl.Manager, watched cache.Cache, name string, leaderOnly bool, r reconcile.Reconciler) error {
	request := reconcile.Request{NamespacedName: client.ObjectKey{Name: SecretName}}
	logger := mgr.GetLogger().WithName(name) // there is one request only, so that its name tells nothing
	ctl, err := controller.New(name, mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: 1, NeedLeaderElection: ptr.To(leaderOnly),
		LogConstructor: func(*reconcile.Request) logr.Logger { return logger },
	})
	if err != nil {
		return fmt.Errorf("make controller %q: %w", name, err)
	}
	toRequest := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{request}
	})
	sources := []source.Source{source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(request)
		return nil
	})}
	for _, object := range append(configurations(), &corev1.Secret{}) {
		sources = append(sources, source.Kind(watched, object, toRequest))
	}
	for _, s := range sources {
		if err := ctl.Watch(s); err != nil {
			return fmt.Errorf("watch for controller %q: %w", name, err)
		}
	}
	return nil
}
