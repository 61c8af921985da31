package controllers_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// modelServing has a role without ports and one with port 9000, and a gatewayRef to the listener
// http of Gateway llm. It wants no Pods: they are not what these tests are about.
func (r *rig) modelServing(name, host string, mutate ...func(*workloadv1alpha1.ModelServing)) *workloadv1alpha1.ModelServing {
	ms := gangwaytesting.MakeModelServing(name).Replicas(0).
		Role(gangwaytesting.MakeRole("prefill").Obj()).
		Role(gangwaytesting.MakeRole("decode").Port(9000).Obj()).Obj()
	ms.ObjectMeta = metav1.ObjectMeta{Name: name}
	ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: "llm", Namespace: r.infra, SectionName: "http", Host: host}
	for _, m := range mutate {
		m(ms)
	}
	return ms
}

func TestModelServingIsRoutedToEntryPodsOfTheRole(t *testing.T) {
	r := newRig(t)
	ms := r.modelServing("sample", "llm.example.com")
	r.create(r.gateway("llm"), ms)
	r.accept(ms)
	if ms.Status.Address != "http://llm.example.com" {
		t.Errorf("the address is %q", ms.Status.Address)
	}
	leadsTo := func(role string, port int32) func() error {
		return func() error {
			service, route := serviceOf(ms), routeOf(ms)
			r.appears(service)
			r.appears(route)
			selector := map[string]string{
				"modelserving.volcano.sh/name": "sample", "modelserving.volcano.sh/role": role, "modelserving.volcano.sh/entry": "true",
			}
			backend := route.Spec.Rules[0].BackendRefs[0]
			got := []any{service.Spec.Selector, service.Spec.Ports[0].Port, service.Spec.Ports[0].TargetPort.IntVal, string(backend.Name), *backend.Port}
			if diff := cmp.Diff([]any{selector, port, port, "sample", port}, got); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return nil
		}
	}
	r.until("the first role gets the traffic, on the usual port", leadsTo("prefill", 8000))
	change(r, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.GatewayRef.Role = "decode" })
	r.until("the role that is named gets it, on its own port", leadsTo("decode", 9000))
	change(r, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.GatewayRef.Port = ptr.To[int32](9100) })
	r.until("the port that is named is used", leadsTo("decode", 9100))
	r.accept(ms)
	r.quietMS(ms)

	change(r, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.GatewayRef = nil })
	r.vanishes(routeOf(ms))
	r.vanishes(serviceOf(ms))
	r.until("RouteReady is gone", func() error {
		all, address := r.conditionsOf(ms)
		for _, c := range all {
			if c.Type == workloadv1alpha1.ConditionRouteReady {
				return fmt.Errorf("it is %s", c.Status)
			}
		}
		if address != "" {
			return fmt.Errorf("the address is %q", address)
		}
		return nil
	})
	r.quietMS(ms)
}

// quietMS fails the test when passes over ms with nothing to do write anything.
func (r *rig) quietMS(ms *workloadv1alpha1.ModelServing) {
	r.Helper()
	poke := func() {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"test.example/poke":"%d"}}}`, r.clock.passes.Load())
		if err := r.client.Patch(background, ms, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			r.Fatal(err)
		}
	}
	r.pass(poke)
	before := len(r.net.writes())
	r.pass(poke)
	r.pass(poke)
	if wrote := r.net.writes()[before:]; len(wrote) > 0 {
		r.Errorf("passes with nothing to do wrote: %q", wrote)
	}
}

func TestModelServingFollowsItsGateway(t *testing.T) {
	r := newRig(t)
	gateway := r.gateway("llm")
	ms := r.modelServing("sample", "llm.example.com")
	r.create(ms)
	r.condition(ms, "RouteReady", metav1.ConditionFalse, "GatewayNotFound")
	r.create(gateway)
	r.conditionWithin(soon, ms, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(ms)
	change(r, gateway, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Name = "web" })
	r.conditionWithin(soon, ms, "RouteReady", metav1.ConditionFalse, "ListenerNotFound")
	r.vanishes(routeOf(ms))
	if !r.exists(serviceOf(ms)) {
		t.Error("the Service went with the listener")
	}
	change(r, gateway, func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].Name = "http" })
	r.conditionWithin(soon, ms, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.remove(routeOf(ms))
	r.appears(routeOf(ms))
	r.accept(ms)
}

func TestModelServingAndVLLMServiceWithOneHost(t *testing.T) {
	r := newRig(t)
	ms := r.modelServing("a-serving", "llm.example.com")
	r.create(r.gateway("llm"), ms)
	r.accept(ms)
	v := vllmService("b-service", r.routedTo("llm", "llm.example.com"))
	r.create(v)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "HostConflict", "ModelServing "+r.team+"/a-serving")
	change(r, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.GatewayRef = nil })
	r.conditionWithin(soon, v, "RouteReady", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)
}

func TestForeignServiceOfAModelServingIsNeverTouched(t *testing.T) {
	r := newRig(t)
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "sample"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	ms := r.modelServing("sample", "llm.example.com")
	r.create(r.gateway("llm"), foreign, ms)
	r.condition(ms, "RouteReady", metav1.ConditionFalse, "NameConflict", `Service "sample"`)
	if r.exists(routeOf(ms)) {
		t.Error("an HTTPRoute of ours leads to somebody else's Service")
	}
	change(r, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.GatewayRef = nil })
	r.quietMS(ms)
	now := serviceOf(ms)
	r.appears(now)
	if now.ResourceVersion != foreign.ResourceVersion {
		t.Error("the Service was touched")
	}
}
