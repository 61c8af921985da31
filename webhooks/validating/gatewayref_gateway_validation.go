package validating

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
)

var (
	ruleListenerProtocol = newRule(Rule{
		ID: "listener-protocol", Effect: Rejects, Field: "spec.gatewayRef.sectionName",
		Says:    "the listener must speak HTTP or HTTPS",
		Example: "sectionName of a TCP listener",
		Fix:     "name one of the Gateway's HTTP or HTTPS listeners",
	})
	ruleListenerAdmits = newRule(Rule{
		ID: "listener-admits", Effect: Rejects, Field: "spec.gatewayRef.sectionName",
		Says:    "the listener's allowedRoutes must admit HTTPRoutes of this namespace",
		Example: "a Gateway in another namespace whose allowedRoutes are unset (same namespace only)",
		Fix:     "have the Gateway's owner admit the namespace, label the namespace as its selector asks, or name another listener",
	})
	ruleListenerHost = newRule(Rule{
		ID: "listener-host", Effect: Rejects, Field: "spec.gatewayRef.host",
		Says:    "the host must be within the listener's hostname",
		Example: "host: llm.other.com on a listener with hostname *.example.com",
		Fix:     "use a host that the listener serves, or name another listener",
	})
	ruleGatewayRequired = newRule(Rule{
		ID: "gateway-required", Effect: Rejects, Field: "spec.gatewayRef",
		Says:    "with --require-gateway the Gateway and its listener must exist before they are referred to",
		Example: "gatewayRef to a Gateway that is not there yet, with --require-gateway",
		Fix:     "create the Gateway first, or correct the name",
	})
	warnGatewayMissing = newRule(Rule{
		ID: "gateway-missing", Effect: Warns, Field: "spec.gatewayRef",
		Says:    "the Gateway or its listener is not there",
		Example: "gatewayRef to a Gateway that is applied a second later",
		Fix:     "nothing, if it is about to come: the route follows by itself; else correct the name",
	})
	warnGatewayAPI = newRule(Rule{
		ID: "gateway-api-not-installed", Effect: Warns, Field: "spec.gatewayRef",
		Says:    "the Gateway API is not installed, so that there is no route",
		Example: "gatewayRef on a cluster without the Gateway API",
		Fix:     "install it; the route follows by itself",
	})
	warnGatewayUnchecked = newRule(Rule{
		ID: "gateway-unchecked", Effect: Warns, Field: "spec.gatewayRef",
		Says:    "the Gateway could not be looked up in time, so that the reference was not checked",
		Example: "gatewayRef while the manager is starting",
		Fix:     "look at the condition RouteReady of the object",
	})
	warnHostClaimed = newRule(Rule{
		ID: "host-claimed", Effect: Warns, Field: "spec.gatewayRef.host",
		Says:    "another object claims this host on this listener, and the older one keeps it",
		Example: "two ModelServings with the same host",
		Fix:     "use another host or listener, or remove the other claim",
	})
)

func modelServingGateway(ms *workloadv1alpha1.ModelServing, s Surroundings) (field.ErrorList, []Warning) {
	ref := ms.Spec.GatewayRef
	if ref == nil {
		return nil, nil
	}
	return validateGateway(refFields{ref.Name, ref.Namespace, ref.SectionName, ref.Host}, route.ForModelServing(ms), s)
}

func vllmServiceGateway(v *aiinfrav1alpha1.VLLMService, s Surroundings) (field.ErrorList, []Warning) {
	ref := v.Spec.GatewayRef
	if ref == nil {
		return nil, nil
	}
	return validateGateway(refFields{ref.Name, ref.Namespace, ref.SectionName, ref.Host}, route.ForVLLMService(v), s)
}

