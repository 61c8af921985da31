package route

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// gatewayOf makes Gateway infra/llm with those listeners.
func gatewayOf(listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "llm"},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: "demo", Listeners: listeners},
	}
}

// listenerOf makes an HTTP listener on port 80 for all namespaces.
func listenerOf(name string, change ...func(*gatewayv1.Listener)) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Protocol: gatewayv1.HTTPProtocolType, Port: 80}
	from(gatewayv1.NamespacesFromAll, nil)(&l)
	for _, c := range change {
		c(&l)
	}
	return l
}

func from(f gatewayv1.FromNamespaces, selector map[string]string) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) {
		l.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(f)}}
		if selector != nil {
			l.AllowedRoutes.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: selector}
		}
	}
}

func kinds(k ...gatewayv1.RouteGroupKind) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) { l.AllowedRoutes.Kinds = k }
}

func hostname(h string) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) { l.Hostname = ptr.To(gatewayv1.Hostname(h)) }
}

func protocol(p gatewayv1.ProtocolType, port int32) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) { l.Protocol, l.Port = p, port }
}

var ref = Ref{Namespace: "infra", Name: "llm", SectionName: "http", Host: "llm.example.com"}

func TestResolve(t *testing.T) {
	defaultRoutes := func(l *gatewayv1.Listener) { l.AllowedRoutes = nil }
	tests := map[string]struct {
		ref       *Ref
		gateway   *gatewayv1.Gateway
		namespace string
		labels    map[string]string
		want      Answer
		message   string
	}{
		"a listener for all namespaces resolves": {
			gateway: gatewayOf(listenerOf("http")), want: Resolved,
		},
		"HTTPS resolves": {
			gateway: gatewayOf(listenerOf("http", protocol(gatewayv1.HTTPSProtocolType, 443))), want: Resolved,
		},
		"a ref without host and listener names both": {
			ref: &Ref{Namespace: "infra", Name: "llm"}, gateway: gatewayOf(listenerOf("http")),
			want: IncompleteRef, message: "gatewayRef lacks sectionName, host",
		},
		"a Gateway that is not there": {
			want:    GatewayNotFound,
			message: "Gateway infra/llm does not exist; create it, or correct gatewayRef.name and gatewayRef.namespace",
		},
		"a listener that is not there; those that are are listed": {
			gateway: gatewayOf(listenerOf("web"), listenerOf("tls", protocol(gatewayv1.HTTPSProtocolType, 8443))),
			want:    ListenerNotFound,
			message: `Gateway infra/llm has no listener "http"; it has "web" (HTTP, port 80), "tls" (HTTPS, port 8443)`,
		},
		"a Gateway without listeners": {
			gateway: gatewayOf(), want: ListenerNotFound, message: `Gateway infra/llm has no listener "http"; it has none`,
		},
		"a TCP listener": {
			gateway: gatewayOf(listenerOf("http", protocol(gatewayv1.TCPProtocolType, 9000))),
			want:    ListenerProtocolNotHTTP,
			message: `listener "http" of Gateway infra/llm speaks TCP; an HTTPRoute needs HTTP or HTTPS`,
		},
		"a TLS listener": {
			gateway: gatewayOf(listenerOf("http", protocol(gatewayv1.TLSProtocolType, 443))),
			want:    ListenerProtocolNotHTTP,
			message: `listener "http" of Gateway infra/llm speaks TLS; an HTTPRoute needs HTTP or HTTPS`,
		},
		"allowedRoutes is Same by default, and the namespace is another": {
			gateway: gatewayOf(listenerOf("http", defaultRoutes)), namespace: "team",
			want:    NotAllowedByListener,
			message: `allowedRoutes.namespaces of listener "http" of Gateway infra/llm does not admit namespace "team": it admits its own namespace "infra" only`,
		},
		"allowedRoutes is Same by default, and the namespace is the Gateway's": {
			gateway: gatewayOf(listenerOf("http", defaultRoutes)), namespace: "infra", want: Resolved,
		},
		"a selector that the namespace's labels match": {
			gateway: gatewayOf(listenerOf("http", from(gatewayv1.NamespacesFromSelector, map[string]string{"llm": "yes"}))),
			labels:  map[string]string{"llm": "yes", "team": "a"}, want: Resolved,
		},
		"a selector that the namespace's labels do not match": {
			gateway: gatewayOf(listenerOf("http", from(gatewayv1.NamespacesFromSelector, map[string]string{"llm": "yes"}))),
			want:    NotAllowedByListener,
			message: `allowedRoutes.namespaces of listener "http" of Gateway infra/llm does not admit namespace "team": its selector "llm=yes" does not match the namespace's labels`,
		},
		"from Selector without a selector admits nobody": {
			gateway: gatewayOf(listenerOf("http", from(gatewayv1.NamespacesFromSelector, nil))),
			labels:  map[string]string{"llm": "yes"},
			want:    NotAllowedByListener,
			message: `allowedRoutes.namespaces of listener "http" of Gateway infra/llm does not admit namespace "team": its selector "<none>" does not match the namespace's labels`,
		},
		"from None admits nobody": {
			gateway: gatewayOf(listenerOf("http", from(gatewayv1.NamespacesFromNone, nil))), namespace: "infra",
			want:    NotAllowedByListener,
			message: `allowedRoutes.namespaces of listener "http" of Gateway infra/llm does not admit namespace "infra": it admits from "None"`,
		},
		"kinds without HTTPRoute": {
			gateway: gatewayOf(listenerOf("http", kinds(gatewayv1.RouteGroupKind{Kind: "GRPCRoute"}))),
			want:    NotAllowedByListener,
			message: `allowedRoutes.kinds of listener "http" of Gateway infra/llm does not hold HTTPRoute`,
		},
		"kinds with an HTTPRoute of another group": {
			gateway: gatewayOf(listenerOf("http", kinds(gatewayv1.RouteGroupKind{Group: ptr.To(gatewayv1.Group("x.io")), Kind: "HTTPRoute"}))),
			want:    NotAllowedByListener,
			message: `allowedRoutes.kinds of listener "http" of Gateway infra/llm does not hold HTTPRoute`,
		},
		"kinds with HTTPRoute": {
			gateway: gatewayOf(listenerOf("http", kinds(gatewayv1.RouteGroupKind{Kind: "HTTPRoute"}))), want: Resolved,
		},
		"a host outside the listener's hostname": {
			gateway: gatewayOf(listenerOf("http", hostname("*.other.com"))),
			want:    HostnameMismatch,
			message: `host "llm.example.com" is outside hostname "*.other.com" of listener "http" of Gateway infra/llm`,
		},
		"a host under the listener's wildcard": {
			gateway: gatewayOf(listenerOf("http", hostname("*.example.com"))), want: Resolved,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, ns := ref, tc.namespace
			if tc.ref != nil {
				r = *tc.ref
			}
			if ns == "" {
				ns = "team"
			}
			got := Resolve(r, tc.gateway, ns, tc.labels)
			want := Resolution{Answer: tc.want, Message: tc.message}
			if tc.gateway != nil && tc.want != IncompleteRef && tc.want != ListenerNotFound {
				want.Listener = &tc.gateway.Spec.Listeners[0]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Resolve (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostsIntersect(t *testing.T) {
	tests := map[string]struct {
		listener, host string
		want           bool
	}{
		"a listener without hostname takes every host":            {"", "a.x", true},
		"a listener without hostname takes every wildcard":        {"", "*.x", true},
		"the same exact host":                                     {"a.x", "a.x", true},
		"case does not count":                                     {"A.x", "a.X", true},
		"another exact host":                                      {"a.x", "b.x", false},
		"a wildcard takes one label":                              {"*.x", "a.x", true},
		"a wildcard takes several labels":                         {"*.x", "a.b.x", true},
		"a wildcard never takes its own base":                     {"*.x", "x", false},
		"a wildcard wants a whole label":                          {"*.b.x", "ab.x", false},
		"a wildcard route meets an exact listener":                {"a.x", "*.x", true},
		"a wildcard route never meets its own base":               {"x", "*.x", false},
		"the same wildcard":                                       {"*.x", "*.x", true},
		"a narrower wildcard route":                               {"*.x", "*.a.x", true},
		"a wider wildcard route":                                  {"*.a.x", "*.x", true},
		"wildcards side by side":                                  {"*.a.x", "*.b.x", false},
		"wildcards whose labels only end alike":                   {"*.bx.y", "*.x.y", false},
		"an exact host that only ends like the wildcard's suffix": {"*.example.com", "badexample.com", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HostsIntersect(tc.listener, tc.host); got != tc.want {
				t.Errorf("HostsIntersect(%q, %q) = %t, want %t", tc.listener, tc.host, got, tc.want)
			}
		})
	}
}
