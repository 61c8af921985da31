package vllm

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// startupBudgetSeconds is what a large model may take to load.
const startupBudgetSeconds int32 = 30 * 60

const (
	probePath                   = "/health"
	probePeriodSeconds    int32 = 10
	probeTimeoutSeconds   int32 = 5
	probeFailureThreshold int32 = 3
)

// startupProbe is on unless it is turned off.
func startupProbe(v *aiinfrav1alpha1.VLLMService) *corev1.Probe {
	p := v.Spec.StartupProbe
	if !enabled(p, true) {
		return nil
	}
	period := probePeriodSeconds
	if p != nil {
		period = ptr.Deref(p.PeriodSeconds, period)
	}
	return probe(p, 0, max(1, (startupBudgetSeconds+period-1)/period))
}

// readinessProbe is on unless it is turned off.
func readinessProbe(v *aiinfrav1alpha1.VLLMService) *corev1.Probe {
	if !enabled(v.Spec.ReadinessProbe, true) {
		return nil
	}
	return probe(v.Spec.ReadinessProbe, 0, probeFailureThreshold)
}

// livenessProbe is off unless it is turned on. The kubelet holds it back until the startup probe
// has passed; without one the startup budget takes its place, or no model would ever load.
func livenessProbe(v *aiinfrav1alpha1.VLLMService) *corev1.Probe {
	if !enabled(v.Spec.LivenessProbe, false) {
		return nil
	}
	var initialDelay int32
	if !enabled(v.Spec.StartupProbe, true) {
		initialDelay = startupBudgetSeconds
	}
	return probe(v.Spec.LivenessProbe, initialDelay, probeFailureThreshold)
}

func enabled(p *aiinfrav1alpha1.Probe, otherwise bool) bool {
	if p == nil {
		return otherwise
	}
	return ptr.Deref(p.Enabled, otherwise)
}

func probe(p *aiinfrav1alpha1.Probe, initialDelay, failureThreshold int32) *corev1.Probe {
	if p == nil {
		p = &aiinfrav1alpha1.Probe{}
	}
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path:   orString(p.Path, probePath),
			Port:   intstr.FromString(names.PortHTTP),
			Scheme: corev1.URISchemeHTTP,
		}},
		InitialDelaySeconds: ptr.Deref(p.InitialDelaySeconds, initialDelay),
		PeriodSeconds:       ptr.Deref(p.PeriodSeconds, probePeriodSeconds),
		TimeoutSeconds:      ptr.Deref(p.TimeoutSeconds, probeTimeoutSeconds),
		SuccessThreshold:    1,
		FailureThreshold:    ptr.Deref(p.FailureThreshold, failureThreshold),
	}
}

// progressDeadlineSeconds is how long a Deployment may stand still: the startup budget and ten
// minutes more, for scheduling and pulling the image.
func progressDeadlineSeconds(v *aiinfrav1alpha1.VLLMService) int32 {
	const more = 10 * 60
	p := startupProbe(v)
	if p == nil {
		return startupBudgetSeconds + more
	}
	seconds := int64(p.InitialDelaySeconds) + int64(p.PeriodSeconds)*int64(p.FailureThreshold) + more
	return int32(min(seconds, math.MaxInt32))
}