// validateGateway judges a gatewayRef by the live Gateway. What is wrong with its fields alone is
// validateRef's to say: a ref that cannot mean a listener is not judged further.
func validateGateway(written refFields, in route.Input, s Surroundings) (field.ErrorList, []Warning) {
	path := field.NewPath("spec", "gatewayRef")
	switch s.GatewayAPI {
	case Absent:
		return nil, []Warning{warnGatewayAPI.warn(path, "install it: the route follows by itself")}
	case Unknown:
		return nil, []Warning{warnGatewayUnchecked.warn(path, "look at the condition RouteReady of the object")}
	}
	if s.GatewayHidden || len(validateRef(written, path)) > 0 {
		return nil, nil
	}
	r := route.Resolve(*in.Ref, s.Gateway, in.Owner.Namespace, s.NamespaceLabels)
	errs, warnings := judgeResolution(r, written, s, path)
	if len(errs) == 0 && len(s.Claims) > 0 {
		warnings = append(warnings, warnHostClaimed.warn(path.Child("host"), "%q is claimed by %s: use another host or listener",
			clip(written.host), claimants(s.Claims, in.Owner.Namespace)))
	}
	return errs, warnings
}

func judgeResolution(r route.Resolution, written refFields, s Surroundings, path *field.Path) (field.ErrorList, []Warning) {
	section, host := path.Child("sectionName"), path.Child("host")
	switch r.Answer {
	case route.GatewayNotFound:
		return missingGateway(r, s, path.Child("name"), written.name)
	case route.ListenerNotFound:
		return missingGateway(r, s, section, written.sectionName)
	case route.ListenerProtocolNotHTTP:
		return field.ErrorList{ruleListenerProtocol.invalid(section, written.sectionName,
			"%s; name one of the Gateway's HTTP or HTTPS listeners", clipDetail(r.Message))}, nil
	case route.NotAllowedByListener:
		errs := field.ErrorList{ruleListenerAdmits.invalid(section, written.sectionName,
			"%s; have the Gateway's owner admit it, or name another listener", clipDetail(r.Message))}
		return append(errs, judgeHostname(r, written.host, host)...), nil
	case route.HostnameMismatch:
		return judgeHostname(r, written.host, host), nil
	default:
		return nil, nil
	}
}

func missingGateway(r route.Resolution, s Surroundings, path *field.Path, value string) (field.ErrorList, []Warning) {
	if s.RequireGateway {
		return field.ErrorList{ruleGatewayRequired.notFound(path, value, "%s", clipDetail(r.Message))}, nil
	}
	return nil, []Warning{warnGatewayMissing.warn(path, "%s; the route follows by itself once it is there", clipDetail(r.Message))}
}

// judgeHostname is asked for even when another rule is broken, so that both come in one answer.
func judgeHostname(r route.Resolution, written string, path *field.Path) field.ErrorList {
	if r.Listener == nil || r.Listener.Hostname == nil {
		return nil
	}
	serves := string(*r.Listener.Hostname)
	if route.HostsIntersect(serves, written) {
		return nil
	}
	return field.ErrorList{ruleListenerHost.invalid(path, written,
		"listener %q serves %s: use such a host, or name another listener", clip(string(r.Listener.Name)), hostsOf(serves))}
}

func hostsOf(serves string) string {
	if len(serves) > 2 && serves[0] == '*' {
		return fmt.Sprintf("%q (names that end in %q)", clip(serves), clip(serves[1:]))
	}
	return fmt.Sprintf("%q", clip(serves))
}

// claimants names objects of the same namespace, and only counts those of others: whoever asks may
// not be allowed to know them.
func claimants(claims []route.Claim, namespace string) string {
	elsewhere := 0
	named := ""
	for _, c := range claims {
		if c.Owner.Namespace != namespace {
			elsewhere++
		} else if named == "" {
			named = fmt.Sprintf("%s %q", c.Owner.Kind, clip(c.Owner.Name))
		}
	}
	switch {
	case named != "":
		return named
	case elsewhere == 1:
		return "an object of another namespace"
	default:
		return fmt.Sprintf("%d objects of other namespaces", elsewhere)
	}
}
