package gateway

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

const gatewayName = "llm-gateway"

func makeGateway(namespace string, listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: gatewayName},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: className, Listeners: listeners},
	}
}

func refTo(host string) *ref { return &ref{name: gatewayName, section: "http", host: host} }

// hostOf makes a host name that no other test uses: all Gateways share one port.
func hostOf(namespace, name string) string { return name + "." + namespace + ".example.local" }

// Without Gangway: what fails here is the bed's fault.
func TestHandWrittenRoute(t *testing.T) {
	ns := namespace(t, nil)
	labels := map[string]string{"app": "plain"}
	host := hostOf(ns, "plain")
	create(t,
		makeGateway(ns, listener(nil)),
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain"},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{vllm("plain")}},
				},
			},
		},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain"},
			Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8000}}},
		},
		&gatewayv1.HTTPRoute{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain"},
			Spec: gatewayv1.HTTPRouteSpec{
				CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: gatewayName}}},
				Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(host)},
				Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
					BackendObjectReference: gatewayv1.BackendObjectReference{Name: "plain", Port: ptr.To[gatewayv1.PortNumber](8000)},
				}}}}},
			},
		},
	)
	waitServes(t, web(nil), hostURL(host), "plain")
}

func TestAddressAnswers(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		s := build(t, ns, "llm", refTo(host))
		create(t, makeGateway(ns, listener(nil)), s.Object)
		address := s.waitReady(t)
		if want := fmt.Sprintf("http://%s:%d", host, httpPort); address != want {
			t.Fatalf("address %q, want %q", address, want)
		}
		c := web(nil)
		waitServes(t, c, address, "llm")

		r, err := ask(t.Context(), c, http.MethodGet, address+"/health", "")
		if err != nil || r.code != http.StatusOK {
			t.Errorf("/health: %d, %v", r.code, err)
		}
		r, err = ask(t.Context(), c, http.MethodPost, address+"/v1/chat/completions", chat("llm", "all aboard", true))
		if err != nil || r.code != http.StatusOK {
			t.Fatalf("/v1/chat/completions: %d, %v", r.code, err)
		}
		if got := streamed(t, r.body); got != "all aboard" {
			t.Errorf("the stream says %q, want %q", got, "all aboard")
		}
		for _, wrong := range []string{"other." + host, "llm.example.local", "127.0.0.1"} {
			if r, err := ask(t.Context(), c, http.MethodGet, hostURL(wrong)+"/v1/models", ""); err != nil || r.code != http.StatusNotFound {
				t.Errorf("host %s: %d, %v; want 404", wrong, r.code, err)
			}
		}

		// Gone with its owner.
		remove(t, s.Object)
		waitNotFound(t, host)
		s.waitRoute(t, false)
	})
}

func TestGatewayRefRemovedAndAdded(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host, second := hostOf(ns, "llm"), hostOf(ns, "second")
		s := build(t, ns, "llm", refTo(host))
		create(t, makeGateway(ns, listener(nil)), s.Object)
		waitServes(t, web(nil), s.waitReady(t), "llm")

		s.reroute(t, nil)
		waitNotFound(t, host)
		s.waitRoute(t, false)

		s.reroute(t, refTo(second))
		waitServes(t, web(nil), s.waitReady(t), "llm")
		waitNotFound(t, host)
	})
}

func TestGatewayRefMovedToAnotherGateway(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		from, to := makeGateway(ns, listener(nil)), makeGateway(ns, listener(nil))
		to.Name = "second-gateway"
		s := build(t, ns, "llm", refTo(host))
		create(t, from, to, s.Object)
		waitServes(t, web(nil), s.waitReady(t), "llm")

		s.reroute(t, &ref{name: to.Name, section: "http", host: host})
		s.waitReady(t)
		remove(t, from)
		waitServes(t, web(nil), s.waitReady(t), "llm")
		remove(t, to)
		s.waitRefused(t, workloadv1alpha1.ReasonGatewayNotFound)
		waitNotFound(t, host)
	})
}

