package route

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gangway-serving/gangway/plan/names"
)

const (
	kindHTTPRoute = "HTTPRoute"
	kindGateway   = "Gateway"
	kindService   = "Service"
)

// Service is the Service that in wants. Every field that the API server defaults is there,
// except those that depend on the cluster's network: the IPs and their families.
func Service(in Input) *corev1.Service {
	svc := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kindService},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Owner.Namespace,
			Name:      names.Service(in.Owner.Name),
		},
	}
	setServiceSpec(&svc.Spec, in.Backend)
	in.Owner.Stamp(svc, in.Labels, in.UserLabels)
	return svc
}

// setServiceSpec writes the fields of a Service that are ours and leaves the network's alone.
func setServiceSpec(spec *corev1.ServiceSpec, b Backend) {
	spec.Type = corev1.ServiceTypeClusterIP
	spec.Selector = maps.Clone(b.Selector)
	spec.SessionAffinity = corev1.ServiceAffinityNone
	spec.SessionAffinityConfig = nil
	spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	spec.PublishNotReadyAddresses = false
	spec.ExternalName = ""
	spec.ExternalIPs = nil
	spec.TrafficDistribution = nil
	// What belongs to the types NodePort and LoadBalancer, should somebody have changed the type.
	spec.ExternalTrafficPolicy = ""
	spec.AllocateLoadBalancerNodePorts = nil
	spec.HealthCheckNodePort = 0
	spec.LoadBalancerClass = nil
	spec.LoadBalancerIP = "" //nolint:staticcheck // cleared because a Service changed by hand may hold it
	spec.LoadBalancerSourceRanges = nil
	spec.Ports = []corev1.ServicePort{{
		Name:       names.PortHTTP,
		Protocol:   corev1.ProtocolTCP,
		Port:       b.Port,
		TargetPort: intstr.FromInt32(b.Port),
	}}
}

// ServiceUpdate is the owned Service with what is ours put right; changed is false when nothing
// was wrong.
func ServiceUpdate(in Input, current *corev1.Service) (updated *corev1.Service, changed bool) {
	updated = current.DeepCopy()
	setServiceSpec(&updated.Spec, in.Backend)
	in.Owner.Stamp(updated, in.Labels, in.UserLabels)
	return updated, !equality.Semantic.DeepEqual(current, updated)
}

// HTTPRoute is the route that in wants. Every field that the CRD defaults is there; timeouts and
// retries are the Gateway's affair and left out.
func HTTPRoute(in Input) *gatewayv1.HTTPRoute {
	r := &gatewayv1.HTTPRoute{
		TypeMeta: metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: kindHTTPRoute},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Owner.Namespace,
			Name:      names.HTTPRoute(in.Owner.Name),
		},
		Spec: httpRouteSpec(in),
	}
	in.Owner.Stamp(r, in.Labels, in.UserLabels)
	return r
}

func httpRouteSpec(in Input) gatewayv1.HTTPRouteSpec {
	return gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{
			ParentRefs: []gatewayv1.ParentReference{{
				Group:       ptr.To(gatewayv1.Group(gatewayv1.GroupName)),
				Kind:        ptr.To(gatewayv1.Kind(kindGateway)),
				Namespace:   ptr.To(gatewayv1.Namespace(in.Ref.Namespace)),
				Name:        gatewayv1.ObjectName(in.Ref.Name),
				SectionName: ptr.To(gatewayv1.SectionName(in.Ref.SectionName)),
			}},
		},
		Hostnames: []gatewayv1.Hostname{gatewayv1.Hostname(in.Ref.Host)},
		Rules: []gatewayv1.HTTPRouteRule{{
			Matches: []gatewayv1.HTTPRouteMatch{{
				Path: &gatewayv1.HTTPPathMatch{
					Type:  ptr.To(gatewayv1.PathMatchPathPrefix),
					Value: ptr.To("/"),
				},
			}},
			BackendRefs: []gatewayv1.HTTPBackendRef{{
				BackendRef: gatewayv1.BackendRef{
					BackendObjectReference: gatewayv1.BackendObjectReference{
						Group: ptr.To(gatewayv1.Group("")),
						Kind:  ptr.To(gatewayv1.Kind(kindService)),
						Name:  gatewayv1.ObjectName(names.Service(in.Owner.Name)),
						Port:  ptr.To(in.Backend.Port),
					},
					Weight: ptr.To[int32](1),
				},
			}},
		}},
	}
}

// httpRouteUpdate is the owned HTTPRoute with what is ours put right.
func httpRouteUpdate(in Input, current *gatewayv1.HTTPRoute) (updated *gatewayv1.HTTPRoute, changed, specChanged bool) {
	updated = current.DeepCopy()
	updated.Spec = httpRouteSpec(in)
	in.Owner.Stamp(updated, in.Labels, in.UserLabels)
	return updated, !equality.Semantic.DeepEqual(current, updated), !equality.Semantic.DeepEqual(current.Spec, updated.Spec)
}
