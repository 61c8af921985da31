package route

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// What a gatewayRef can resolve to.
const (
	// Resolved: an HTTPRoute can be written; whether it is accepted is the Gateway controller's say.
	Resolved Answer = "Resolved"
	// IncompleteRef: name, sectionName or host is missing. Admission refuses it.
	IncompleteRef Answer = workloadv1alpha1.ReasonInvalidSpec
	// GatewayAPINotInstalled: the cluster serves no Gateways or no HTTPRoutes.
	GatewayAPINotInstalled Answer = workloadv1alpha1.ReasonGatewayAPINotInstalled
	// GatewayNotFound: the Gateway does not exist.
	GatewayNotFound Answer = workloadv1alpha1.ReasonGatewayNotFound
	// ListenerNotFound: the Gateway has no listener of that name.
	ListenerNotFound Answer = workloadv1alpha1.ReasonListenerNotFound
	// ListenerProtocolNotHTTP: the listener speaks neither HTTP nor HTTPS.
	ListenerProtocolNotHTTP Answer = workloadv1alpha1.ReasonListenerProtocolNotHTTP
	// NotAllowedByListener: allowedRoutes do not admit the namespace or HTTPRoutes.
	NotAllowedByListener Answer = workloadv1alpha1.ReasonNotAllowedByListener
	// HostnameMismatch: the host is outside the listener's hostname.
	HostnameMismatch Answer = workloadv1alpha1.ReasonHostnameMismatch
)

// NotInstalled is the resolution of every ref on a cluster without the Gateway API.
func NotInstalled() Resolution {
	return Resolution{
		Answer: GatewayAPINotInstalled,
		Message: "the cluster does not serve Gateway and HTTPRoute of gateway.networking.k8s.io/v1; " +
			"install the Gateway API's CRDs, or remove gatewayRef",
	}
}

// Resolve judges ref against the Gateway that it names (nil when there is none), for an
// HTTPRoute in routeNamespace, whose labels are namespaceLabels. The first rule that is broken
// is the answer.
func Resolve(ref Ref, gateway *gatewayv1.Gateway, routeNamespace string, namespaceLabels map[string]string) Resolution {
	if missing := missingFields(ref); missing != "" {
		return Resolution{Answer: IncompleteRef, Message: "gatewayRef lacks " + missing}
	}
	if gateway == nil {
		return Resolution{
			Answer: GatewayNotFound,
			Message: fmt.Sprintf("Gateway %s/%s does not exist; create it, or correct gatewayRef.name and gatewayRef.namespace",
				ref.Namespace, ref.Name),
		}
	}
	listener := findListener(gateway, ref.SectionName)
	if listener == nil {
		return Resolution{
			Answer: ListenerNotFound,
			Message: fmt.Sprintf("Gateway %s/%s has no listener %q; %s",
				ref.Namespace, ref.Name, ref.SectionName, describeListeners(gateway)),
		}
	}
	r := Resolution{Answer: Resolved, Listener: listener}
	switch {
	case !speaksHTTP(listener):
		r.Answer = ListenerProtocolNotHTTP
		r.Message = fmt.Sprintf("listener %q of Gateway %s/%s speaks %s; an HTTPRoute needs HTTP or HTTPS",
			listener.Name, ref.Namespace, ref.Name, listener.Protocol)
	case !allowsHTTPRoutes(listener):
		r.Answer = NotAllowedByListener
		r.Message = fmt.Sprintf("allowedRoutes.kinds of listener %q of Gateway %s/%s does not hold HTTPRoute",
			listener.Name, ref.Namespace, ref.Name)
	default:
		if why := refusesNamespace(listener, ref.Namespace, routeNamespace, namespaceLabels); why != "" {
			r.Answer = NotAllowedByListener
			r.Message = fmt.Sprintf("allowedRoutes.namespaces of listener %q of Gateway %s/%s does not admit namespace %q: %s",
				listener.Name, ref.Namespace, ref.Name, routeNamespace, why)
		} else if pattern := listenerHostname(listener); !HostsIntersect(pattern, ref.Host) {
			r.Answer = HostnameMismatch
			r.Message = fmt.Sprintf("host %q is outside hostname %q of listener %q of Gateway %s/%s",
				ref.Host, pattern, listener.Name, ref.Namespace, ref.Name)
		}
	}
	return r
}

