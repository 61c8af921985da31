package validating

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var (
	ruleRefName = newRule(Rule{
		ID: "gateway-name", Effect: Rejects, Field: "spec.gatewayRef.{name,namespace}",
		Says:    "gatewayRef must name a Gateway: by a DNS-1123 subdomain, and its namespace by a DNS-1123 label",
		Example: "gatewayRef without name",
		Fix:     "give the name that kubectl get gateways -A shows",
	})
	ruleRefSection = newRule(Rule{
		ID: "gateway-section", Effect: Rejects, Field: "spec.gatewayRef.sectionName",
		Says:    "gatewayRef must name one listener of the Gateway, by a DNS-1123 subdomain",
		Example: "gatewayRef without sectionName",
		Fix:     "give the name of a listener in the Gateway's spec.listeners",
	})
	ruleRefHost = newRule(Rule{
		ID: "gateway-host", Effect: Rejects, Field: "spec.gatewayRef.host",
		Says:    "host must be a DNS name in lower case, in which \"*.\" may stand first",
		Example: "host: https://llm.example.com:443",
		Fix:     "use the bare name, as the message proposes",
	})
	ruleRefRole = newRule(Rule{
		ID: "gateway-role", Effect: Rejects, Field: "spec.gatewayRef.role",
		Says:    "role must name the role whose entry Pods get the traffic",
		Example: "role: prefil",
		Fix:     "use the name that the message proposes, or leave it out for the first role",
	})
	ruleRefPort = newRule(Rule{
		ID: "gateway-port", Effect: Rejects, Field: "spec.gatewayRef.port",
		Says:    "port must be a container port that the role's entry template exposes",
		Example: "port: 9000 with containerPort: 8000",
		Fix:     "use one of the ports that the message lists, or add the containerPort",
	})
)

// refFields are what the gatewayRefs of both kinds have in common, as the user wrote them.
type refFields struct {
	name, namespace, sectionName, host string
}

func validateRef(ref refFields, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case ref.name == "":
		errs = append(errs, ruleRefName.required(path.Child("name"), "give the name that kubectl get gateways -A shows"))
	case len(validation.IsDNS1123Subdomain(ref.name)) > 0:
		errs = append(errs, ruleRefName.invalid(path.Child("name"), ref.name, "use lower case, digits, '-' and '.'"))
	}
	if ref.namespace != "" && len(validation.IsDNS1123Label(ref.namespace)) > 0 {
		errs = append(errs, ruleRefName.invalid(path.Child("namespace"), ref.namespace, "use lower case, digits and '-', or leave it out for the object's own"))
	}
	switch {
	case ref.sectionName == "":
		errs = append(errs, ruleRefSection.required(path.Child("sectionName"), "give the name of a listener in the Gateway's spec.listeners"))
	case len(validation.IsDNS1123Subdomain(ref.sectionName)) > 0:
		errs = append(errs, ruleRefSection.invalid(path.Child("sectionName"), ref.sectionName, "use lower case, digits, '-' and '.'"))
	}
	if ref.host == "" {
		return append(errs, ruleRefHost.required(path.Child("host"), "give the host name of the model, for example \"llm.example.com\""))
	}
	if wayOut := judgeHost(ref.host); wayOut != "" {
		errs = append(errs, ruleRefHost.invalid(path.Child("host"), ref.host, "%s", wayOut))
	}
	return errs
}

