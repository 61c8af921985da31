package gang

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// addRequests adds what the required replicas of a role request, entry and workers, as the
// scheduler will count them.
func addRequests(sum corev1.ResourceList, role *workloadv1alpha1.Role, required int32) {
	add(sum, podRequests(&role.EntryTemplate), int64(required))
	if role.WorkerReplicas > 0 && role.WorkerTemplate != nil {
		add(sum, podRequests(role.WorkerTemplate), int64(required)*int64(role.WorkerReplicas))
	}
}

func add(sum, each corev1.ResourceList, times int64) {
	for name, quantity := range each {
		total := sum[name]
		quantity.Mul(times)
		total.Add(quantity)
		if !total.IsZero() {
			// Rewriting the number drops a cached text form, so that equal sums are equal objects.
			sum[name] = canonical(total)
		}
	}
}

func canonical(q resource.Quantity) resource.Quantity {
	q.Neg()
	q.Neg()
	return q
}

// podRequests is computed on the template as the API server will complete it: a limit without a
// request is the request.
func podRequests(t *workloadv1alpha1.PodTemplateSpec) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *t.Spec.DeepCopy()}
	for i := range pod.Spec.InitContainers {
		requestLimits(&pod.Spec.InitContainers[i].Resources)
	}
	for i := range pod.Spec.Containers {
		requestLimits(&pod.Spec.Containers[i].Resources)
	}
	requestPodLimits(pod)
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// requestPodLimits: once a Pod sets limits for itself, what it requests for itself and does not say
// is what its containers request and, where they request nothing, its limit.
func requestPodLimits(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Limits) == 0 {
		return
	}
	ofContainers := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	requests := corev1.ResourceList{}
	for name, limit := range r.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = limit
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := ofContainers[name]; ok {
			requests[name] = q
		}
	}
	maps.Copy(requests, r.Requests)
	r.Requests = requests
}

func requestLimits(r *corev1.ResourceRequirements) {
	if len(r.Limits) == 0 {
		return
	}
	requests := maps.Clone(r.Limits)
	maps.Copy(requests, r.Requests)
	r.Requests = requests
}
