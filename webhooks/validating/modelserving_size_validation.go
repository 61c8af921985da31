package validating

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var ruleSize = newRule(Rule{
	ID: "size", Effect: Rejects, Field: "spec.replicas",
	Says:    "all ServingGroups together must have at most 150000 Pods, as many as Kubernetes supports in a cluster",
	Example: "replicas: 2000000000",
	Fix:     "lower replicas, or the replicas or workerReplicas of a role",
})

func validateSize(ms *workloadv1alpha1.ModelServing, replicas int32, path *field.Path) field.ErrorList {
	if names.Size(&ms.Spec, replicas) <= names.MaxPods {
		return nil
	}
	per := names.PodsOfGroup(&ms.Spec)
	switch {
	case per > names.MaxPods:
		return field.ErrorList{ruleSize.invalid(path, replicas, "each would have %d: lower the replicas or workerReplicas of a role", per)}
	case per > 1:
		return field.ErrorList{ruleSize.invalid(path, replicas, "use at most %d, or smaller roles: each has %d", names.MaxPods/per, per)}
	default:
		return field.ErrorList{ruleSize.invalid(path, replicas, "use at most %d", names.MaxPods)}
	}
}
