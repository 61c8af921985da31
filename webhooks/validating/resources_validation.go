package validating

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	ruleResourceName = newRule(Rule{
		ID: "resource-name", Effect: Rejects, Field: "resources.{requests,limits}[]",
		Says:    "must be cpu, memory, ephemeral-storage, hugepages-<size>, or an extended resource named domain/name",
		Example: "limits: {gpu: 1}",
		Fix:     "use the full name, for example nvidia.com/gpu",
	})
	ruleResourceQuantity = newRule(Rule{
		ID: "resource-quantity", Effect: Rejects, Field: "resources.{requests,limits}[]",
		Says:    "must be 0 or more, and whole for an extended resource",
		Example: "limits: {nvidia.com/gpu: 500m}",
		Fix:     "use a whole number for devices",
	})
	ruleResourceLimit = newRule(Rule{
		ID: "resource-limit", Effect: Rejects, Field: "resources.requests[]",
		Says:    "a request must be no more than its limit",
		Example: "requests: {memory: 16Gi} with limits: {memory: 8Gi}",
		Fix:     "lower the request, or raise the limit",
	})
	ruleResourceExtended = newRule(Rule{
		ID: "resource-extended", Effect: Rejects, Field: "resources.requests[]",
		Says:    "an extended resource must not be overcommitted: its request and its limit must be equal",
		Example: "requests: {nvidia.com/gpu: 1} with limits: {nvidia.com/gpu: 2}",
		Fix:     "give both the same quantity, or only the limit",
	})
	ruleResourceClaim = newRule(Rule{
		ID: "resource-claim", Effect: Rejects, Field: "*Template.spec.containers[].resources.claims[]",
		Says:    "a container must claim what the Pod's resourceClaims list",
		Example: "claims: [{name: gpu}] without that resourceClaim",
		Fix:     "add it to spec.resourceClaims",
	})
)

func validateResources(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		field      string
		quantities corev1.ResourceList
	}{
		{"limits", r.Limits}, {"requests", r.Requests},
	} {
		for _, name := range sortedNames(list.quantities) {
			if len(errs) >= enough {
				break
			}
			errs = append(errs, validateQuantity(name, list.quantities[name], path.Child(list.field).Key(clip(string(name))))...)
		}
	}
	for _, name := range sortedNames(r.Requests) {
		if len(errs) >= enough {
			break
		}
		errs = append(errs, validateRequest(name, r, path.Child("requests").Key(clip(string(name))))...)
	}
	return errs
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

func validateQuantity(name corev1.ResourceName, q resource.Quantity, path *field.Path) field.ErrorList {
	if !isStandard(name) && !isQualified(name) {
		return field.ErrorList{ruleResourceName.invalid(path, string(name), "use the full name, for example %q", fullResourceName(string(name)))}
	}
	switch {
	case q.Sign() < 0:
		return field.ErrorList{ruleResourceQuantity.invalid(path, quantityText(q), "use 0 or more")}
	case isExtended(name) && q.MilliValue()%1000 != 0:
		return field.ErrorList{ruleResourceQuantity.invalid(path, quantityText(q), "use a whole number")}
	}
	return nil
}

func validateRequest(name corev1.ResourceName, r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	request := r.Requests[name]
	limit, limited := r.Limits[name]
	if isOvercommitted(name) {
		if limited && request.Cmp(limit) > 0 {
			return field.ErrorList{ruleResourceLimit.invalid(path, quantityText(request),
				"lower it, or raise the limit of %s", quantityText(limit))}
		}
		return nil
	}
	switch {
	case !limited:
		return field.ErrorList{ruleResourceExtended.invalid(path, quantityText(request), "set the limit to the same")}
	case request.Cmp(limit) != 0:
		return field.ErrorList{ruleResourceExtended.invalid(path, quantityText(request),
			"make it %s, as the limit, or change the limit", quantityText(limit))}
	}
	return nil
}

// quantityText is bounded: a decoded quantity may be of any length.
func quantityText(q resource.Quantity) string { return clip(q.String()) }

// isStandard is true for the resources that Kubernetes itself accounts for in containers.
func isStandard(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return isHugePages(name)
}

func isHugePages(name corev1.ResourceName) bool {
	size, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !ok {
		return false
	}
	_, err := resource.ParseQuantity(size)
	return err == nil
}

// isExtended is true for qualified names outside Kubernetes' own domain, as the API server tells
// the resources that it never overcommits.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") &&
		!strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// isQualified is true for any name with a domain.
func isQualified(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && len(validation.IsQualifiedName(string(name))) == 0
}

func isOvercommitted(name corev1.ResourceName) bool {
	return !isExtended(name) && !isHugePages(name)
}

func fullResourceName(name string) string {
	if strings.Contains(strings.ToLower(name), "gpu") || name == "" {
		return "nvidia.com/gpu"
	}
	return "example.com/" + clip(name)
}
