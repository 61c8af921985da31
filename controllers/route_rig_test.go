package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

var background = context.Background()

// rig is a manager over two namespaces, a team's and that of the Gateways, on a real API server.
// What a Deployment controller and a Gateway controller would write, the test writes.
type rig struct {
	testing.TB
	server *gangwaytesting.APIServer
	client client.Client
	team   string
	infra  string
	clock  *shiftedClock
	net    *network
}

func newRig(t testing.TB) *rig {
	r := newRigOn(t, shared)
	r.start()
	return r
}

func newRigOn(t testing.TB, server *gangwaytesting.APIServer) *rig {
	t.Helper()
	return &rig{
		TB: t, server: server, client: server.Client, clock: &shiftedClock{}, net: &network{},
		team: server.Namespace(t, nil), infra: server.Namespace(t, nil),
	}
}

func (r *rig) start() {
	r.Helper()
	config := rest.CopyConfig(shippedRights(r, r.server, r.net))
	config.QPS = -1
	config.Wrap(r.net.wrap)
	options := controllers.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{r.team: {}, r.infra: {}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: r.server.Environment.Scheme, Cache: options,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		r.Fatalf("make a manager: %v", err)
	}
	err = controllers.SetupWithManager(mgr, controllers.Options{Clock: r.clock, SkipNameValidation: true, MaxBackoff: time.Second, Namespaces: []string{r.team, r.infra}})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	r.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.Errorf("the manager ended with: %v", err)
		}
	})
}

// until waits until check has no objection. It fails the test after a minute.
func (r *rig) until(what string, check func() error) {
	r.Helper()
	r.within(timeout, what, check)
}

func (r *rig) within(limit time.Duration, what string, check func() error) {
	r.Helper()
	var last error
	err := wait.PollUntilContextTimeout(background, 20*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		r.Fatalf("%s: still not so after %v: %v\nwrites:\n  %s", what, limit, last, strings.Join(r.net.writes(), "\n  "))
	}
}

func (r *rig) create(objects ...client.Object) {
	r.Helper()
	for _, obj := range objects {
		if obj.GetNamespace() == "" {
			obj.SetNamespace(r.team)
		}
		if err := r.client.Create(background, obj); err != nil {
			r.Fatalf("create %T %q: %v", obj, obj.GetName(), err)
		}
	}
}

func (r *rig) remove(obj client.Object, opts ...client.DeleteOption) {
	r.Helper()
	if err := r.client.Delete(background, obj, opts...); err != nil {
		r.Fatalf("delete %T %q: %v", obj, obj.GetName(), err)
	}
}

// change changes obj, whoever else writes it meanwhile.
func change[T client.Object](r *rig, obj T, mutate func(T)) {
	r.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := r.client.Get(background, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		mutate(obj)
		return r.client.Update(background, obj)
	})
	if err != nil {
		r.Fatalf("change %T %q: %v", obj, obj.GetName(), err)
	}
}

// changeStatus changes the status of obj, as its controller would.
func changeStatus[T client.Object](r *rig, obj T, mutate func(T)) {
	r.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := r.client.Get(background, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		mutate(obj)
		return r.client.Status().Update(background, obj)
	})
	if err != nil {
		r.Fatalf("change the status of %T %q: %v", obj, obj.GetName(), err)
	}
}

func (r *rig) exists(obj client.Object) bool {
	r.Helper()
	err := r.client.Get(background, client.ObjectKeyFromObject(obj), obj)
	if err != nil && !apierrors.IsNotFound(err) {
		r.Fatalf("get %T %q: %v", obj, obj.GetName(), err)
	}
	return err == nil
}

// appears waits until obj exists and reads it.
func (r *rig) appears(obj client.Object) {
	r.Helper()
	r.until(fmt.Sprintf("%T %q exists", obj, obj.GetName()), func() error {
		return r.client.Get(background, client.ObjectKeyFromObject(obj), obj)
	})
}

