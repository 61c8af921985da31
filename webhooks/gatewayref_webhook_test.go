package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks"
)

var errNotYet = errors.New("not yet")

func qwen() *aiinfrav1alpha1.VLLMService {
	v := &aiinfrav1alpha1.VLLMService{}
	v.Name = "qwen"
	v.Spec.Image, v.Spec.ModelPath, v.Spec.ModelName = "vllm/vllm-openai:latest", "/data/models/qwen", "qwen"
	v.Spec.Storage = aiinfrav1alpha1.Storage{PVCName: "models", MountPath: "/data/models"}
	v.Spec.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	return v
}

// makeGateway makes a Gateway named llm with the listeners http and https of *.example.com, open (no
// hostname) and tcp.
func makeGateway(t *testing.T, b *bed, ns string, allowed *gatewayv1.AllowedRoutes) *gatewayv1.Gateway {
	t.Helper()
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "llm", Namespace: ns}}
	g.Spec.GatewayClassName = "test"
	host := ptr.To(gatewayv1.Hostname("*.example.com"))
	g.Spec.Listeners = []gatewayv1.Listener{
		{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType, Hostname: host, AllowedRoutes: allowed},
		{Name: "https", Port: 443, Protocol: gatewayv1.HTTPSProtocolType, Hostname: host, AllowedRoutes: allowed, TLS: &gatewayv1.ListenerTLSConfig{
			CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "cert"}},
		}},
		{Name: "open", Port: 8080, Protocol: gatewayv1.HTTPProtocolType, AllowedRoutes: allowed},
		{Name: "tcp", Port: 9000, Protocol: gatewayv1.TCPProtocolType, AllowedRoutes: allowed},
	}
	if err := b.Client.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return g
}

func routed(ns, gatewayNamespace, section, host string) *workloadv1alpha1.ModelServing {
	ms := in(ns, quiet("sample"))
	ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: "llm", Namespace: gatewayNamespace, SectionName: section, Host: host}
	return ms
}

func TestGatewayRefAgainstLiveGateways(t *testing.T) {
	b := theBed(t)
	c, heard := b.listening(t, "")
	infra := b.Namespace(t, nil)
	makeGateway(t, b, infra, nil) // allowedRoutes unset: its own namespace only

	for _, tc := range []struct {
		name            string
		ns              string
		section, host   string
		refused, warned string
	}{
		{name: "within the listener's hostname", ns: infra, section: "http", host: "llm.example.com"},
		{name: "a wildcard within a wildcard", ns: infra, section: "http", host: "*.models.example.com"},
		{name: "HTTPS", ns: infra, section: "https", host: "llm.example.com"},
		{name: "a listener without hostname", ns: infra, section: "open", host: "any.where"},
		{name: "outside the listener's hostname", ns: infra, section: "http", host: "llm.other.com", refused: "spec.gatewayRef.host"},
		{name: "the bare domain of a wildcard", ns: infra, section: "http", host: "example.com", refused: "spec.gatewayRef.host"},
		{name: "a TCP listener", ns: infra, section: "tcp", host: "llm.example.com", refused: "spec.gatewayRef.sectionName"},
		{
			name: "a listener that is not there", ns: infra, section: "grpc", host: "llm.example.com",
			warned: `it has "http" (HTTP, port 80), "https" (HTTPS, port 443), "open" (HTTP, port 8080), "tcp" (TCP, port 9000)`,
		},
		{name: "another namespace", ns: b.Namespace(t, nil), section: "http", host: "llm.example.com", refused: "spec.gatewayRef.sectionName"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			heard.take()
			err := c.Create(t.Context(), routed(tc.ns, infra, tc.section, tc.host), client.DryRunAll)
			warnings := heard.take()
			switch {
			case tc.refused != "":
				expectRefused(t, err, tc.refused)
			case err != nil:
				t.Errorf("refused: %v", err)
			case tc.warned != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], tc.warned)):
				t.Errorf("want one warning with %s, got %q", tc.warned, warnings)
			case tc.warned == "" && len(warnings) > 0:
				t.Errorf("warned: %q", warnings)
			}
		})
	}
}

