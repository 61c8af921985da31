package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/gangway-serving/gangway/plan/vllm"
)

// Capability is an API that a cluster may or may not serve: the name of its CRD.
type Capability string

// The APIs that Gangway can do without.
const (
	PodGroups       Capability = "podgroups.scheduling.volcano.sh"
	Gateways        Capability = "gateways.gateway.networking.k8s.io"
	HTTPRoutes      Capability = "httproutes.gateway.networking.k8s.io"
	ServiceMonitors Capability = "servicemonitors.monitoring.coreos.com"
)

// capabilityVersions are the versions that Gangway speaks.
var capabilityVersions = map[Capability]string{
	PodGroups:       "v1beta1",
	Gateways:        "v1",
	HTTPRoutes:      "v1",
	ServiceMonitors: "v1",
}

// capabilityObjects are what is watched of them.
func capabilityObjects(of Capability) []client.Object {
	switch of {
	case PodGroups:
		return []client.Object{&schedulingv1beta1.PodGroup{}}
	case Gateways:
		return []client.Object{&gatewayv1.Gateway{}, &gatewayv1.GatewayClass{}}
	case HTTPRoutes:
		return []client.Object{&gatewayv1.HTTPRoute{}}
	case ServiceMonitors:
		monitor := &unstructured.Unstructured{}
		monitor.SetGroupVersionKind(vllm.ServiceMonitorKind())
		return []client.Object{monitor}
	default:
		return nil
	}
}

// Capabilities knows which optional APIs the cluster serves. Each is asked for once, live, when it
// is first needed, and again whenever its CRD changes, so that one that arrives later needs no
// restart. What is known here can be learned anew at any time; nothing else is.
type Capabilities struct {
	live      client.Reader
	informers cache.Informers

	mu      sync.Mutex
	known   map[Capability]served
	arrival map[Capability][]func(context.Context) error
	changes []subscription
}

// served is what a CRD says.
type served struct {
	// yes: it is established, and serves the version that Gangway speaks.
	yes bool
	// spec holds the names of the fields of its spec.
	spec []string
}

type subscription struct {
	of []Capability
	to chan event.GenericEvent
}

// NewCapabilities asks live, which must not be a cached reader, and has informers hold the objects
// of the APIs that are served.
func NewCapabilities(live client.Reader, informers cache.Informers) *Capabilities {
	return &Capabilities{
		live:      live,
		informers: informers,
		known:     map[Capability]served{},
		arrival:   map[Capability][]func(context.Context) error{},
	}
}

// OnArrival has start called once, the first time that the API is found to be served, before Served
// says so to anybody: to index and to watch its objects. When start fails, so does Served, and start
// is called again the next time. To be called before the manager is started; start must not call
// back.
func (c *Capabilities) OnArrival(of Capability, start func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrival[of] = append(c.arrival[of], start)
}

// Changes is a source of one event whenever one of these APIs comes, goes, or changes its fields. To
// be called before the manager is started.
func (c *Capabilities) Changes(h handler.EventHandler, of ...Capability) source.Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	// One event that waits says as much as many.
	to := make(chan event.GenericEvent, 1)
	c.changes = append(c.changes, subscription{of: of, to: to})
	return source.Channel(to, h)
}

// Served says whether the API is served.
func (c *Capabilities) Served(ctx context.Context, of Capability) (bool, error) {
	s, err := c.get(ctx, of)
	return s.yes, err
}

// HasSpecField says whether the API is served and its spec has that field.
func (c *Capabilities) HasSpecField(ctx context.Context, of Capability, field string) (bool, error) {
	s, err := c.get(ctx, of)
	return s.yes && slices.Contains(s.spec, field), err
}

func (c *Capabilities) get(ctx context.Context, of Capability) (served, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.known[of]
	if !ok {
		var err error
		if s, err = c.ask(ctx, of); err != nil {
			return served{}, err
		}
	}
	if err := c.arrived(ctx, of, s); err != nil {
		return served{}, err
	}
	c.known[of] = s
	return s, nil
}

// ask reads the CRD.
func (c *Capabilities) ask(ctx context.Context, of Capability) (served, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := c.live.Get(ctx, client.ObjectKey{Name: string(of)}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return served{}, nil
	case err != nil:
		return served{}, fmt.Errorf("see whether %s is served: %w", of, err)
	}
	return servedBy(crd, capabilityVersions[of]), nil
}

// servedBy reads a CRD.
func servedBy(crd *apiextensionsv1.CustomResourceDefinition, version string) served {
	established := slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
	if !established || i < 0 || crd.DeletionTimestamp != nil {
		return served{}
	}
	s := served{yes: true}
	if schema := crd.Spec.Versions[i].Schema; schema != nil && schema.OpenAPIV3Schema != nil {
		for field := range schema.OpenAPIV3Schema.Properties["spec"].Properties {
			s.spec = append(s.spec, field)
		}
		slices.Sort(s.spec)
	}
	return s
}

// arrived runs what waits for the API, once.
func (c *Capabilities) arrived(ctx context.Context, of Capability, s served) error {
	if !s.yes || len(c.arrival[of]) == 0 {
		return nil
	}
	// A CRD is established a moment before discovery knows it. A watch that is begun in between tries
	// again after 10 s, and never hears of what was deleted meanwhile.
	for _, obj := range capabilityObjects(of) {
		if _, err := c.informers.GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("begin to watch %s: %w", of, err)
		}
	}
	for len(c.arrival[of]) > 0 {
		if err := c.arrival[of][0](ctx); err != nil {
			return fmt.Errorf("begin to watch %s: %w", of, err)
		}
		c.arrival[of] = c.arrival[of][1:]
	}
	return nil
}

// Reconcile asks again about a CRD that has changed, and tells those who want to know.
func (c *Capabilities) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	of := Capability(req.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := c.ask(ctx, of)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := c.arrived(ctx, of, now); err != nil {
		return ctrl.Result{}, err
	}
	before, ok := c.known[of]
	c.known[of] = now
	if ok && before.yes == now.yes && slices.Equal(before.spec, now.spec) {
		return ctrl.Result{}, nil
	}
	if ok {
		ctrl.LoggerFrom(ctx).Info("an optional API has changed", "served", now.yes)
	}
	for _, s := range c.changes {
		if !slices.Contains(s.of, of) {
			continue
		}
		select {
		case s.to <- event.GenericEvent{}:
		default:
		}
	}
	return ctrl.Result{}, nil
}

// SetupWithManager watches the metadata of the CRDs in question.
func (c *Capabilities) SetupWithManager(mgr ctrl.Manager, opts controller.Options) error {
	asked := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		_, ok := capabilityVersions[Capability(obj.GetName())]
		return ok
	})
	err := builder.ControllerManagedBy(mgr).
		Named("capability").
		WatchesMetadata(&apiextensionsv1.CustomResourceDefinition{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(asked)).
		WithOptions(opts).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the watch of optional APIs: %w", err)
	}
	return nil
}
