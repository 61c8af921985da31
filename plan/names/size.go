package names

import (
	"math"

	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// MaxPods is how many Pods Kubernetes supports in a cluster
// (https://kubernetes.io/docs/setup/best-practices/cluster-large). Who asks for more has mistyped, and
// would keep the controller from everybody else's work.
const MaxPods = 150_000

// PodsOfGroup is the number of Pods of one ServingGroup. Negative numbers count for nothing.
func PodsOfGroup(spec *workloadv1alpha1.ModelServingSpec) int64 {
	var n int64
	for i := range spec.Template.Roles {
		r := &spec.Template.Roles[i]
		of := times(int64(ptr.Deref(r.Replicas, 1)), 1+int64(r.WorkerReplicas))
		if n > math.MaxInt64-of {
			return math.MaxInt64
		}
		n += of
	}
	return n
}

// Size is the number of Pods of so many ServingGroups; a group without Pods counts for one, being an
// object, too.
func Size(spec *workloadv1alpha1.ModelServingSpec, replicas int32) int64 {
	return times(int64(replicas), max(PodsOfGroup(spec), 1))
}

// times multiplies counts; what is too large is the largest number.
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
