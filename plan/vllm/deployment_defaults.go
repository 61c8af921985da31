package vllm

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// This file writes out what the API server defaults inside the parts that users give as they
// please (Kubernetes, pkg/apis/core/v1/defaults.go and pkg/apis/apps/v1/defaults.go). Without it
// each pass would see a difference that is none.

// pullPolicy is Always for the tag latest, which a name without tag and digest means.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	_, tag, hasTag := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "latest" || !hasTag && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultEnv(env []corev1.EnvVar) []corev1.EnvVar {
	for i := range env {
		from := env[i].ValueFrom
		if from == nil {
			continue
		}
		if from.FieldRef != nil && from.FieldRef.APIVersion == "" {
			from.FieldRef.APIVersion = "v1"
		}
		if from.FileKeyRef != nil && from.FileKeyRef.Optional == nil {
			from.FileKeyRef.Optional = ptr.To(false)
		}
		// A quantity that is not given is kept as 0.
		if from.ResourceFieldRef != nil && from.ResourceFieldRef.Divisor.IsZero() {
			from.ResourceFieldRef.Divisor = resource.MustParse("0")
		}
	}
	return env
}

// defaultResources rounds up to thousandths.
func defaultResources(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for name, quantity := range list {
			quantity.RoundUp(resource.Milli)
			list[name] = quantity
		}
	}
	return r
}

// strategy fills in what s leaves out. By default no Pod is added, since a surge Pod never fits on
// a full GPU node; only a maxUnavailable of 0 makes a surge of 1 the default.
func strategy(s *appsv1.DeploymentStrategy) appsv1.DeploymentStrategy {
	if s == nil {
		s = &appsv1.DeploymentStrategy{}
	}
	out := *s.DeepCopy()
	if out.Type == "" {
		out.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if out.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return out
	}
	if out.RollingUpdate == nil {
		out.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	rolling := out.RollingUpdate
	if rolling.MaxUnavailable == nil {
		rolling.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	}
	if rolling.MaxSurge == nil {
		surge := int32(0)
		if isZero(*rolling.MaxUnavailable) {
			surge = 1
		}
		rolling.MaxSurge = ptr.To(intstr.FromInt32(surge))
	}
	return out
}

func isZero(v intstr.IntOrString) bool {
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, 100, true)
	return err == nil && n == 0
}