func (r *rig) vanishes(obj client.Object) {
	r.Helper()
	r.until(fmt.Sprintf("%T %q is gone", obj, obj.GetName()), func() error {
		if r.exists(obj) {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
}

// conditionsOf reads the conditions of a ModelServing or VLLMService, and its address.
func (r *rig) conditionsOf(obj client.Object) ([]metav1.Condition, string) {
	r.Helper()
	if err := r.client.Get(background, client.ObjectKeyFromObject(obj), obj); err != nil {
		r.Fatalf("get %T %q: %v", obj, obj.GetName(), err)
	}
	switch o := obj.(type) {
	case *workloadv1alpha1.ModelServing:
		return o.Status.Conditions, o.Status.Address
	case *aiinfrav1alpha1.VLLMService:
		return o.Status.Conditions, o.Status.Address
	}
	r.Fatalf("%T has no conditions", obj)
	return nil, ""
}

// condition waits for a condition of the current generation.
func (r *rig) condition(obj client.Object, conditionType string, status metav1.ConditionStatus, reason string, words ...string) {
	r.Helper()
	r.conditionWithin(timeout, obj, conditionType, status, reason, words...)
}

func (r *rig) conditionWithin(limit time.Duration, obj client.Object, conditionType string, status metav1.ConditionStatus, reason string, words ...string) {
	r.Helper()
	r.within(limit, fmt.Sprintf("%T %q has %s %s %s", obj, obj.GetName(), conditionType, status, reason), func() error {
		all, address := r.conditionsOf(obj)
		c := meta.FindStatusCondition(all, conditionType)
		switch {
		case c == nil:
			return fmt.Errorf("there is no such condition among %v", all)
		case c.Status != status || c.Reason != reason || c.ObservedGeneration != obj.GetGeneration():
			return fmt.Errorf("it is %s %s (generation %d of %d): %s", c.Status, c.Reason, c.ObservedGeneration, obj.GetGeneration(), c.Message)
		case conditionType == "RouteReady" && (address != "") != (status == metav1.ConditionTrue):
			return fmt.Errorf("the address is %q", address)
		}
		for _, w := range words {
			if !strings.Contains(c.Message, w) {
				return fmt.Errorf("its message %q lacks %q", c.Message, w)
			}
		}
		return nil
	})
}

// pass waits for a whole pass of the manager that began after the call; poke has it begin.
func (r *rig) pass(poke func()) {
	r.Helper()
	for range 2 {
		before := r.clock.passes.Load()
		poke()
		r.until("a pass begins", func() error {
			if r.clock.passes.Load() == before {
				return fmt.Errorf("none has begun")
			}
			return nil
		})
	}
}

// quiet fails the test when passes over v with nothing to do write anything.
func (r *rig) quiet(v *aiinfrav1alpha1.VLLMService) {
	r.Helper()
	r.settled(v)
	s := serviceOf(v)
	r.appears(s)
	poke := func() {
		change(r, s, func(s *corev1.Service) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, "test.example/poke", fmt.Sprint(time.Now().UnixNano()))
		})
	}
	r.pass(poke)
	before := len(r.net.writes())
	r.pass(poke)
	r.pass(poke)
	if wrote := r.net.writes()[before:]; len(wrote) > 0 {
		r.Errorf("passes with nothing to do wrote:\n  %s", strings.Join(wrote, "\n  "))
	}
}

// settled waits until the manager has read what it wrote itself: the status speaks of the current
// generation, and the Deployment is there.
func (r *rig) settled(v *aiinfrav1alpha1.VLLMService) {
	r.Helper()
	r.until("the status speaks of the current generation", func() error {
		r.conditionsOf(v)
		if v.Status.ObservedGeneration != v.Generation {
			return fmt.Errorf("it speaks of %d, not %d", v.Status.ObservedGeneration, v.Generation)
		}
		return nil
	})
	r.appears(deploymentOf(v))
}

const (
	ourController   = "example.com/ours"
	otherController = "example.com/other"
)

// answer writes into an HTTPRoute's status what a Gateway controller says of its current
// generation, as the Gateway API asks: its own entry for the parentRef, the others' left alone.
func (r *rig) answer(route *gatewayv1.HTTPRoute, controller string, accepted metav1.ConditionStatus, reason string) {
	r.Helper()
	r.answerOf(route, controller, accepted, reason, func(generation int64) int64 { return generation })
}

func (r *rig) answerOf(route *gatewayv1.HTTPRoute, controller string, accepted metav1.ConditionStatus, reason string, generation func(int64) int64) {
	r.Helper()
	r.appears(route)
	changeStatus(r, route, func(route *gatewayv1.HTTPRoute) {
		route.Status.Parents = slices.DeleteFunc(route.Status.Parents, func(p gatewayv1.RouteParentStatus) bool {
			return string(p.ControllerName) == controller
		})
		condition := func(t string, status metav1.ConditionStatus, reason string) metav1.Condition {
			return metav1.Condition{
				Type: t, Status: status, Reason: reason, Message: "said " + controller,
				ObservedGeneration: generation(route.Generation), LastTransitionTime: metav1.Now(),
			}
		}
		route.Status.Parents = append(route.Status.Parents, gatewayv1.RouteParentStatus{
			ParentRef: route.Spec.ParentRefs[0], ControllerName: gatewayv1.GatewayController(controller),
			Conditions: []metav1.Condition{
				condition("Accepted", accepted, reason), condition("ResolvedRefs", metav1.ConditionTrue, "ResolvedRefs"),
			},
		})
	})
}

// accept has the Gateway controller accept the route of owner and waits for RouteReady.
func (r *rig) accept(owner client.Object) {
	r.Helper()
	r.answer(routeOf(owner), ourController, metav1.ConditionTrue, "Accepted")
	r.condition(owner, "RouteReady", metav1.ConditionTrue, "RouteAccepted", ourController)
}

// rolledOut writes into the status of a Deployment what its controller says when all is well.
func (r *rig) rolledOut(d *appsv1.Deployment) {
	r.Helper()
	r.appears(d)
	changeStatus(r, d, func(d *appsv1.Deployment) {
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		}
	})
}

// startWithoutOptional starts an API server of its own, on which nothing optional is installed.
func startWithoutOptional(t *testing.T) *gangwaytesting.APIServer {
	t.Helper()
	server, err := gangwaytesting.StartAPIServer(gangwaytesting.APIServerOptions{
		Without: []gangwaytesting.Optional{gangwaytesting.GatewayAPI, gangwaytesting.Volcano},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// installCRDs brings the Gateway API, and a ServiceMonitor as the Prometheus operator's.
func installCRDs(t *testing.T, server *gangwaytesting.APIServer) {
	t.Helper()
	server.InstallCRDs(t, gangwaytesting.GatewayAPI)
	_, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{
		Scheme: server.Environment.Scheme, Paths: []string{"testdata/servicemonitors.yaml"}, ErrorIfPathMissing: true,
	})
	if err != nil {
		t.Fatal(err)
	}
}
