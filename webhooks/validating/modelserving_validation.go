package validating

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// ModelServing judges a new ModelServing. An empty list promises that the objects that are made
// from it have valid names, and that the API server accepts its Pods as far as their templates show.
func ModelServing(ms *workloadv1alpha1.ModelServing, s Surroundings) (field.ErrorList, []Warning) {
	errs := modelServingSpec(ms)
	refErrs, warnings := modelServingGateway(ms, s)
	return append(errs, refErrs...), append(modelServingWarnings(ms, s), warnings...)
}

// ModelServingUpdate judges an update. Faults that old has too, in a part that the update leaves as
// it was, come back as warnings: old objects keep taking labels, finalizers and other changes.
// An object that is being deleted is not judged.
func ModelServingUpdate(ms, old *workloadv1alpha1.ModelServing, s Surroundings) (field.ErrorList, []Warning) {
	if ms.DeletionTimestamp != nil {
		return nil, nil
	}
	errs, warnings := ratchet(
		modelServingSpec(ms), modelServingSpec(old),
		modelServingPart(ms), modelServingPart(old),
	)
	if reflect.DeepEqual(ms.Spec, old.Spec) {
		return errs, warnings
	}

	refErrs, refWarnings := modelServingGateway(ms, s)
	if reflect.DeepEqual(ms.Spec.GatewayRef, old.Spec.GatewayRef) {
		refWarnings = append(asWarnings(refErrs), refWarnings...)
		refErrs = nil
	}
	errs = append(errs, refErrs...)
	warnings = append(warnings, modelServingWarnings(ms, s)...)
	return errs, append(warnings, refWarnings...)
}

// modelServingSpec holds the rules that need nothing but the object.
func modelServingSpec(ms *workloadv1alpha1.ModelServing) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	errs = append(errs, validateNames(ms)...)
	errs = append(errs, validateRecovery(ms, spec)...)
	errs = append(errs, validateSize(ms, ptr.Deref(ms.Spec.Replicas, 1), spec.Child("replicas"))...)
	errs = append(errs, validateRollout(ms, spec.Child("rolloutStrategy"))...)
	template := spec.Child("template")
	errs = append(errs, validateGangPolicy(ms, template.Child("gangPolicy", "minRoleReplicas"))...)
	errs = append(errs, validateTopology(ms.Spec.Template.NetworkTopology, template.Child("networkTopology"))...)
	errs = append(errs, validateRoles(ms, template.Child("roles"))...)
	errs = append(errs, validateRequests(ms, template.Child("roles"))...)
	if ref := ms.Spec.GatewayRef; ref != nil {
		path := spec.Child("gatewayRef")
		errs = append(errs, validateRef(refFields{ref.Name, ref.Namespace, ref.SectionName, ref.Host}, path)...)
		errs = append(errs, validateRefTarget(ms, path)...)
	}
	return errs
}

// roleNames are the names of the roles, in their order.
func roleNames(ms *workloadv1alpha1.ModelServing) []string {
	all := make([]string, 0, len(ms.Spec.Template.Roles))
	for i := range ms.Spec.Template.Roles {
		all = append(all, ms.Spec.Template.Roles[i].Name)
	}
	return all
}

// findRole is the first role of that name and its index; nil when there is none.
func findRole(ms *workloadv1alpha1.ModelServing, name string) (*workloadv1alpha1.Role, int) {
	for i := range ms.Spec.Template.Roles {
		if ms.Spec.Template.Roles[i].Name == name {
			return &ms.Spec.Template.Roles[i], i
		}
	}
	return nil, -1
}
