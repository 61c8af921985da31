package validating

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	rulePodLifecycle = newRule(Rule{
		ID: "pod-lifecycle", Effect: Rejects, Field: "*Template.spec.containers[].lifecycle",
		Says:    "a lifecycle hook must have one handler (exec, httpGet, tcpSocket or sleep), with what it needs",
		Example: "lifecycle: {preStop: {exec: {}}}",
		Fix:     "add the handler, or correct what the message names",
	})
	rulePodContainerRestart = newRule(Rule{
		ID: "pod-container-restart", Effect: Rejects, Field: "*Template.spec.containers[].restartPolicy",
		Says:    "a container of a Pod that serves must be restarted always, and restart rules must be whole",
		Example: "restartPolicy: Never on a container",
		Fix:     "remove it; spec.recoveryPolicy says what a failure leads to",
	})
)

func validateLifecycle(l *corev1.Lifecycle, path *field.Path) field.ErrorList {
	if l == nil {
		return nil
	}
	errs := validateHook(l.PostStart, path.Child("postStart"))
	return append(errs, validateHook(l.PreStop, path.Child("preStop"))...)
}

func validateHook(h *corev1.LifecycleHandler, path *field.Path) field.ErrorList {
	if h == nil {
		return nil
	}
	var errs field.ErrorList
	if n := countSet(*h); n != 1 {
		errs = append(errs, rulePodLifecycle.invalid(path, int64(n), "name one handler: exec, httpGet, tcpSocket or sleep"))
	}
	errs = append(errs, validateExec(rulePodLifecycle, h.Exec, path.Child("exec"))...)
	errs = append(errs, validateHTTPGet(rulePodLifecycle, h.HTTPGet, path.Child("httpGet"))...)
	if h.TCPSocket != nil {
		errs = append(errs, validateHandlerPort(rulePodLifecycle, h.TCPSocket.Port, path.Child("tcpSocket", "port"))...)
	}
	if h.Sleep != nil && h.Sleep.Seconds < 0 {
		errs = append(errs, rulePodLifecycle.invalid(path.Child("sleep", "seconds"), h.Sleep.Seconds, "use 0 or more"))
	}
	return errs
}

func validateExec(rule *Rule, e *corev1.ExecAction, path *field.Path) field.ErrorList {
	if e == nil || len(e.Command) > 0 {
		return nil
	}
	return field.ErrorList{rule.required(path.Child("command"), "name the command")}
}

func validateHTTPGet(rule *Rule, g *corev1.HTTPGetAction, path *field.Path) field.ErrorList {
	if g == nil {
		return nil
	}
	errs := validateHandlerPort(rule, g.Port, path.Child("port"))
	errs = append(errs, oneOf(g.Scheme, path.Child("scheme"), corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for i := range judged(len(g.HTTPHeaders), &errs) {
		if name := g.HTTPHeaders[i].Name; len(validation.IsHTTPHeaderName(name)) > 0 {
			errs = append(errs, rule.invalid(path.Child("httpHeaders").Index(i).Child("name"), name, "use letters, digits and '-'"))
		}
	}
	return errs
}

func validateContainerRestart(c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p := c.RestartPolicy; p != nil && *p != corev1.ContainerRestartPolicyAlways {
		errs = append(errs, rulePodContainerRestart.invalid(path.Child("restartPolicy"), string(*p),
			"remove it; spec.recoveryPolicy says what a failure leads to"))
	}
	for i := range judged(len(c.RestartPolicyRules), &errs) {
		errs = append(errs, validateRestartRule(&c.RestartPolicyRules[i], path.Child("restartPolicyRules").Index(i))...)
	}
	if len(c.RestartPolicyRules) > 0 && c.RestartPolicy == nil {
		errs = append(errs, rulePodContainerRestart.required(path.Child("restartPolicy"), "set it to Always beside restartPolicyRules"))
	}
	return errs
}

func validateRestartRule(r *corev1.ContainerRestartRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Action == "" {
		errs = append(errs, rulePodContainerRestart.required(path.Child("action"), "use Restart"))
	}
	if r.ExitCodes == nil {
		return append(errs, rulePodContainerRestart.required(path.Child("exitCodes"), "name the exit codes"))
	}
	switch r.ExitCodes.Operator {
	case corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn:
	default:
		errs = append(errs, rulePodContainerRestart.invalid(path.Child("exitCodes", "operator"), string(r.ExitCodes.Operator), "use In or NotIn"))
	}
	return errs
}