func TestListenerRemovedAndBack(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		s, g := build(t, ns, "llm", refTo(host)), makeGateway(ns, listener(nil))
		create(t, g, s.Object)
		waitServes(t, web(nil), s.waitReady(t), "llm")

		edit(t, g, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Name = "renamed" })
		s.waitRefused(t, workloadv1alpha1.ReasonListenerNotFound)
		s.waitRoute(t, false)
		waitNotFound(t, host)

		edit(t, g, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Name = "http" })
		waitServes(t, web(nil), s.waitReady(t), "llm")

		edit(t, g, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Protocol = gatewayv1.TCPProtocolType })
		s.waitRefused(t, workloadv1alpha1.ReasonListenerProtocolNotHTTP)
		s.waitRoute(t, false)

		edit(t, g, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Protocol = gatewayv1.HTTPProtocolType })
		waitServes(t, web(nil), s.waitReady(t), "llm")
	})
}

func TestGatewayDeletedAndRecreated(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		s := build(t, ns, "llm", refTo(host))
		create(t, s.Object)
		s.waitRefused(t, workloadv1alpha1.ReasonGatewayNotFound)
		s.waitRoute(t, false)

		g := makeGateway(ns, listener(nil))
		create(t, g)
		waitServes(t, web(nil), s.waitReady(t), "llm")

		remove(t, g)
		s.waitRefused(t, workloadv1alpha1.ReasonGatewayNotFound)
		s.waitRoute(t, false)
		waitNotFound(t, host)

		g = makeGateway(ns, listener(nil))
		create(t, g)
		waitServes(t, web(nil), s.waitReady(t), "llm")

		// And within a moment. The port differs, so that the address tells the one from the other.
		remove(t, g)
		create(t, makeGateway(ns, listener(func(l *gatewayv1.Listener) { l.Port = httpsPort })))
		want := fmt.Sprintf("http://%s:%d", host, httpsPort)
		eventually(t, func(ctx context.Context) string {
			if missing := s.condition(ctx, workloadv1alpha1.ConditionRouteReady, metav1.ConditionTrue, ""); missing != "" {
				return missing
			}
			if _, _, address := s.status(); address != want {
				return fmt.Sprintf("address %q, want %q", address, want)
			}
			return ""
		})
		waitServes(t, web(nil), want, "llm")
	})
}

func TestTwoHostsLeadToTheirOwnModels(t *testing.T) {
	ns := namespace(t, nil)
	one, two := hostOf(ns, "one"), hostOf(ns, "two")
	a, b := modelServing(t, ns, "one", refTo(one)), vllmService(t, ns, "two", refTo(two))
	create(t, makeGateway(ns, listener(nil)), a.Object, b.Object)
	waitServes(t, web(nil), a.waitReady(t), "one")
	waitServes(t, web(nil), b.waitReady(t), "two")
}

// Of two claims the older keeps the host. When it goes, the other one gets it.
func TestOneHostClaimedTwice(t *testing.T) {
	ns := namespace(t, nil)
	host := hostOf(ns, "llm")
	create(t, makeGateway(ns, listener(nil)))
	first, second := vllmService(t, ns, "first", refTo(host)), modelServing(t, ns, "second", refTo(host))
	create(t, first.Object)
	waitServes(t, web(nil), first.waitReady(t), "first")

	create(t, second.Object)
	second.waitRefused(t, workloadv1alpha1.ReasonHostConflict)
	waitServes(t, web(nil), hostURL(host), "first")

	remove(t, first.Object)
	waitServes(t, web(nil), second.waitReady(t), "second")
}

func TestRouteRestoredAfterEditAndDeletion(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		s := build(t, ns, "llm", refTo(host))
		create(t, makeGateway(ns, listener(nil)), s.Object)
		waitServes(t, web(nil), s.waitReady(t), "llm")

		route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: s.GetName()}}
		before := route.DeepCopy()
		if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(before), before); err != nil {
			t.Fatal(err)
		}
		edit(t, route, func(r *gatewayv1.HTTPRoute) {
			r.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(hostOf(ns, "stolen"))}
		})
		eventually(t, func(ctx context.Context) string {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return err.Error()
			}
			return cmp.Diff(before.Spec, route.Spec)
		})
		waitServes(t, web(nil), s.waitReady(t), "llm")

		remove(t, route)
		eventually(t, func(ctx context.Context) string {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return err.Error()
			}
			if route.UID == before.UID {
				return "the HTTPRoute is still the one that was deleted"
			}
			return cmp.Diff(before.Spec, route.Spec)
		})
		waitServes(t, web(nil), s.waitReady(t), "llm")
	})
}
