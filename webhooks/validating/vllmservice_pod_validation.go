package validating

import (
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

var (
	ruleVLLMProbe = newRule(Rule{
		ID: "vllm-probe", Effect: Rejects, Field: "spec.{startup,liveness,readiness}Probe",
		Says:    "a probe must ask a path that starts with '/', and count in positive numbers",
		Example: "readinessProbe: {path: health}",
		Fix:     "start the path with '/', or correct the number",
	})
	ruleMonitoring = newRule(Rule{
		ID: "monitoring", Effect: Rejects, Field: "spec.monitoring",
		Says:    "metrics must be scraped from a path that starts with '/', at an interval such as 30s or 1m",
		Example: "interval: 30 seconds",
		Fix:     "correct the path or the interval",
	})
	ruleStrategy = newRule(Rule{
		ID: "vllm-strategy", Effect: Rejects, Field: "spec.strategy",
		Says:    "the strategy must be Recreate, or RollingUpdate with something to spare or to surge with",
		Example: "type: Recreate with rollingUpdate",
		Fix:     "correct what the message names",
	})
	ruleShmSize = newRule(Rule{
		ID: "shm-size", Effect: Rejects, Field: "spec.shmSize",
		Says:    "the size of /dev/shm must be above 0",
		Example: "shmSize: \"0\"",
		Fix:     "use for example 8Gi, or leave it out",
	})
)

// validateVLLMPod judges what the spec hands on to the Pods and the Deployment.
func validateVLLMPod(s *aiinfrav1alpha1.VLLMServiceSpec, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateEnv(s.Env, spec.Child("env"))...)
	errs = append(errs, validateEnvFrom(s.EnvFrom, spec.Child("envFrom"))...)
	errs = append(errs, validateScheduling(podScheduling{
		nodeSelector: s.NodeSelector, tolerations: s.Tolerations, affinity: s.Affinity,
	}, spec)...)
	errs = append(errs, validateSecurityContext(s.SecurityContext, spec.Child("securityContext"))...)
	errs = append(errs, validateReference(s.ServiceAccountName, spec.Child("serviceAccountName"))...)
	errs = append(errs, validateReference(s.PriorityClassName, spec.Child("priorityClassName"))...)
	if s.RuntimeClassName != nil {
		errs = append(errs, validateReference(*s.RuntimeClassName, spec.Child("runtimeClassName"))...)
	}
	if s.ShmSize != nil && s.ShmSize.Sign() <= 0 {
		errs = append(errs, ruleShmSize.invalid(spec.Child("shmSize"), quantityText(*s.ShmSize), "use for example 8Gi, or leave it out"))
	}
	errs = append(errs, validateVLLMProbe(s.StartupProbe, spec.Child("startupProbe"))...)
	errs = append(errs, validateVLLMProbe(s.LivenessProbe, spec.Child("livenessProbe"))...)
	errs = append(errs, validateVLLMProbe(s.ReadinessProbe, spec.Child("readinessProbe"))...)
	errs = append(errs, validateMonitoring(s.Monitoring, spec.Child("monitoring"))...)
	return append(errs, validateStrategy(s.Strategy, spec.Child("strategy"))...)
}

func validateVLLMProbe(p *aiinfrav1alpha1.Probe, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
		errs = append(errs, ruleVLLMProbe.invalid(path.Child("path"), p.Path, "write %q", clip("/"+p.Path)))
	}
	if d := p.InitialDelaySeconds; d != nil && *d < 0 {
		errs = append(errs, ruleVLLMProbe.invalid(path.Child("initialDelaySeconds"), *d, "use 0 or more"))
	}
	for _, n := range []struct {
		field string
		value *int32
	}{
		{"periodSeconds", p.PeriodSeconds}, {"timeoutSeconds", p.TimeoutSeconds}, {"failureThreshold", p.FailureThreshold},
	} {
		if n.value != nil && *n.value < 1 {
			errs = append(errs, ruleVLLMProbe.invalid(path.Child(n.field), *n.value, "use 1 or more"))
		}
	}
	return errs
}

// duration is how Prometheus writes a positive duration.
var duration = regexp.MustCompile(`^(\d{1,6}h)?(\d{1,6}m)?(\d{1,6}s)?(\d{1,6}ms)?$`)

func validateMonitoring(m *aiinfrav1alpha1.Monitoring, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	if m.Path != "" && !strings.HasPrefix(m.Path, "/") {
		errs = append(errs, ruleMonitoring.invalid(path.Child("path"), m.Path, "write %q", clip("/"+m.Path)))
	}
	if m.Interval != "" && (!duration.MatchString(m.Interval) || strings.Trim(m.Interval, "0hms") == "") {
		errs = append(errs, ruleMonitoring.invalid(path.Child("interval"), m.Interval, "write for example \"30s\""))
	}
	return errs
}

func validateStrategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{ruleStrategy.invalid(path.Child("type"), string(s.Type), "remove rollingUpdate, or use type RollingUpdate")}
		}
		return nil
	case "", appsv1.RollingUpdateDeploymentStrategyType:
	default:
		return field.ErrorList{ruleStrategy.invalid(path.Child("type"), string(s.Type), "use Recreate or RollingUpdate")}
	}
	if s.RollingUpdate == nil {
		return nil
	}
	u := s.RollingUpdate
	errs := validateIntOrPercent(u.MaxUnavailable, true, rolling.Child("maxUnavailable"))
	errs = append(errs, validateIntOrPercent(u.MaxSurge, false, rolling.Child("maxSurge"))...)
	// Deployments round maxUnavailable down, so that 0% is 0; a surge that is not set is 25% to the
	// API server.
	if u.MaxUnavailable != nil && neverSurges(u.MaxUnavailable) && u.MaxSurge != nil && neverSurges(u.MaxSurge) {
		errs = append(errs, ruleStrategy.invalid(rolling.Child("maxUnavailable"), *u.MaxUnavailable, "raise it, or maxSurge, to 1 or more"))
	}
	return errs
}
