package validating_test

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

func routed(host string) *ModelServingWrapper {
	return quiet("sample").GatewayRef("llm", "http", host)
}

func listener(name string, protocol gatewayv1.ProtocolType, hostname string) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Protocol: protocol, Port: 80}
	if hostname != "" {
		l.Hostname = ptr.To(gatewayv1.Hostname(hostname))
	}
	return l
}

func gateway(namespace string, listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: listeners}}
	g.Namespace, g.Name = namespace, "llm"
	return g
}

func behind(g *gatewayv1.Gateway) validating.Surroundings {
	s := installed
	s.Gateway = g
	return s
}

func inNamespace(w *ModelServingWrapper, gatewayNamespace string) *workloadv1alpha1.ModelServing {
	w.Spec.GatewayRef.Namespace = gatewayNamespace
	return w.Obj()
}

func gatewayMessages() []messageCase {
	web := gateway(DefaultNamespace, listener("http", gatewayv1.HTTPProtocolType, "*.example.com"))
	cases := []messageCase{
		createdIn("a gatewayRef of nothing", quiet("sample").GatewayRef("", "", "").Obj(), behind(web)),
		createdIn("names that cannot be a Gateway's", func() *workloadv1alpha1.ModelServing {
			w := quiet("sample").GatewayRef("My Gateway", "HTTP", "llm.example.com")
			return inNamespace(w, "a.b")
		}(), behind(nil)),
	}
	for _, host := range []string{
		"https://llm.example.com:8443/v1", "llm.example.com:80", "llm.example.com/v1", "LLM.Example.com", "llm.example.com.",
		"10.0.0.1", "[2001:db8::1]:443", "llm.*.example.com", "*", "*.*.example.com", "llm_1.example.com",
		strings.Repeat("a", 64) + ".example.com", strings.Repeat("a.", 130) + "com",
	} {
		cases = append(cases, createdIn("the host "+host[:min(len(host), 40)], routed(host).Obj(), behind(web)))
	}
	withTarget := func(role string, port int32) *workloadv1alpha1.ModelServing {
		w := routed("llm.example.com")
		w.Spec.GatewayRef.Role, w.Spec.GatewayRef.Port = role, ptr.To(port)
		return w.Obj()
	}
	silent := withTarget("router", 9000)
	silent.Spec.Template.Roles = append(silent.Spec.Template.Roles, MakeRole("router").Replicas(2).Obj())
	return append(cases,
		createdIn("a role that does not exist", withTarget("decod", 8000), behind(web)),
		createdIn("a port that the role does not expose", withTarget("", 9000), behind(web)),
		createdIn("a port of a role that lists none", silent, behind(web)),
		createdIn("a port out of range", withTarget("", 70000), behind(web)),
		createdIn("a Gateway that is not there", routed("llm.example.com").Obj(), behind(nil)),
		createdIn("a Gateway that is not there, and must be", routed("llm.example.com").Obj(), required(behind(nil))),
		createdIn("a listener that is not there", routed("llm.example.com").Obj(),
			behind(gateway(DefaultNamespace, listener("https", gatewayv1.HTTPSProtocolType, "")))),
		createdIn("a listener that is not there, and must be", routed("llm.example.com").Obj(),
			required(behind(gateway(DefaultNamespace, listener("https", gatewayv1.HTTPSProtocolType, ""))))),
		createdIn("a TCP listener", routed("llm.example.com").Obj(),
			behind(gateway(DefaultNamespace, listener("http", gatewayv1.TCPProtocolType, "")))),
		createdIn("a Gateway of another namespace that admits its own only, and another host",
			inNamespace(routed("llm.other.com"), "infra"),
			behind(gateway("infra", listener("http", gatewayv1.HTTPProtocolType, "*.example.com")))),
		createdIn("a host outside the listener's", routed("example.com").Obj(), behind(web)),
		createdIn("a host outside the listener's one host", routed("llm.example.com").Obj(),
			behind(gateway(DefaultNamespace, listener("http", gatewayv1.HTTPProtocolType, "www.example.com")))),
		createdIn("the Gateway API is not installed", routed("llm.example.com").Obj(),
			validating.Surroundings{Volcano: validating.Present, GatewayAPI: validating.Absent}),
		createdIn("the Gateway cannot be read", routed("llm.example.com").Obj(), validating.Surroundings{}),
		createdIn("a host that a neighbour claims", routed("llm.example.com").Obj(), claimed(behind(web),
			route.Owner{Kind: "VLLMService", Namespace: "default", Name: "qwen"}, route.Owner{Namespace: "other"})),
		createdIn("a host that somebody else claims", routed("llm.example.com").Obj(), claimed(behind(web),
			route.Owner{Kind: "ModelServing", Namespace: "other", Name: "secret"})),
		createdIn("a host that two others claim", routed("llm.example.com").Obj(), claimed(behind(web),
			route.Owner{Kind: "ModelServing", Namespace: "other", Name: "secret"}, route.Owner{Namespace: "third"})),
		messageCase{"an old object whose Gateway has become a TCP one", func() (field.ErrorList, []validating.Warning) {
			ms := routed("llm.example.com").Replicas(3).Obj()
			return validating.ModelServingUpdate(ms, routed("llm.example.com").Obj(),
				behind(gateway(DefaultNamespace, listener("http", gatewayv1.TCPProtocolType, ""))))
		}},
	)
}

func required(s validating.Surroundings) validating.Surroundings {
	s.RequireGateway = true
	return s
}

func claimed(s validating.Surroundings, owners ...route.Owner) validating.Surroundings {
	for _, o := range owners {
		s.Claims = append(s.Claims, route.Claim{Owner: o})
	}
	return s
}
