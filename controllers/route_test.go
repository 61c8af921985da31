package controllers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

// soon is how fast a listener's change acts, with room for a busy machine: far below the minute
// after which a missing Gateway is looked for without an event.
const soon = 10 * time.Second

func TestGatewayCreatedAfterTheService(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(v)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "GatewayNotFound", r.infra+"/llm")
	r.appears(serviceOf(v))
	if r.exists(routeOf(v)) {
		t.Error("there is an HTTPRoute without a Gateway")
	}
	r.create(r.gateway("llm"))
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)
	if v.Status.Address != "http://qwen.example.com" || v.Status.HTTPRouteName != "qwen" {
		t.Errorf("address %q, HTTPRoute %q", v.Status.Address, v.Status.HTTPRouteName)
	}
}

func TestGatewayDeletedAndRecreatedWithinASecond(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	gateway := r.gateway("llm")
	r.create(gateway, v)
	r.accept(v)
	for range 3 {
		r.remove(gateway)
		gateway = r.gateway("llm")
		r.create(gateway)
	}
	// Whether or not a pass saw it gone, the HTTPRoute is there in the end.
	r.until("the HTTPRoute is there and stays", func() error {
		route := routeOf(v)
		if !r.exists(route) || route.DeletionTimestamp != nil {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
	r.answer(routeOf(v), ourController, metav1.ConditionTrue, "Accepted")
	r.condition(v, "RouteReady", metav1.ConditionTrue, "RouteAccepted")

	r.remove(gateway)
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "GatewayNotFound")
	r.vanishes(routeOf(v))
	if !r.exists(serviceOf(v)) {
		t.Error("the Service went with the Gateway")
	}
}

func TestListenerRenamed(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	gateway := r.gateway("llm")
	r.create(gateway, v)
	r.accept(v)
	change(r, gateway, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Name = "web" })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "ListenerNotFound", `"web" (HTTP, port 80)`)
	r.vanishes(routeOf(v))
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.SectionName = "web" })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)
}

func TestProtocolChangedToTCPAndBack(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	gateway := r.gateway("llm")
	r.create(gateway, v)
	r.accept(v)
	change(r, gateway, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Protocol = gatewayv1.TCPProtocolType })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "ListenerProtocolNotHTTP", "TCP")
	r.vanishes(routeOf(v))
	change(r, gateway, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Protocol = gatewayv1.HTTPProtocolType })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)

	// The address follows the listener while the HTTPRoute stays as it is.
	change(r, gateway, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Port = 8080 })
	r.until("the address has the port", func() error {
		if _, address := r.conditionsOf(v); address != "http://qwen.example.com:8080" {
			return fmt.Errorf("it is %q", address)
		}
		return nil
	})
}

func TestGatewayInAnotherNamespace(t *testing.T) {
	r := newRig(t)
	gateway := r.gateway("llm")
	admit := func(from gatewayv1.FromNamespaces, selector map[string]string) {
		t.Helper()
		change(r, gateway, func(g *gatewayv1.Gateway) {
			n := &gatewayv1.RouteNamespaces{From: ptr.To(from)}
			if selector != nil {
				n.Selector = &metav1.LabelSelector{MatchLabels: selector}
			}
			g.Spec.Listeners[0].AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: n}
		})
	}
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(gateway, v)
	r.accept(v)

	admit(gatewayv1.NamespacesFromSame, nil)
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "NotAllowedByListener", r.team, "its own namespace")
	if !r.exists(routeOf(v)) {
		t.Error("the HTTPRoute went, though the Gateway decides")
	}
	admit(gatewayv1.NamespacesFromSelector, map[string]string{"llm": "yes"})
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "NotAllowedByListener", "llm=yes")

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.team}}
	change(r, ns, func(ns *corev1.Namespace) { ns.Labels["llm"] = "yes" })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionTrue, "RouteAccepted")
	change(r, ns, func(ns *corev1.Namespace) { delete(ns.Labels, "llm") })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "NotAllowedByListener")

	admit(gatewayv1.NamespacesFromAll, nil)
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionTrue, "RouteAccepted")
}

// A manager that is limited to some namespaces still finds a Gateway elsewhere.
func TestGatewayInANamespaceThatIsNotWatched(t *testing.T) {
	r := newRig(t)
	elsewhere := r.server.Namespace(t, nil)
	gateway := r.gateway("llm")
	gateway.Namespace = elsewhere
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"), func(v *aiinfrav1alpha1.VLLMService) {
		v.Spec.GatewayRef.Namespace = elsewhere
	})
	r.create(gateway, v)
	r.accept(v)
}

