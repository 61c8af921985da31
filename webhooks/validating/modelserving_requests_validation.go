package validating

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// maxRequests is how much a scheduler can count of a resource: Volcano does so in thousandths, in 64
// bits, and ends with a panic when a gang overflows them.
const maxRequests = math.MaxInt64 / 1000

var ruleRequests = newRule(Rule{
	ID: "requests", Effect: Rejects, Field: "spec.template.roles",
	Says:    "the Pods of a ServingGroup together must request at most 9223372036854775 of a resource, which is as far as schedulers count",
	Example: "requests: {cpu: \"9223372036854775807\"}",
	Fix:     "lower the requests, or the limits, of the resource that the message names",
})

func validateRequests(ms *workloadv1alpha1.ModelServing, path *field.Path) field.ErrorList {
	total := corev1.ResourceList{}
	for i := range ms.Spec.Template.Roles {
		r := &ms.Spec.Template.Roles[i]
		replicas := max(int64(ptr.Deref(r.Replicas, 1)), 0)
		addRequests(total, &r.EntryTemplate.Spec, replicas)
		if r.WorkerTemplate != nil {
			addRequests(total, &r.WorkerTemplate.Spec, replicas*max(int64(r.WorkerReplicas), 0))
		}
	}
	var errs field.ErrorList
	for _, name := range sortedNames(total) {
		if q := total[name]; len(errs) < enough && q.CmpInt64(maxRequests) > 0 {
			errs = append(errs, ruleRequests.invalid(path, q.String(), "lower the requests of %s", clip(string(name))))
		}
	}
	return errs
}

// addRequests adds what Pods request at most. A limit without a request is the request.
func addRequests(total corev1.ResourceList, spec *corev1.PodSpec, pods int64) {
	for _, containers := range [...][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			for name, q := range r.Requests {
				addQuantity(total, name, q, pods)
			}
			for name, q := range r.Limits {
				if _, requested := r.Requests[name]; !requested {
					addQuantity(total, name, q, pods)
				}
			}
		}
	}
}

func addQuantity(total corev1.ResourceList, name corev1.ResourceName, q resource.Quantity, times int64) {
	if q.Sign() <= 0 {
		return // a fault of its own, or nothing
	}
	q = q.DeepCopy()
	q.Mul(times)
	sum := total[name]
	sum.Add(q)
	total[name] = sum
}
