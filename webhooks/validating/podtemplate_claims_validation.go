package validating

import (
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	rulePodClaim = newRule(Rule{
		ID: "pod-resource-claim", Effect: Rejects, Field: "*Template.spec.resourceClaims[]",
		Says:    "a resource claim must have a DNS-1123 label of its own as name, and either resourceClaimName or resourceClaimTemplateName",
		Example: "resourceClaims: [{name: gpu}]",
		Fix:     "name the claim's template",
	})
	rulePodGate = newRule(Rule{
		ID: "pod-gate", Effect: Rejects, Field: "*Template.spec.{readinessGates,schedulingGates}[]",
		Says:    "a gate must be named as a label key is, each once",
		Example: "readinessGates: [{conditionType: \"a b\"}]",
		Fix:     "correct the name",
	})
	rulePodPriority = newRule(Rule{
		ID: "pod-priority", Effect: Rejects, Field: "*Template.spec.{priority,preemptionPolicy,overhead}",
		Says:    "must not be set by hand: it follows from priorityClassName, or from runtimeClassName",
		Example: "priority: 1000",
		Fix:     "remove it, and name the class",
	})
	rulePodResources = newRule(Rule{
		ID: "pod-resources", Effect: Rejects, Field: "*Template.spec.resources",
		Says:    "resources of a whole Pod must be cpu, memory or hugepages, and no claims",
		Example: "resources: {limits: {nvidia.com/gpu: 1}} of the Pod",
		Fix:     "move it to a container",
	})
)

func validateClaims(claims []corev1.PodResourceClaim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range judged(len(claims), &errs) {
		c, at := &claims[i], path.Index(i)
		switch {
		case len(validation.IsDNS1123Label(c.Name)) > 0:
			errs = append(errs, rulePodClaim.invalid(at.Child("name"), c.Name, "use lower case, digits and '-'"))
		case seen.Has(c.Name):
			errs = append(errs, rulePodClaim.duplicate(at.Child("name"), c.Name, "rename one of the two"))
		}
		seen.Insert(c.Name)
		if (c.ResourceClaimName == nil) == (c.ResourceClaimTemplateName == nil) {
			errs = append(errs, rulePodClaim.invalid(at, c.Name, "give one of resourceClaimName and resourceClaimTemplateName"))
		}
		errs = append(errs, validateRequiredReference(c.ResourceClaimName, at.Child("resourceClaimName"))...)
		errs = append(errs, validateRequiredReference(c.ResourceClaimTemplateName, at.Child("resourceClaimTemplateName"))...)
	}
	return errs
}

func validateRequiredReference(name *string, path *field.Path) field.ErrorList {
	if name != nil && *name == "" {
		return field.ErrorList{rulePodReference.required(path, "name it, or leave it out")}
	}
	if name == nil {
		return nil
	}
	return validateReference(*name, path)
}

func validateGates(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range judged(len(spec.ReadinessGates), &errs) {
		at := path.Child("readinessGates").Index(i).Child("conditionType")
		errs = append(errs, rulePodGate.adopt(metav1validation.ValidateLabelName(string(spec.ReadinessGates[i].ConditionType), at))...)
	}
	seen := sets.New[string]()
	for i := range judged(len(spec.SchedulingGates), &errs) {
		name, at := spec.SchedulingGates[i].Name, path.Child("schedulingGates").Index(i).Child("name")
		errs = append(errs, rulePodGate.adopt(metav1validation.ValidateLabelName(name, at))...)
		if seen.Has(name) {
			errs = append(errs, rulePodGate.duplicate(at, name, "remove one of the two"))
		}
		seen.Insert(name)
	}
	return errs
}

// validateComputed refuses what admission plugins of the API server compute and accept from nobody.
func validateComputed(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p := spec.Priority; p != nil && *p != 0 && spec.PriorityClassName == "" {
		errs = append(errs, rulePodPriority.invalid(path.Child("priority"), *p, "remove it, and set priorityClassName"))
	}
	if p := spec.PreemptionPolicy; p != nil {
		errs = append(errs, oneOf(*p, path.Child("preemptionPolicy"), corev1.PreemptLowerPriority, corev1.PreemptNever)...)
		if *p == corev1.PreemptNever && spec.PriorityClassName == "" {
			errs = append(errs, rulePodPriority.invalid(path.Child("preemptionPolicy"), string(*p), "remove it, and set priorityClassName"))
		}
	}
	if len(spec.Overhead) > 0 && spec.RuntimeClassName == nil {
		errs = append(errs, rulePodPriority.invalid(path.Child("overhead"), int64(len(spec.Overhead)), "remove it, and set runtimeClassName"))
	}
	if spec.OS != nil && spec.OS.Name == "" {
		errs = append(errs, rulePodEnum.required(path.Child("os", "name"), "use linux or windows, or leave os out"))
	} else if spec.OS != nil {
		errs = append(errs, oneOf(spec.OS.Name, path.Child("os", "name"), corev1.Linux, corev1.Windows)...)
	}
	return errs
}

func validatePodResources(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	errs := validateResources(r, path)
	if len(r.Claims) > 0 {
		errs = append(errs, rulePodResources.invalid(path.Child("claims"), int64(len(r.Claims)), "move them to a container"))
	}
	for _, list := range []struct {
		field      string
		quantities corev1.ResourceList
	}{
		{"limits", r.Limits}, {"requests", r.Requests},
	} {
		for _, name := range sortedNames(list.quantities) {
			if len(errs) >= enough {
				return errs
			}
			if isExtended(name) || name == corev1.ResourceEphemeralStorage {
				errs = append(errs, rulePodResources.invalid(path.Child(list.field).Key(clip(string(name))), string(name), "move it to a container"))
			}
		}
	}
	return errs
}