func TestGatewayOfOurOwnNamespaceByDefault(t *testing.T) {
	r := newRig(t)
	gateway := r.gateway("llm", func(l *gatewayv1.Listener) { l.AllowedRoutes = nil })
	gateway.Namespace = r.team
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"), func(v *aiinfrav1alpha1.VLLMService) {
		v.Spec.GatewayRef.Namespace = ""
	})
	r.create(gateway, v)
	r.accept(v)
	if v.Status.GatewayRefNamespace != r.team {
		t.Errorf("the Gateway's namespace is %q, want %q", v.Status.GatewayRefNamespace, r.team)
	}
}

func TestHostOutsideTheListeners(t *testing.T) {
	r := newRig(t)
	gateway := r.gateway("llm", func(l *gatewayv1.Listener) { l.Hostname = ptr.To(gatewayv1.Hostname("*.example.com")) })
	v := vllmService("qwen", r.routedTo("llm", "example.com"))
	r.create(gateway, v)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "HostnameMismatch", `"example.com"`, `"*.example.com"`)
	r.appears(routeOf(v))

	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.Host = "*.llm.example.com" })
	r.condition(v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.until("the HTTPRoute has the wildcard", func() error {
		route := routeOf(v)
		r.appears(route)
		if diff := cmp.Diff([]gatewayv1.Hostname{"*.llm.example.com"}, route.Spec.Hostnames); diff != "" {
			return fmt.Errorf("hostnames (-want +got):\n%s", diff)
		}
		return nil
	})
	r.accept(v)
}

func TestTwoServicesWithOneHost(t *testing.T) {
	r := newRig(t)
	elder := vllmService("elder", r.routedTo("llm", "qwen.example.com"))
	younger := vllmService("younger", r.routedTo("llm", "qwen.example.com"))
	r.create(r.gateway("llm"), elder)
	r.accept(elder)
	r.create(younger) // of the same second perhaps: then the name decides, the same way
	r.condition(younger, "RouteReady", metav1.ConditionFalse, "HostConflict", "VLLMService "+r.team+"/elder")
	if r.exists(routeOf(younger)) {
		t.Error("the younger has an HTTPRoute")
	}
	r.condition(elder, "RouteReady", metav1.ConditionTrue, "RouteAccepted")

	// The elder takes another host: the younger gets this one at once.
	change(r, elder, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.Host = "other.example.com" })
	r.conditionWithin(soon, younger, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(younger)
	// It comes back: it is still the elder.
	change(r, elder, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.Host = "QWEN.example.com" })
	r.conditionWithin(soon, younger, "RouteReady", metav1.ConditionFalse, "HostConflict")
	r.vanishes(routeOf(younger))
	// It is deleted.
	r.remove(elder)
	r.conditionWithin(soon, younger, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
}

func TestGatewayRefRemovedAndAdded(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	ref := v.Spec.GatewayRef.DeepCopy()
	r.create(r.gateway("llm"), v)
	r.accept(v)
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef = nil })
	r.vanishes(routeOf(v))
	r.until("the status speaks of no route", func() error {
		all, address := r.conditionsOf(v)
		for _, c := range all {
			if c.Type == "RouteReady" {
				return fmt.Errorf("RouteReady is %s", c.Status)
			}
		}
		if s := v.Status; address != "" || s.HTTPRouteName != "" || s.GatewayRefName != "" || s.GatewayRefNamespace != "" {
			return fmt.Errorf("the status is %+v", s)
		}
		return nil
	})
	if !r.exists(serviceOf(v)) {
		t.Error("the Service of a VLLMService went with the gatewayRef")
	}
	r.quiet(v)
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef = ref })
	r.accept(v)
}

func TestGatewayRefMovedToAnotherGateway(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("one", "qwen.example.com"))
	r.create(r.gateway("one"), r.gateway("two"), v)
	r.accept(v)
	route := routeOf(v)
	r.appears(route)
	uid := route.UID
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.Name = "two" })
	// What was said of Gateway one does not count for Gateway two.
	r.condition(v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)
	r.appears(route)
	if route.UID != uid || route.Spec.ParentRefs[0].Name != "two" {
		t.Errorf("the HTTPRoute was not moved but made anew, or its parent is %q", route.Spec.ParentRefs[0].Name)
	}
	if v.Status.GatewayRefName != "two" {
		t.Errorf("the status speaks of Gateway %q", v.Status.GatewayRefName)
	}
}

