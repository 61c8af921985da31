package validating

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	rulePodPort = newRule(Rule{
		ID: "pod-port", Effect: Rejects, Field: "*Template.spec.containers[].ports[]",
		Says:    "a port must be a number from 1 to 65535, and its name at most 15 of a-z, 0-9 and '-', with a letter among them",
		Example: "containerPort: 0",
		Fix:     "correct the number or the name",
	})
	rulePodPortUnique = newRule(Rule{
		ID: "pod-port-unique", Effect: Rejects, Field: "*Template.spec.containers[].ports[]",
		Says:    "a container must list a port and a port's name once, and a Pod a host port once",
		Example: "containerPort: 8000 twice",
		Fix:     "remove one",
	})
	rulePodHostPort = newRule(Rule{
		ID: "pod-host-port", Effect: Rejects, Field: "*Template.spec.containers[].ports[].hostPort",
		Says:    "with hostNetwork a container's port must be the host's port",
		Example: "hostPort: 9000 with containerPort: 8000 and hostNetwork: true",
		Fix:     "remove hostPort, or make both equal",
	})
	rulePodProbe = newRule(Rule{
		ID: "pod-probe", Effect: Rejects, Field: "*Template.spec.containers[].*Probe",
		Says:    "a probe must have one handler (exec, httpGet, tcpSocket or grpc), a valid port, and no negative numbers",
		Example: "readinessProbe: {periodSeconds: 5}",
		Fix:     "add the handler, or correct what the message names",
	})
)

type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

func validatePorts(ports []corev1.ContainerPort, pod podParts, path *field.Path) field.ErrorList {
	type numbered struct {
		protocol corev1.Protocol
		port     int32
	}
	var errs field.ErrorList
	numbers, portNames := sets.New[numbered](), sets.New[string]()
	for i := range judged(len(ports), &errs) {
		p, at := &ports[i], path.Index(i)
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		errs = append(errs, oneOf(p.Protocol, at.Child("protocol"), corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
		errs = append(errs, validatePortNumber(p.ContainerPort, at.Child("containerPort"))...)
		if number := (numbered{protocol, p.ContainerPort}); numbers.Has(number) {
			errs = append(errs, rulePodPortUnique.duplicate(at.Child("containerPort"), p.ContainerPort, "remove one of the two"))
		} else {
			numbers.Insert(number)
		}
		errs = append(errs, validatePortName(p.Name, portNames, at.Child("name"))...)
		errs = append(errs, validateHostPort(p, protocol, pod, at.Child("hostPort"))...)
	}
	return errs
}

func validatePortNumber(port int32, path *field.Path) field.ErrorList {
	if len(validation.IsValidPortNum(int(port))) == 0 {
		return nil
	}
	return field.ErrorList{rulePodPort.invalid(path, port, "use a number from 1 to 65535")}
}

func validatePortName(name string, seen sets.Set[string], path *field.Path) field.ErrorList {
	switch {
	case name == "":
		return nil
	case len(validation.IsValidPortName(name)) > 0:
		return field.ErrorList{rulePodPort.invalid(path, name, "shorten or correct the name, for example \"http\"")}
	case seen.Has(name):
		return field.ErrorList{rulePodPortUnique.duplicate(path, name, "rename one of the two")}
	}
	seen.Insert(name)
	return nil
}

func validateHostPort(p *corev1.ContainerPort, protocol corev1.Protocol, pod podParts, path *field.Path) field.ErrorList {
	if p.HostPort == 0 {
		return nil
	}
	errs := validatePortNumber(p.HostPort, path)
	if pod.hostNetwork && p.HostPort != p.ContainerPort {
		errs = append(errs, rulePodHostPort.invalid(path, p.HostPort, "remove it, or make it %d", p.ContainerPort))
	}
	taken := hostPort{p.HostIP, protocol, p.HostPort}
	if pod.hostPorts.Has(taken) {
		errs = append(errs, rulePodPortUnique.duplicate(path, p.HostPort, "remove one of the two"))
	}
	pod.hostPorts.Insert(taken)
	return errs
}

func validateProbe(p *corev1.Probe, successOnce bool, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if n := countSet(p.ProbeHandler); n != 1 {
		errs = append(errs, rulePodProbe.invalid(path, int64(n), "name one handler: exec, httpGet, tcpSocket or grpc"))
	}
	for _, n := range []struct {
		field string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds},
		{"timeoutSeconds", p.TimeoutSeconds},
		{"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold},
		{"failureThreshold", p.FailureThreshold},
	} {
		if n.value < 0 {
			errs = append(errs, rulePodProbe.invalid(path.Child(n.field), n.value, "use 0 or a positive number"))
		}
	}
	if successOnce && p.SuccessThreshold > 1 {
		errs = append(errs, rulePodProbe.invalid(path.Child("successThreshold"), p.SuccessThreshold,
			"use 1: only readiness may ask for more"))
	}
	if g := p.TerminationGracePeriodSeconds; g != nil && (!successOnce || *g < 1) {
		errs = append(errs, rulePodProbe.invalid(path.Child("terminationGracePeriodSeconds"), *g,
			"remove it: only probes that end a container have one, of 1 or more"))
	}
	errs = append(errs, validateExec(rulePodProbe, p.Exec, path.Child("exec"))...)
	errs = append(errs, validateHTTPGet(rulePodProbe, p.HTTPGet, path.Child("httpGet"))...)
	if p.TCPSocket != nil {
		errs = append(errs, validateHandlerPort(rulePodProbe, p.TCPSocket.Port, path.Child("tcpSocket", "port"))...)
	}
	if p.GRPC != nil {
		errs = append(errs, validateHandlerPort(rulePodProbe, intstr.FromInt32(p.GRPC.Port), path.Child("grpc", "port"))...)
	}
	return errs
}

func validateHandlerPort(rule *Rule, port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		if len(validation.IsValidPortName(port.StrVal)) == 0 {
			return nil
		}
	} else if len(validation.IsValidPortNum(int(port.IntVal))) == 0 {
		return nil
	}
	return field.ErrorList{rule.invalid(path, port, "use a number from 1 to 65535, or the name of a port")}
}
