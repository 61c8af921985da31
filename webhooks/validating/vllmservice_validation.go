package validating

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var (
	ruleServiceName = newRule(Rule{
		ID: "service-name", Effect: Rejects, Field: "metadata.name (VLLMService)",
		Says:    "must be a DNS-1035 label of at most 63 characters, since the Service has the same name",
		Example: "name: qwen2.5",
		Fix:     "rename it as the message proposes",
	})
	ruleVLLMPort = newRule(Rule{
		ID: "vllm-port", Effect: Rejects, Field: "spec.port",
		Says:    "must be a number from 1 to 65535",
		Example: "port: 0",
		Fix:     "use such a number, or leave it out for 8000",
	})
	ruleVLLMRequired = newRule(Rule{
		ID: "vllm-required", Effect: Rejects, Field: "spec.{modelPath,modelName,storage.pvcName}",
		Says:    "vLLM needs to know which model it serves, under which name, and where it is stored",
		Example: "modelName: \"\"",
		Fix:     "fill it in",
	})
	ruleVLLMLabels = newRule(Rule{
		ID: "vllm-labels", Effect: Rejects, Field: "spec.labels[], spec.monitoring.labels[]",
		Says:    "labels must follow the rules of Kubernetes",
		Example: "labels: {team: \"a b\"}",
		Fix:     "correct the key or the value",
	})
	ruleVLLMSelector = newRule(Rule{
		ID: "vllm-selector", Effect: Rejects, Field: "spec.labels[]",
		Says:    "must not be set, since the Deployment and the Service select their Pods by this label",
		Example: "labels: {gangway.dev/vllmservice: x}",
		Fix:     "remove it, or use another key",
	})
)

// VLLMService judges a new VLLMService. An empty list promises that the API server accepts what is
// made from it, as far as the object shows.
func VLLMService(v *aiinfrav1alpha1.VLLMService, s Surroundings) (field.ErrorList, []Warning) {
	errs := vllmServiceSpec(v)
	refErrs, warnings := vllmServiceGateway(v, s)
	return append(errs, refErrs...), append(vllmServiceWarnings(v), warnings...)
}

// VLLMServiceUpdate judges an update, with the ratcheting of ModelServingUpdate.
func VLLMServiceUpdate(v, old *aiinfrav1alpha1.VLLMService, s Surroundings) (field.ErrorList, []Warning) {
	if v.DeletionTimestamp != nil {
		return nil, nil
	}
	errs, warnings := ratchet(vllmServiceSpec(v), vllmServiceSpec(old), asWritten, asWritten)
	if reflect.DeepEqual(v.Spec, old.Spec) {
		return errs, warnings
	}

	refErrs, refWarnings := vllmServiceGateway(v, s)
	if reflect.DeepEqual(v.Spec.GatewayRef, old.Spec.GatewayRef) {
		refWarnings = append(asWarnings(refErrs), refWarnings...)
		refErrs = nil
	}
	errs = append(errs, refErrs...)
	warnings = append(warnings, vllmServiceWarnings(v)...)
	return errs, append(warnings, refWarnings...)
}

func vllmServiceSpec(v *aiinfrav1alpha1.VLLMService) field.ErrorList {
	spec, s := field.NewPath("spec"), &v.Spec
	var errs field.ErrorList
	errs = append(errs, validateServiceName(v.Name)...)
	errs = append(errs, validateImage(s.Image, spec.Child("image"))...)
	errs = append(errs, vllmRequired(s.ModelName, spec.Child("modelName"))...)
	errs = append(errs, validateStorage(s, spec)...)
	errs = append(errs, notNegative(int64(ptr.Deref(s.Replicas, 1)), spec.Child("replicas"))...)
	if s.Port != 0 && len(validation.IsValidPortNum(int(s.Port))) > 0 {
		errs = append(errs, ruleVLLMPort.invalid(spec.Child("port"), s.Port, "use such a number, or leave it out for 8000"))
	}
	errs = append(errs, validateResources(&s.Resources, spec.Child("resources"))...)
	errs = append(errs, validateEngine(s, spec)...)
	errs = append(errs, validateVLLMLabels(s, spec)...)
	errs = append(errs, validateVLLMPod(s, spec)...)
	if ref := s.GatewayRef; ref != nil {
		errs = append(errs, validateRef(refFields{ref.Name, ref.Namespace, ref.SectionName, ref.Host}, spec.Child("gatewayRef"))...)
	}
	return errs
}

func validateServiceName(name string) field.ErrorList {
	if name == "" {
		return nil // the API server's own fault to report
	}
	path := field.NewPath("metadata", "name")
	var errs field.ErrorList
	if !isDNS1035Shaped(name) {
		errs = append(errs, ruleServiceName.invalid(path, name, "rename it, for example to %q", dns1035From(name)))
	}
	if tooMany := len(name) - validation.DNS1035LabelMaxLength; tooMany > 0 {
		errs = append(errs, ruleServiceName.invalid(path, name, "remove %s", characters(tooMany)))
	}
	return errs
}

func vllmRequired(value string, path *field.Path) field.ErrorList {
	if value != "" {
		return nil
	}
	return field.ErrorList{ruleVLLMRequired.required(path, "fill it in")}
}

func validateVLLMLabels(s *aiinfrav1alpha1.VLLMServiceSpec, spec *field.Path) field.ErrorList {
	path := spec.Child("labels")
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if key == names.LabelVLLMService {
			errs = append(errs, ruleVLLMSelector.invalid(path.Key(key), s.Labels[key], "remove it, or use another key"))
		}
	}
	errs = append(errs, ruleVLLMLabels.adopt(validateLabels(s.Labels, path))...)
	if s.Monitoring != nil {
		errs = append(errs, ruleVLLMLabels.adopt(validateLabels(s.Monitoring.Labels, spec.Child("monitoring", "labels")))...)
	}
	return errs
}

// asWritten is for a kind without lists of named parts.
func asWritten(path string) string { return path }