func TestForeignHTTPRouteIsNeverTouched(t *testing.T) {
	r := newRig(t)
	foreign := &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: "qwen"},
		Spec:       gatewayv1.HTTPRouteSpec{Hostnames: []gatewayv1.Hostname{"other.example.com"}},
	}
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(r.gateway("llm"), foreign, v)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "NameConflict", `HTTPRoute "qwen"`, "no controller")
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef = nil })
	r.until("the status speaks of no route", func() error {
		if all, _ := r.conditionsOf(v); len(all) != 4 {
			return fmt.Errorf("the conditions are %v", all)
		}
		return nil
	})
	now := routeOf(v)
	r.appears(now)
	if now.ResourceVersion != foreign.ResourceVersion {
		t.Error("the HTTPRoute was touched")
	}
}

func TestHTTPRouteEditedOrDeletedByHandIsRestored(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(r.gateway("llm"), v)
	r.accept(v)
	route := routeOf(v)
	r.appears(route)
	want := route.Spec.DeepCopy()
	change(r, route, func(route *gatewayv1.HTTPRoute) {
		route.Spec.Hostnames = append(route.Spec.Hostnames, "evil.example.com")
		route.Spec.Rules[0].Timeouts = &gatewayv1.HTTPRouteTimeouts{Request: ptr.To(gatewayv1.Duration("1s"))}
		route.Labels = nil
	})
	restored := func() error {
		r.appears(route)
		if diff := cmp.Diff(*want, route.Spec); diff != "" {
			return fmt.Errorf("spec (-want +got):\n%s", diff)
		}
		if len(route.Labels) == 0 {
			return fmt.Errorf("the labels are missing")
		}
		return nil
	}
	r.until("the HTTPRoute is as before", restored)
	r.accept(v)
	r.remove(route)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.until("the HTTPRoute is there again", restored)
	r.accept(v)
	r.quiet(v)
}

func TestTwoGatewayControllersWriteStatusParents(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(r.gateway("llm"), v)
	route := routeOf(v)
	r.answer(route, otherController, metav1.ConditionFalse, "NoMatchingParent")
	r.condition(v, "RouteReady", metav1.ConditionFalse, "RouteNotAccepted", otherController, "NoMatchingParent")
	r.answer(route, ourController, metav1.ConditionTrue, "Accepted")
	r.condition(v, "RouteReady", metav1.ConditionTrue, "RouteAccepted", ourController)

	// Once the class says whose the Gateway is, only that controller's words count.
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: "class-" + r.team},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: otherController},
	}
	if err := r.client.Create(background, class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.remove(class) })
	change(r, r.gateway("llm"), func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = gatewayv1.ObjectName(class.Name) })
	r.condition(v, "RouteReady", metav1.ConditionFalse, "RouteNotAccepted", otherController)
	r.answer(route, otherController, metav1.ConditionTrue, "Accepted")
	r.condition(v, "RouteReady", metav1.ConditionTrue, "RouteAccepted", otherController)
	r.quiet(v)
}

func TestStaleObservedGeneration(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(r.gateway("llm"), v)
	r.accept(v)
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.Host = "new.example.com" })
	r.condition(v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	// A controller that lags writes about the generation before.
	r.answerOf(routeOf(v), ourController, metav1.ConditionTrue, "Accepted", func(g int64) int64 { return g - 1 })
	r.condition(v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController", "generation 1", "generation 2")
	r.accept(v)
}

func TestGatewayAPIInstalledLater(t *testing.T) {
	server := startWithoutOptional(t)
	r := newRigOn(t, server)
	r.start()
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"), func(v *aiinfrav1alpha1.VLLMService) {
		v.Spec.Monitoring = &aiinfrav1alpha1.Monitoring{Enabled: true}
	})
	r.bound()
	r.create(v)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "GatewayAPINotInstalled")
	r.condition(v, "MonitoringReady", metav1.ConditionFalse, "PrometheusOperatorNotInstalled")
	r.appears(serviceOf(v))
	r.rolledOut(deploymentOf(v))
	r.condition(v, "Available", metav1.ConditionTrue, "ReplicasReady")
	r.quiet(v)

	installCRDs(t, server)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "GatewayNotFound")
	r.create(r.gateway("llm"))
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)
	r.condition(v, "MonitoringReady", metav1.ConditionTrue, "ServiceMonitorReady")
	r.condition(v, "Ready", metav1.ConditionTrue, "Ready")

	monitor := monitorOf(v)
	r.appears(monitor)
	r.remove(monitor)
	r.appears(monitor)
	r.quiet(v)
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Monitoring.Enabled = false })
	r.vanishes(monitor)
}