func missingFields(ref Ref) string {
	var missing []string
	for _, f := range []struct{ name, value string }{
		{"name", ref.Name}, {"sectionName", ref.SectionName}, {"host", ref.Host},
	} {
		if f.value == "" {
			missing = append(missing, f.name)
		}
	}
	return strings.Join(missing, ", ")
}

func findListener(gateway *gatewayv1.Gateway, name string) *gatewayv1.Listener {
	for i := range gateway.Spec.Listeners {
		if string(gateway.Spec.Listeners[i].Name) == name {
			return &gateway.Spec.Listeners[i]
		}
	}
	return nil
}

func describeListeners(gateway *gatewayv1.Gateway) string {
	if len(gateway.Spec.Listeners) == 0 {
		return "it has none"
	}
	described := make([]string, 0, len(gateway.Spec.Listeners))
	for _, l := range gateway.Spec.Listeners {
		described = append(described, fmt.Sprintf("%q (%s, port %d)", l.Name, l.Protocol, l.Port))
	}
	return "it has " + strings.Join(described, ", ")
}

func speaksHTTP(l *gatewayv1.Listener) bool {
	return l.Protocol == gatewayv1.HTTPProtocolType || l.Protocol == gatewayv1.HTTPSProtocolType
}

func allowsHTTPRoutes(l *gatewayv1.Listener) bool {
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		return true // the protocol's own kinds: HTTPRoute is among them
	}
	for _, k := range l.AllowedRoutes.Kinds {
		if k.Kind == kindHTTPRoute && (k.Group == nil || *k.Group == gatewayv1.GroupName) {
			return true
		}
	}
	return false
}

// refusesNamespace says why a namespace is not admitted; empty when it is.
func refusesNamespace(l *gatewayv1.Listener, gatewayNamespace, namespace string, namespaceLabels map[string]string) string {
	from := gatewayv1.NamespacesFromSame // the API's default
	var selector *metav1.LabelSelector
	if l.AllowedRoutes != nil && l.AllowedRoutes.Namespaces != nil {
		if f := l.AllowedRoutes.Namespaces.From; f != nil {
			from = *f
		}
		selector = l.AllowedRoutes.Namespaces.Selector
	}
	switch from {
	case gatewayv1.NamespacesFromAll:
		return ""
	case gatewayv1.NamespacesFromSame:
		if namespace == gatewayNamespace {
			return ""
		}
		return fmt.Sprintf("it admits its own namespace %q only", gatewayNamespace)
	case gatewayv1.NamespacesFromSelector:
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return fmt.Sprintf("its selector is invalid: %v", err)
		}
		if s.Matches(labels.Set(namespaceLabels)) {
			return ""
		}
		return fmt.Sprintf("its selector %q does not match the namespace's labels", metav1.FormatLabelSelector(selector))
	default:
		return fmt.Sprintf("it admits from %q", from)
	}
}

func listenerHostname(l *gatewayv1.Listener) string {
	if l.Hostname == nil {
		return ""
	}
	return string(*l.Hostname)
}

// HostsIntersect is true when some host name matches both the listener's hostname (empty means
// all) and the route's host. A leading "*." stands for one or more labels, never for none
// (Gateway API, HTTPRouteSpec.hostnames).
func HostsIntersect(listener, host string) bool {
	listener, host = strings.ToLower(listener), strings.ToLower(host)
	if listener == "" || listener == host {
		return true
	}
	listenerSuffix, listenerWild := wildcardSuffix(listener)
	hostSuffix, hostWild := wildcardSuffix(host)
	switch {
	case listenerWild && hostWild:
		return strings.HasSuffix(hostSuffix, listenerSuffix) || strings.HasSuffix(listenerSuffix, hostSuffix)
	case listenerWild:
		return strings.HasSuffix(host, listenerSuffix)
	case hostWild:
		return strings.HasSuffix(listener, hostSuffix)
	default:
		return false
	}
}

// wildcardSuffix is ".example.com" of "*.example.com".
func wildcardSuffix(host string) (string, bool) {
	rest, ok := strings.CutPrefix(host, "*")
	return rest, ok && strings.HasPrefix(rest, ".")
}
