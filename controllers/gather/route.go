package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/route"
)

// Routes gathers what the route of a ModelServing or VLLMService is decided from.
type Routes struct {
	// Cache is the manager's cache, with the indexes of IndexRoutes.
	Cache client.Reader
	// Live reads from the API server. It is asked for an object that is wanted and that the cache
	// does not know: the cache holds only what has Gangway's label, and a name may be another's.
	Live client.Reader
	// Watched says whether the cache holds the objects of a namespace.
	Watched func(namespace string) bool
	// Installed says whether Gateways and HTTPRoutes are served.
	Installed func(context.Context) (bool, error)
}

// ForModelServing gathers what the route of ms is decided from.
func (g *Routes) ForModelServing(ctx context.Context, ms *workloadv1alpha1.ModelServing) (route.Input, error) {
	return g.observe(ctx, route.ForModelServing(ms))
}

// ForVLLMService gathers what the route of v is decided from.
func (g *Routes) ForVLLMService(ctx context.Context, v *aiinfrav1alpha1.VLLMService) (route.Input, error) {
	return g.observe(ctx, route.ForVLLMService(v))
}

func (g *Routes) observe(ctx context.Context, in route.Input) (route.Input, error) {
	fail := func(err error) (route.Input, error) {
		return in, fmt.Errorf("gather the route of %s %q: %w", in.Owner.Kind, in.Owner.Name, err)
	}
	var err error
	key := client.ObjectKey{Namespace: in.Owner.Namespace, Name: names.Service(in.Owner.Name)}
	if in.Service, err = observed(ctx, g.Cache, g.liveIf(in.Ref != nil || !in.Backend.Managed), key, &corev1.Service{}); err != nil {
		return fail(err)
	}
	if in.Installed, err = g.Installed(ctx); err != nil {
		return fail(err)
	}
	if in.Installed {
		key.Name = names.HTTPRoute(in.Owner.Name)
		if in.HTTPRoute, err = observed(ctx, g.Cache, g.liveIf(in.Ref != nil), key, &gatewayv1.HTTPRoute{}); err != nil {
			return fail(err)
		}
	}
	if in.Ref == nil || !in.Installed {
		return in, nil
	}
	key = client.ObjectKey{Namespace: in.Ref.Namespace, Name: in.Ref.Name}
	gateways := g.Cache
	if in.Unwatched = !g.Watched(in.Ref.Namespace); in.Unwatched {
		gateways = g.Live
	}
	if in.Gateway, err = observed(ctx, gateways, nil, key, &gatewayv1.Gateway{}); err != nil {
		return fail(err)
	}
	if in.NamespaceLabels, err = g.namespaceLabels(ctx, in.Owner.Namespace); err != nil {
		return fail(err)
	}
	if in.Gateway == nil {
		return in, nil
	}
	if in.ControllerName, err = g.controllerName(ctx, in.Gateway); err != nil {
		return fail(err)
	}
	if in.Claims, err = g.claims(ctx, in); err != nil {
		return fail(err)
	}
	return in, nil
}

// liveIf is the live reader where an object is wanted. Where it is only to be removed, the cache
// is enough: an object of ours that it does not know yet brings an event.
func (g *Routes) liveIf(wanted bool) client.Reader {
	if wanted {
		return g.Live
	}
	return nil
}

// observed reads an object from the cache and, if it is not there, from live; nil when there is none.
func observed[T client.Object](ctx context.Context, cache, live client.Reader, key client.ObjectKey, into T) (T, error) {
	var none T
	err := cache.Get(ctx, key, into)
	if apierrors.IsNotFound(err) && live != nil {
		err = live.Get(ctx, key, into)
	}
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("get %T %q: %w", into, key.Name, err)
	}
	return into, nil
}

func (g *Routes) namespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	ns, err := Namespace(ctx, g.Cache, name)
	if err != nil {
		return nil, err
	}
	return ns.Labels, nil
}

// controllerName is empty when the class of the Gateway does not exist.
func (g *Routes) controllerName(ctx context.Context, gateway *gatewayv1.Gateway) (gatewayv1.GatewayController, error) {
	class := &gatewayv1.GatewayClass{}
	name := string(gateway.Spec.GatewayClassName)
	err := g.Cache.Get(ctx, client.ObjectKey{Name: name}, class)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("get GatewayClass %q: %w", name, err)
	}
	return class.Spec.ControllerName, nil
}

// claims are those of other objects on the same listener and host. An object that is being
// deleted claims nothing any more.
func (g *Routes) claims(ctx context.Context, in route.Input) ([]route.Claim, error) {
	var claims []route.Claim
	add := func(other route.Input, deleted bool) error {
		if other.Owner.UID == in.Owner.UID || other.Ref == nil || deleted {
			return nil
		}
		labels, err := g.namespaceLabels(ctx, other.Owner.Namespace)
		if err != nil {
			return err
		}
		claims = append(claims, route.Claim{Owner: other.Owner, Ref: *other.Ref, NamespaceLabels: labels})
		return nil
	}
	same := client.MatchingFields{IndexClaim: in.Ref.ClaimKey()}
	var servings workloadv1alpha1.ModelServingList
	if err := g.Cache.List(ctx, &servings, same, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModelServings by host: %w", err)
	}
	for i := range servings.Items {
		if err := add(route.ForModelServing(&servings.Items[i]), servings.Items[i].DeletionTimestamp != nil); err != nil {
			return nil, err
		}
	}
	var services aiinfrav1alpha1.VLLMServiceList
	if err := g.Cache.List(ctx, &services, same, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list VLLMServices by host: %w", err)
	}
	for i := range services.Items {
		if err := add(route.ForVLLMService(&services.Items[i]), services.Items[i].DeletionTimestamp != nil); err != nil {
			return nil, err
		}
	}
	return claims, nil
}