// judgeHost says how to make a DNS name out of host; empty when it is one.
func judgeHost(host string) string {
	bare := host
	if _, rest, ok := strings.Cut(bare, "://"); ok {
		bare = rest
	}
	bare, _, _ = strings.Cut(bare, "/")
	if h, port, err := net.SplitHostPort(bare); err == nil {
		if _, err := strconv.Atoi(port); err == nil || port == "" {
			bare = h
		}
	}
	bare = strings.Trim(bare, "[]")
	if _, err := netip.ParseAddr(bare); err == nil {
		return "an IP address has no host name to route by: use a DNS name, for example \"llm.example.com\""
	}
	bare = strings.TrimSuffix(strings.ToLower(bare), ".")
	switch {
	case isHost(host):
		return ""
	case isHost(bare):
		return "write " + strconv.Quote(clip(bare)) + notWritten(host)
	case strings.Contains(strings.TrimPrefix(bare, "*."), "*"):
		return "\"*\" may only be the whole first label, as in \"*.example.com\""
	case len(bare) > validation.DNS1123SubdomainMaxLength:
		return "remove " + characters(len(bare)-validation.DNS1123SubdomainMaxLength) + ": a DNS name has at most 253"
	default:
		return "use labels of a-z, 0-9 and '-', each at most 63 characters long, separated by '.', for example \"llm.example.com\""
	}
}

// notWritten names what has to go from a host that holds more than a name.
func notWritten(host string) string {
	switch {
	case strings.Contains(host, "://"):
		return ": the scheme follows from the listener's protocol"
	case strings.Contains(host, "/"):
		return ": a path does not belong to a host"
	case strings.Contains(host, ":"):
		return ": the port is the listener's"
	default:
		return ""
	}
}

// isHost is true for what Gateway API takes as a Hostname of an HTTPRoute.
func isHost(host string) bool {
	name := strings.TrimPrefix(host, "*.")
	if len(validation.IsDNS1123Subdomain(name)) > 0 || len(host) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return false
	}
	for _, label := range strings.Split(name, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			return false
		}
	}
	return true
}

// validateRefTarget judges the role and the port that the traffic goes to.
func validateRefTarget(ms *workloadv1alpha1.ModelServing, path *field.Path) field.ErrorList {
	ref := ms.Spec.GatewayRef
	roles := roleNames(ms)
	if len(roles) == 0 {
		return nil // reported as such
	}
	name := ref.Role
	if name == "" {
		name = roles[0]
	}
	role, i := findRole(ms, name)
	if role == nil {
		return field.ErrorList{ruleRefRole.notFound(path.Child("role"), name, "leave it out for %q, or correct it: %s", clip(roles[0]), chooseRole(name, roles))}
	}
	if ref.Port == nil {
		return nil
	}
	exposed := exposedPorts(&role.EntryTemplate.Spec)
	switch {
	case len(validation.IsValidPortNum(int(*ref.Port))) > 0:
		return field.ErrorList{ruleRefPort.invalid(path.Child("port"), *ref.Port, "use a number from 1 to 65535")}
	case len(exposed) == 0 && *ref.Port != names.DefaultPort:
		return field.ErrorList{ruleRefPort.invalid(path.Child("port"), *ref.Port,
			"role %q lists no ports: add containerPort %d to spec.template.roles[%d].entryTemplate", clip(role.Name), *ref.Port, i)}
	case len(exposed) > 0 && !slices.Contains(exposed, *ref.Port):
		return field.ErrorList{ruleRefPort.invalid(path.Child("port"), *ref.Port,
			"role %q exposes %s: use one of them, or add containerPort %d to spec.template.roles[%d].entryTemplate",
			clip(role.Name), portList(exposed), *ref.Port, i)}
	}
	return nil
}

// exposedPorts are the TCP ports of the containers and of init containers that run on as sidecars.
func exposedPorts(spec *corev1.PodSpec) []int32 {
	var ports []int32
	seen := sets.New[int32]()
	add := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) && !seen.Has(p.ContainerPort) {
				seen.Insert(p.ContainerPort)
				ports = append(ports, p.ContainerPort)
			}
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	for i := range spec.InitContainers {
		if p := spec.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			add(&spec.InitContainers[i])
		}
	}
	return ports
}

func portList(ports []int32) string {
	var b strings.Builder
	for i, p := range ports {
		if i == maxListed {
			b.WriteString(" and " + strconv.Itoa(len(ports)-maxListed) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(int(p)))
	}
	return b.String()
}
