package validating

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var ruleScaleNames = newRule(Rule{
	ID: "scale-name-length", Effect: Rejects, Field: "spec.replicas (of /scale)",
	Says:    "every name that is made at this scale must have at most 63 characters",
	Example: "kubectl scale ms/<a name of 50 characters> --replicas 1000",
	Fix:     "use no more replicas than the message says",
})

// Scale judges a change of the number of ServingGroups through the scale subresource. What does not
// depend on that number is not judged again.
func Scale(ms *workloadv1alpha1.ModelServing, replicas int32) field.ErrorList {
	path := field.NewPath("spec", "replicas")
	if replicas < 0 {
		return notNegative(int64(replicas), path)
	}
	now := ptr.Deref(ms.Spec.Replicas, 1)
	if replicas <= now {
		return nil
	}
	if errs := validateSize(ms, replicas, path); len(errs) > 0 {
		return errs
	}
	scaled := withReplicas(ms, replicas)
	l := names.Longest(scaled)
	if l.Excess == 0 || l.Excess <= names.Longest(ms).Excess {
		return nil
	}
	// The length grows with the number, so that the most that fits is found by halving.
	fits, exceeds := now, replicas
	for exceeds-fits > 1 {
		middle := fits + (exceeds-fits)/2
		if names.Longest(withReplicas(ms, middle)).Excess > names.Longest(ms).Excess {
			exceeds = middle
		} else {
			fits = middle
		}
	}
	return field.ErrorList{ruleScaleNames.invalid(path, replicas,
		"%q would have %d: use at most %d replicas", clip(l.Name), len(l.Name), fits)}
}

// withReplicas is a shallow copy that only the length of names is read from.
func withReplicas(ms *workloadv1alpha1.ModelServing, replicas int32) *workloadv1alpha1.ModelServing {
	scaled := *ms
	scaled.Spec.Replicas = &replicas
	return &scaled
}
