package validating

import (
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// MaxPods is how many Pods Kubernetes supports in a cluster
// (https://kubernetes.io/docs/setup/best-practices/cluster-large). Who asks for more has mistyped, and
// would keep the controller from everybody else's work.
const MaxPods = 150_000

var ruleSize = newRule(Rule{
	ID: "size", Effect: Rejects, Field: "spec.replicas",
	Says:    "all ServingGroups together must have at most 150000 Pods, as many as Kubernetes supports in a cluster",
	Example: "replicas: 2000000000",
	Fix:     "lower replicas, or the replicas or workerReplicas of a role",
})

func validateSize(ms *workloadv1alpha1.ModelServing, replicas int32, path *field.Path) field.ErrorList {
	per := podsOfGroup(ms)
	total := times(int64(replicas), max(per, 1)) // a group without Pods is an object, too
	if total <= MaxPods {
		return nil
	}
	switch {
	case per > MaxPods:
		return field.ErrorList{ruleSize.invalid(path, replicas, "each would have %d: lower the replicas or workerReplicas of a role", per)}
	case per > 1:
		return field.ErrorList{ruleSize.invalid(path, replicas, "use at most %d, or smaller roles: each has %d", MaxPods/per, per)}
	default:
		return field.ErrorList{ruleSize.invalid(path, replicas, "use at most %d", MaxPods)}
	}
}

// podsOfGroup is the number of Pods of one ServingGroup.
func podsOfGroup(ms *workloadv1alpha1.ModelServing) int64 {
	var n int64
	for i := range ms.Spec.Template.Roles {
		r := &ms.Spec.Template.Roles[i]
		of := times(int64(ptr.Deref(r.Replicas, 1)), 1+int64(r.WorkerReplicas))
		if n > math.MaxInt64-of {
			return math.MaxInt64
		}
		n += of
	}
	return n
}

// times multiplies counts. What is negative, which is a fault of its own, counts for nothing; what is
// too large is the largest number.
func times(a, b int64) int64 {
	switch {
	case a <= 0 || b <= 0:
		return 0
	case a > math.MaxInt64/b:
		return math.MaxInt64
	default:
		return a * b
	}
}
