package route

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestDecide(t *testing.T) {
	type result struct {
		Writes  [][]string
		Status  metav1.ConditionStatus
		Reason  string
		Message string
		Address string
		Route   string
		Requeue time.Duration
	}
	notFound := "Gateway infra/llm does not exist; create it, or correct gatewayRef.name and gatewayRef.namespace"
	noObjects := func(in *Input) { in.Service, in.HTTPRoute = nil, nil }
	noRef := func(in *Input) { in.Ref = nil }
	noGateway := func(in *Input) { in.Gateway = nil }
	listener := func(l gatewayv1.Listener) func(*Input) {
		return func(in *Input) { in.Gateway = gatewayOf(l) }
	}
	parents := func(p ...gatewayv1.RouteParentStatus) func(*Input) {
		return func(in *Input) { in.HTTPRoute.Status.Parents = p }
	}
	claims := func(c ...Claim) func(*Input) { return func(in *Input) { in.Claims = c } }
	routeOwner := func(by *metav1.OwnerReference) func(*Input) {
		return func(in *Input) { in.HTTPRoute.OwnerReferences = owned(by) }
	}
	serviceOwner := func(by *metav1.OwnerReference) func(*Input) {
		return func(in *Input) { in.Service.OwnerReferences = owned(by) }
	}
	accepted := result{
		Status: metav1.ConditionTrue, Reason: "RouteAccepted", Message: `accepted by Gateway controller "example.com/a"`,
		Address: "http://llm.example.com", Route: "qwen",
	}
	with := func(r result, change func(*result)) result { change(&r); return r }
	waits := func(message string, writes ...[]string) result {
		return result{Writes: writes, Status: metav1.ConditionFalse, Reason: "WaitingForGatewayController", Message: message, Route: "qwen"}
	}
	hostConflict := result{
		Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "HostConflict",
		Message: `host "llm.example.com" on listener "http" of Gateway infra/llm is claimed by the older VLLMService other/elder; choose another host or listener`,
	}
	yesterday, tomorrow := metav1.NewTime(epoch.Add(-24*time.Hour)), metav1.NewTime(epoch.Add(24*time.Hour))

	tests := map[string]struct {
		in   Input
		want result
	}{
		"everything is in place: no write": {in: inputOf(), want: accepted},
		"first pass: the Service comes before the HTTPRoute": {
			in:   inputOf(noObjects),
			want: waits("the HTTPRoute is new; no Gateway controller has spoken about it yet", []string{"Create Service/qwen"}, []string{"Create HTTPRoute/qwen"}),
		},
		"no gatewayRef and nothing there: nothing to do": {in: inputOf(noObjects, noRef)},
		"gatewayRef removed: HTTPRoute, then Service, go": {
			in: inputOf(noRef), want: result{Writes: [][]string{{"Delete HTTPRoute/qwen"}, {"Delete Service/qwen"}}},
		},
		"gatewayRef removed, and the Service outlives it for a VLLMService": {
			in:   inputOf(noRef, func(in *Input) { in.Backend.Managed = false }),
			want: result{Writes: [][]string{{"Delete HTTPRoute/qwen"}}},
		},
		"gatewayRef removed: a stranger's objects stay": {in: inputOf(noRef, routeOwner(stranger), serviceOwner(nil))},
		"gatewayRef removed: objects that are going are not deleted again": {
			in: inputOf(noRef, func(in *Input) {
				in.HTTPRoute.DeletionTimestamp, in.Service.DeletionTimestamp = &epoch, &epoch
			}),
		},
		"the Gateway API is missing: the Service waits for it": {
			in: inputOf(noObjects, noGateway, func(in *Input) { in.Installed = false }),
			want: result{
				Writes: [][]string{{"Create Service/qwen"}}, Status: metav1.ConditionFalse, Reason: "GatewayAPINotInstalled",
				Message: "the cluster does not serve Gateway and HTTPRoute of gateway.networking.k8s.io/v1; install the Gateway API's CRDs, or remove gatewayRef",
			},
		},
		"the Gateway is missing: our HTTPRoute goes, and it is looked for again after a minute": {
			in:   inputOf(noGateway),
			want: result{Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "GatewayNotFound", Message: notFound, Requeue: time.Minute},
		},
		"the Gateway is missing from the start: only the Service is made": {
			in:   inputOf(noObjects, noGateway),
			want: result{Writes: [][]string{{"Create Service/qwen"}}, Status: metav1.ConditionFalse, Reason: "GatewayNotFound", Message: notFound, Requeue: time.Minute},
		},
		"the listener was renamed: our HTTPRoute goes": {
			in: inputOf(listener(listenerOf("web"))),
			want: result{
				Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "ListenerNotFound",
				Message: `Gateway infra/llm has no listener "http"; it has "web" (HTTP, port 80)`, Requeue: time.Minute,
			},
		},
		"the protocol became TCP: our HTTPRoute goes, and only an event brings us back": {
			in: inputOf(listener(listenerOf("http", protocol(gatewayv1.TCPProtocolType, 9000)))),
			want: result{
				Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "ListenerProtocolNotHTTP",
				Message: `listener "http" of Gateway infra/llm speaks TCP; an HTTPRoute needs HTTP or HTTPS`,
			},
		},
		"allowedRoutes does not admit us: the HTTPRoute is made all the same": {
			in: inputOf(listener(listenerOf("http", from(gatewayv1.NamespacesFromSame, nil))), func(in *Input) { in.HTTPRoute = nil }),
			want: result{
				Writes: [][]string{{"Create HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "NotAllowedByListener", Route: "qwen",
				Message: `allowedRoutes.namespaces of listener "http" of Gateway infra/llm does not admit namespace "team": it admits its own namespace "infra" only`,
			},
		},
		"the host is outside the listener's: the HTTPRoute is kept": {
			in: inputOf(listener(listenerOf("http", hostname("*.other.com")))),
			want: result{
				Status: metav1.ConditionFalse, Reason: "HostnameMismatch", Route: "qwen",
				Message: `host "llm.example.com" is outside hostname "*.other.com" of listener "http" of Gateway infra/llm`,
			},
		},
		"a Gateway whose namespace is not watched is looked at every minute": {
			in:   inputOf(func(in *Input) { in.Unwatched = true }),
			want: with(accepted, func(r *result) { r.Requeue = time.Minute }),
		},
		"a ref that admission would have refused": {
			in: inputOf(func(in *Input) { in.Ref.Host = "" }),
			want: result{
				Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "InvalidSpec",
				Message: "gatewayRef lacks host",
			},
		},

		"a role that does not exist, which admission would have refused": {
			in: inputOf(gatewayRole("encode")),
			want: result{
				Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "InvalidSpec",
				Message: `gatewayRef.role "encode" is not a role of the ModelServing; name one of "decode", or leave it out for the first role`,
			},
		},

		"HTTPS on its usual port":      {in: inputOf(listener(listenerOf("http", protocol(gatewayv1.HTTPSProtocolType, 443)))), want: with(accepted, func(r *result) { r.Address = "https://llm.example.com" })},
		"HTTPS on another port":        {in: inputOf(listener(listenerOf("http", protocol(gatewayv1.HTTPSProtocolType, 8443)))), want: with(accepted, func(r *result) { r.Address = "https://llm.example.com:8443" })},
		"HTTP on the usual HTTPS port": {in: inputOf(listener(listenerOf("http", protocol(gatewayv1.HTTPProtocolType, 443)))), want: with(accepted, func(r *result) { r.Address = "http://llm.example.com:443" })},

		"an HTTPRoute of a stranger is left alone, and our Service stays": {
			in: inputOf(routeOwner(stranger)),
			want: result{
				Status: metav1.ConditionFalse, Reason: "NameConflict", Requeue: time.Minute,
				Message: `HTTPRoute "qwen" exists and belongs to Deployment "web"; it is left alone: delete it, or give the ModelServing another name`,
			},
		},
		"an HTTPRoute of nobody is left alone": {
			in: inputOf(routeOwner(nil)),
			want: result{
				Status: metav1.ConditionFalse, Reason: "NameConflict", Requeue: time.Minute,
				Message: `HTTPRoute "qwen" exists and has no controller; it is left alone: delete it, or give the ModelServing another name`,
			},
		},
		"an HTTPRoute of an earlier ModelServing of that name is left alone": {
			in: inputOf(routeOwner(&metav1.OwnerReference{Kind: "ModelServing", Name: "qwen", UID: "older", Controller: ptr.To(true)})),
			want: result{
				Status: metav1.ConditionFalse, Reason: "NameConflict", Requeue: time.Minute,
				Message: `HTTPRoute "qwen" exists and belongs to ModelServing "qwen" of an earlier time; it is left alone: delete it, or give the ModelServing another name`,
			},
		},
		"a Service of a stranger is left alone, and no HTTPRoute of ours leads to it": {
			in: inputOf(serviceOwner(stranger)),
			want: result{
				Writes: [][]string{{"Delete HTTPRoute/qwen"}}, Status: metav1.ConditionFalse, Reason: "NameConflict", Requeue: time.Minute,
				Message: `Service "qwen" exists and belongs to Deployment "web"; it is left alone: delete it, or give the ModelServing another name`,
			},
		},
		"an HTTPRoute that is still being deleted is waited for": {
			in:   inputOf(func(in *Input) { in.HTTPRoute.DeletionTimestamp = &epoch }),
			want: waits("the earlier HTTPRoute is still being deleted"),
		},

		"an HTTPRoute that was edited is put right, and old words about it do not count": {
			in:   inputOf(func(in *Input) { in.HTTPRoute.Spec.Hostnames[0] = "evil.example.com" }),
			want: waits("the HTTPRoute has changed; no Gateway controller has spoken about the change yet", []string{"Update HTTPRoute/qwen"}),
		},
		"a timeout that was added by hand goes": {
			in: inputOf(func(in *Input) {
				in.HTTPRoute.Spec.Rules[0].Timeouts = &gatewayv1.HTTPRouteTimeouts{Request: ptr.To(gatewayv1.Duration("1s"))}
			}),
			want: waits("the HTTPRoute has changed; no Gateway controller has spoken about the change yet", []string{"Update HTTPRoute/qwen"}),
		},
		"a label of ours that was removed comes back without a word about the route": {
			in:   inputOf(func(in *Input) { in.HTTPRoute.Labels = nil }),
			want: with(accepted, func(r *result) { r.Writes = [][]string{{"Update HTTPRoute/qwen"}} }),
		},
		"labels and annotations of others stay": {
			in: inputOf(func(in *Input) {
				in.HTTPRoute.Labels["team"], in.Service.Labels["team"] = "a", "a"
				in.HTTPRoute.Annotations = map[string]string{"note": "x"}
			}),
			want: accepted,
		},
		"a Service whose selector was edited is put right": {
			in:   inputOf(func(in *Input) { in.Service.Spec.Selector["x"] = "y" }),
			want: with(accepted, func(r *result) { r.Writes = [][]string{{"Update Service/qwen"}} }),
		},
		"a Service that is going is left alone, whatever it is like": {
			in: inputOf(func(in *Input) {
				in.Service.DeletionTimestamp = &epoch
				in.Service.Spec.Selector["x"] = "y"
			}),
			want: accepted,
		},
		"what the network gives a Service is not ours": {
			in: inputOf(func(in *Input) {
				in.Service.Spec.ClusterIP, in.Service.Spec.ClusterIPs = "10.0.0.1", []string{"10.0.0.1"}
				in.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
				in.Service.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
			}),
			want: accepted,
		},

		"nobody has spoken yet": {
			in: inputOf(parents()), want: waits(`no Gateway controller has spoken about HTTPRoute "qwen" yet`),
		},
		"only about another listener": {
			in: inputOf(func(in *Input) {
				in.HTTPRoute.Status.Parents[0].ParentRef.SectionName = ptr.To(gatewayv1.SectionName("https"))
			}),
			want: waits(`no Gateway controller has spoken about HTTPRoute "qwen" yet`),
		},
		"only about a Gateway of that name in our own namespace": {
			in:   inputOf(func(in *Input) { in.HTTPRoute.Status.Parents[0].ParentRef.Namespace = nil }),
			want: waits(`no Gateway controller has spoken about HTTPRoute "qwen" yet`),
		},
		"only about another kind of parent": {
			in: inputOf(func(in *Input) {
				in.HTTPRoute.Status.Parents[0].ParentRef.Kind = ptr.To(gatewayv1.Kind("Service"))
			}),
			want: waits(`no Gateway controller has spoken about HTTPRoute "qwen" yet`),
		},
		"only about a parent of another API group": {
			in: inputOf(func(in *Input) {
				in.HTTPRoute.Status.Parents[0].ParentRef.Group = ptr.To(gatewayv1.Group("example.com"))
			}),
			want: waits(`no Gateway controller has spoken about HTTPRoute "qwen" yet`),
		},
		"only about a Gateway of another name": {
			in:   inputOf(func(in *Input) { in.HTTPRoute.Status.Parents[0].ParentRef.Name = "other" }),
			want: waits(`no Gateway controller has spoken about HTTPRoute "qwen" yet`),
		},
		"words about an older generation do not count": {
			in:   inputOf(parents(parentOf("example.com/a", 2, true, true))),
			want: waits(`Gateway controller "example.com/a" speaks of generation 2 of the HTTPRoute; generation 3 is current`),
		},
		"not accepted, in the controller's words": {
			in: inputOf(parents(parentOf("example.com/a", 3, false, true))),
			want: result{
				Status: metav1.ConditionFalse, Reason: "RouteNotAccepted", Route: "qwen",
				Message: `Gateway controller "example.com/a" says Accepted is False (NoMatchingListenerHostname): so it is`,
			},
		},
		"backend not resolved, in the controller's words": {
			in: inputOf(parents(parentOf("example.com/a", 3, true, false))),
			want: result{
				Status: metav1.ConditionFalse, Reason: "BackendNotResolved", Route: "qwen",
				Message: `Gateway controller "example.com/a" says ResolvedRefs is False (BackendNotFound): so it is`,
			},
		},
		"accepted, and nothing said about backends": {
			in: inputOf(func(in *Input) {
				in.HTTPRoute.Status.Parents[0].Conditions = in.HTTPRoute.Status.Parents[0].Conditions[:1]
			}),
			want: waits(`Gateway controller "example.com/a" has not said whether the route is ResolvedRefs`),
		},
		"accepted is unknown": {
			in: inputOf(func(in *Input) {
				c := &in.HTTPRoute.Status.Parents[0].Conditions[0]
				c.Status, c.Reason = metav1.ConditionUnknown, "Pending"
			}),
			want: waits(`Gateway controller "example.com/a" says Accepted is Unknown (Pending)`),
		},
		"of two controllers without a known class one that accepts is enough": {
			in:   inputOf(parents(parentOf("example.com/z", 3, false, true), parentOf("example.com/a", 3, true, true))),
			want: accepted,
		},
		"of two controllers the class's counts, though the other accepts": {
			in: inputOf(parents(parentOf("example.com/a", 3, true, true), parentOf("example.com/b", 3, false, true)),
				func(in *Input) { in.ControllerName = "example.com/b" }),
			want: result{
				Status: metav1.ConditionFalse, Reason: "RouteNotAccepted", Route: "qwen",
				Message: `Gateway controller "example.com/b" says Accepted is False (NoMatchingListenerHostname): so it is`,
			},
		},
		"the class's controller is silent, though another accepts": {
			in:   inputOf(func(in *Input) { in.ControllerName = "example.com/b" }),
			want: waits(`Gateway controller "example.com/b" has not spoken about HTTPRoute "qwen" yet`),
		},
		"of two controllers that refuse the first by name is repeated": {
			in: inputOf(parents(parentOf("example.com/z", 3, true, false), parentOf("example.com/b", 3, false, true))),
			want: result{
				Status: metav1.ConditionFalse, Reason: "RouteNotAccepted", Route: "qwen",
				Message: `Gateway controller "example.com/b" says Accepted is False (NoMatchingListenerHostname): so it is`,
			},
		},

		"an older object keeps the host, and our HTTPRoute goes": {in: inputOf(claims(claimBy("elder", yesterday))), want: hostConflict},
		"the oldest of several is named": {
			in:   inputOf(claims(claimBy("middle", metav1.NewTime(epoch.Add(-time.Hour))), claimBy("elder", yesterday))),
			want: hostConflict,
		},
		"a younger object does not count": {in: inputOf(claims(claimBy("younger", tomorrow))), want: accepted},
		"of one age, the first by namespace keeps it": {
			in: inputOf(claims(claimBy("elder", epoch))), want: hostConflict,
		},
		"of one age, the last by namespace does not": {
			in: inputOf(claims(claimBy("elder", epoch, func(c *Claim) { c.Owner.Namespace = "zoo" }))), want: accepted,
		},
		"of one age and namespace, the first by name keeps it": {
			in: inputOf(claims(claimBy("elder", epoch, func(c *Claim) { c.Owner.Namespace = "team" }))),
			want: with(hostConflict, func(r *result) {
				r.Message = `host "llm.example.com" on listener "http" of Gateway infra/llm is claimed by the older VLLMService team/elder; choose another host or listener`
			}),
		},
		"of one age and namespace, the last by name does not": {
			in: inputOf(claims(claimBy("zoo", epoch, func(c *Claim) { c.Owner.Namespace = "team" }))), want: accepted,
		},
		"of one age, namespace and name, the first by kind keeps it": {
			in: inputOf(claims(claimBy("qwen", epoch, func(c *Claim) { c.Owner.Namespace = "team" }))), want: accepted,
		},
		"another host on the listener": {
			in: inputOf(claims(claimBy("elder", yesterday, func(c *Claim) { c.Ref.Host = "x.example.com" }))), want: accepted,
		},
		"the same host on another listener": {
			in: inputOf(claims(claimBy("elder", yesterday, func(c *Claim) { c.Ref.SectionName = "https" }))), want: accepted,
		},
		"an older object whose namespace the listener does not admit": {
			in: inputOf(
				listener(listenerOf("http", from(gatewayv1.NamespacesFromSelector, map[string]string{"llm": "yes"}))),
				func(in *Input) { in.NamespaceLabels = map[string]string{"llm": "yes"} },
				claims(claimBy("elder", yesterday)),
			),
			want: accepted,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			out := Decide(tc.in)
			got := result{Writes: written(out), Address: out.Address, Route: out.RouteName, Requeue: out.RequeueAfter}
			if c := out.Condition; c != nil {
				got.Status, got.Reason, got.Message = c.Status, c.Reason, c.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}