func TestGatewayRefIsNotHeldAgainstALaggingCache(t *testing.T) {
	b := theBed(t)
	c, heard := b.listening(t, "")
	b.freeze(t)
	for i := range 3 {
		infra, ns := b.Namespace(t, nil), b.Namespace(t, nil)
		selector := &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{
			From:     ptr.To(gatewayv1.NamespacesFromSelector),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"models": "yes"}},
		}}
		makeGateway(t, b, infra, selector)
		ms := routed(ns, infra, "http", fmt.Sprintf("llm-%d.example.com", i))
		err := c.Create(t.Context(), ms.DeepCopy())
		expectRefused(t, err, "spec.gatewayRef.sectionName")

		labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"models":"yes"}}}`))
		if err := c.Patch(t.Context(), labelled, patch); err != nil {
			t.Fatal(err)
		}
		heard.take()
		if err := c.Create(t.Context(), ms); err != nil {
			t.Fatalf("refused right after the namespace got its label: %v", err)
		}
		if got := heard.take(); len(got) > 0 {
			t.Fatalf("warned: %q", got)
		}
	}
}

func TestGatewayThatGoesHoldsNobodyBack(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	c, heard := b.listening(t, "")
	g := makeGateway(t, b, ns, nil)
	ms := routed(ns, "", "http", "llm.example.com")
	ms.Finalizers = []string{"example.com/keep"}
	if err := c.Create(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(context.Context) error {
		ms.Spec.Template.RestartGracePeriodSeconds = ptr.To(ptr.Deref(ms.Spec.Template.RestartGracePeriodSeconds, 0) + 1)
		if err := c.Update(t.Context(), ms); err != nil {
			return err
		}
		for _, w := range heard.take() {
			if strings.Contains(w, "does not exist") {
				return nil
			}
		}
		return errNotYet
	})
	ms.Finalizers = nil
	if err := c.Update(t.Context(), ms); err != nil {
		t.Errorf("remove a finalizer: %v", err)
	}
}

func TestHostClaimedByAnother(t *testing.T) {
	b := theBed(t)
	infra, other := b.Namespace(t, nil), b.Namespace(t, nil)
	all := &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}}
	makeGateway(t, b, infra, all)
	c, heard := b.listening(t, "")
	first := routed(other, infra, "http", "shared.example.com")
	if err := c.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	v := in(infra, qwen())
	v.Spec.GatewayRef = &aiinfrav1alpha1.GatewayReference{Name: "llm", SectionName: "http", Host: "shared.example.com"}
	eventually(t, func(context.Context) error {
		heard.take()
		if err := c.Create(t.Context(), v.DeepCopy(), client.DryRunAll); err != nil {
			return err
		}
		want := []string{`spec.gatewayRef.host: another object claims this host on this listener, and the older one keeps it; "shared.example.com" is claimed by an object of another namespace: use another host or listener`}
		if diff := cmp.Diff(want, heard.take()); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	// The claimant itself hears nothing.
	first.Spec.Replicas = ptr.To[int32](3)
	if err := c.Update(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := heard.take(); len(got) > 0 {
		t.Errorf("warned of itself: %q", got)
	}
}

// TestGatewayOfOthersStaysUnknown holds that a requester who may not get a Gateway cannot tell from
// any answer whether it exists, nor what it has.
func TestGatewayOfOthersStaysUnknown(t *testing.T) {
	b := theBed(t)
	ns, infra := b.Namespace(t, nil), b.Namespace(t, nil)
	makeGateway(t, b, infra, nil)
	allow := func(ns, user, group, res string, verbs ...string) {
		t.Helper()
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: user + "-" + res}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{group}, Resources: []string{res}, Verbs: verbs},
		}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: role.ObjectMeta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		}
		for _, obj := range []client.Object{role, binding} {
			if err := b.Client.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	allow(ns, "stranger", workloadv1alpha1.GroupName, "modelservings", "create")
	allow(ns, "friend", workloadv1alpha1.GroupName, "modelservings", "create")
	allow(infra, "friend", gatewayv1.GroupName, "gateways", "get")

	answer := func(c client.Client, h *heard, ms *workloadv1alpha1.ModelServing) string {
		h.take()
		err := c.Create(t.Context(), ms.DeepCopy(), client.DryRunAll)
		return fmt.Sprintf("%v %q", err, h.take())
	}
	stranger, strangerHears := b.listening(t, "stranger")
	friend, friendHears := b.listening(t, "friend")
	there := routed(ns, infra, "http", "llm.example.com")
	missing := routed(ns, infra, "http", "llm.example.com")
	missing.Spec.GatewayRef.Name = "nothing"

	eventually(t, func(context.Context) error { // rights take a moment to spread
		if a := answer(friend, friendHears, there); !strings.Contains(a, "does not admit namespace") {
			return fmt.Errorf("the friend hears %s", a)
		}
		if a := answer(friend, friendHears, missing); !strings.Contains(a, "does not exist") {
			return fmt.Errorf("the friend hears %s", a)
		}
		return nil
	})
	eventually(t, func(context.Context) error {
		for _, ms := range []*workloadv1alpha1.ModelServing{there, missing} {
			if a := answer(stranger, strangerHears, ms); a != "<nil> []" {
				return fmt.Errorf("the stranger hears %s", a)
			}
		}
		return nil
	})
}

// TestWatchedNamespacesOnly holds that a manager that watches some namespaces judges by what is in the
// others all the same.
func TestWatchedNamespacesOnly(t *testing.T) {
	b := theBed(t)
	if err := b.halt(); err != nil {
		t.Fatal(err)
	}
	ns, infra := b.Namespace(t, nil), b.Namespace(t, nil)
	b.watched = map[string]cache.Config{ns: {}}
	t.Cleanup(func() {
		b.watched = nil
		if err := errors.Join(b.halt(), b.start()); err != nil {
			t.Fatal(err)
		}
	})
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	makeGateway(t, b, infra, nil)
	expectRefused(t, b.Client.Create(t.Context(), routed(ns, infra, "http", "llm.example.com")), "spec.gatewayRef.sectionName")

	ms := in(infra, quiet("sample"))
	if err := b.Client.Create(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	pod := groupPod(ms, "sample-0-prefill-0-0")
	if err := b.Client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if pod.Spec.SchedulerName != "volcano" {
		t.Errorf("scheduler %q", pod.Spec.SchedulerName)
	}
}

func TestRequireGateway(t *testing.T) {
	b, err := newBed(gangwaytesting.APIServerOptions{}, webhooks.Options{RequireGateway: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	ns := b.Namespace(t, nil)
	ms := routed(ns, "", "http", "llm.example.com")
	expectRefused(t, b.Client.Create(t.Context(), ms.DeepCopy()), "spec.gatewayRef.name")
	makeGateway(t, b, ns, nil)
	if err := b.Client.Create(t.Context(), ms); err != nil {
		t.Errorf("refused although the Gateway is there: %v", err)
	}
}

// TestOptionalAPIs holds that without the Gateway API and Volcano everything is accepted with a warning, and
// that their arrival needs no restart.
func TestOptionalAPIs(t *testing.T) {
	b, err := newBed(gangwaytesting.APIServerOptions{Without: []gangwaytesting.Optional{gangwaytesting.Volcano, gangwaytesting.GatewayAPI}}, webhooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	ns := b.Namespace(t, nil)
	c, heard := b.listening(t, "")
	ms := routed(ns, "", "http", "llm.example.com")
	if err := c.Create(t.Context(), ms.DeepCopy(), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"spec.schedulerName: Volcano is not installed, so that nothing is scheduled all or nothing; install Volcano, or name the scheduler that the cluster has",
		"spec.gatewayRef: the Gateway API is not installed, so that there is no route; install it: the route follows by itself",
	}
	if diff := cmp.Diff(want, heard.take()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	b.InstallCRDs(t, gangwaytesting.Volcano)
	b.InstallCRDs(t, gangwaytesting.GatewayAPI)
	makeGateway(t, b, ns, nil)
	eventually(t, func(context.Context) error {
		if err := c.Create(t.Context(), ms.DeepCopy(), client.DryRunAll); err != nil {
			return err
		}
		if got := heard.take(); len(got) > 0 {
			return fmt.Errorf("warned: %q", got)
		}
		return nil
	})
}
