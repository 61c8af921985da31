package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

const (
	crdPodGroups = "podgroups.scheduling.volcano.sh"
	crdGateways  = "gateways.gateway.networking.k8s.io"

	// patience bounds all look-ups for one answer together. What is not known by then counts as
	// unknown, and nobody is refused for it.
	patience = 1500 * time.Millisecond
)

// cluster reads what judging needs beside the object.
type cluster struct {
	cached         client.Reader
	live           client.Reader
	rights         *rights
	requireGateway bool
}

// surroundings gathers what is known of the cluster around an object with that route.
func (c *cluster) surroundings(ctx context.Context, in route.Input) validating.Surroundings {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := validating.Surroundings{
		RequireGateway: c.requireGateway,
		Volcano:        c.presence(ctx, crdPodGroups),
	}
	if in.Ref == nil || in.Ref.Name == "" {
		return s
	}
	s.GatewayAPI = c.presence(ctx, crdGateways)
	if s.GatewayAPI != validating.Present {
		return s
	}
	if in.Ref.Namespace != in.Owner.Namespace && !c.mayGet(ctx, in.Ref) {
		s.GatewayHidden = true
		return s
	}
	if err := c.readGateway(ctx, in, &s); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "a gatewayRef is not checked")
		s.GatewayAPI = validating.Unknown
		return s
	}
	claims, err := c.claims(ctx, in)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the claims to a host are not known")
	}
	s.Claims = claims
	return s
}

// presence says whether a CRD is installed.
func (c *cluster) presence(ctx context.Context, crd string) validating.Presence {
	err := c.cached.Get(ctx, client.ObjectKey{Name: crd}, crdMetadata())
	switch {
	case err == nil:
		return validating.Present
	case apierrors.IsNotFound(err):
		return validating.Absent
	default:
		ctrl.LoggerFrom(ctx).Error(err, "it is not known whether a CRD is installed", "crd", crd)
		return validating.Unknown
	}
}

// readGateway reads the Gateway and the labels of the object's namespace, from the cache, and live
// when that would lead to anything but an accepted reference: a Gateway and what refers to it are often
// applied in one go.
func (c *cluster) readGateway(ctx context.Context, in route.Input, s *validating.Surroundings) error {
	err := c.readGatewayFrom(ctx, c.cached, in, s)
	if err == nil && route.Resolve(*in.Ref, s.Gateway, in.Owner.Namespace, s.NamespaceLabels).Answer == route.Resolved {
		return nil
	}
	// Whatever is wrong with the cache: it may not watch the Gateway's namespace.
	return c.readGatewayFrom(ctx, c.live, in, s)
}

func (c *cluster) readGatewayFrom(ctx context.Context, from client.Reader, in route.Input, s *validating.Surroundings) error {
	var err error
	if s.Gateway, err = gatewayFrom(ctx, from, in.Ref); err != nil {
		return err
	}
	s.NamespaceLabels, err = namespaceLabelsFrom(ctx, from, in.Owner.Namespace)
	return err
}

// gatewayFrom returns nil without an error when the Gateway does not exist.
func gatewayFrom(ctx context.Context, from client.Reader, ref *route.Ref) (*gatewayv1.Gateway, error) {
	gateway := &gatewayv1.Gateway{}
	err := from.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, gateway)
	switch {
	case err == nil:
		return gateway, nil
	case apierrors.IsNotFound(err), isBadName(err):
		return nil, nil
	default:
		return nil, fmt.Errorf("get Gateway %s/%s: %w", ref.Namespace, ref.Name, err)
	}
}

// isBadName is true for a name that a request cannot even be made with: no such object exists.
func isBadName(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

func namespaceLabelsFrom(ctx context.Context, from client.Reader, name string) (map[string]string, error) {
	ns := namespaceMetadata()
	err := from.Get(ctx, client.ObjectKey{Name: name}, ns)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get namespace %q: %w", name, err)
	}
	return ns.Labels, nil
}

func (c *cluster) mayGet(ctx context.Context, ref *route.Ref) bool {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return false
	}
	allowed, err := c.rights.mayGetGateway(ctx, &req.UserInfo, ref.Namespace, ref.Name)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the requester's rights are not known")
	}
	return allowed
}

// errGone says that no ModelServing of that name, or with that UID, exists.
var errGone = errors.New("the ModelServing does not exist")

// modelServing finds the ModelServing with that UID (any, when it is empty): in the cache, and live
// when the cache does not have it yet. The error is errGone when the API server does not have it either.
func (c *cluster) modelServing(ctx context.Context, key client.ObjectKey, uid types.UID) (*workloadv1alpha1.ModelServing, error) {
	for _, from := range []struct {
		reader client.Reader
		final  bool
	}{{c.cached, false}, {c.live, true}} {
		ms := &workloadv1alpha1.ModelServing{}
		err := from.reader.Get(ctx, key, ms)
		switch {
		case err == nil && (uid == "" || ms.UID == uid):
			return ms, nil
		case !from.final:
			continue // whatever is wrong with the cache
		case err == nil, apierrors.IsNotFound(err), isBadName(err):
			return nil, errGone
		case meta.IsNoMatchError(err):
			return nil, errGone
		default:
			return nil, fmt.Errorf("get ModelServing %s: %w", key, err)
		}
	}
	return nil, errGone
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

func crdMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	return m
}
