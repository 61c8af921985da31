package validating

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var (
	rulePodRestartPolicy = newRule(Rule{
		ID: "pod-restart-policy", Effect: Rejects, Field: "*Template.spec.restartPolicy",
		Says:    "must be Always, since the Pods of a ModelServing serve until they are deleted",
		Example: "restartPolicy: Never",
		Fix:     "remove it; spec.recoveryPolicy says what a failure leads to",
	})
	rulePodReservedLabel = newRule(Rule{
		ID: "pod-reserved-label", Effect: Rejects, Field: "*Template.metadata.labels[]",
		Says:    "Gangway sets this label itself",
		Example: "labels: {modelserving.volcano.sh/role: x}",
		Fix:     "remove it, or use another key",
	})
	rulePodReservedAnnotation = newRule(Rule{
		ID: "pod-reserved-annotation", Effect: Rejects, Field: "*Template.metadata.annotations[]",
		Says:    "Gangway sets this annotation itself, to tie the Pod to its gang",
		Example: "annotations: {scheduling.k8s.io/group-name: x}",
		Fix:     "remove it",
	})
	rulePodMetadata = newRule(Rule{
		ID: "pod-metadata", Effect: Rejects, Field: "*Template.metadata",
		Says:    "labels and annotations must follow the rules of Kubernetes for keys and values",
		Example: "labels: {app: \"my app\"}",
		Fix:     "correct the key or the value",
	})
	rulePodScheduler = newRule(Rule{
		ID: "pod-scheduler", Effect: Rejects, Field: "*Template.spec.schedulerName",
		Says:    "must be the scheduler that spec.schedulerName names, for all Pods",
		Example: "schedulerName: default-scheduler in a template",
		Fix:     "remove it from the template, or change spec.schedulerName",
	})
	rulePodHostname = newRule(Rule{
		ID: "pod-hostname", Effect: Rejects, Field: "*Template.spec.{hostname,subdomain,hostnameOverride}",
		Says:    "Pods get their host names from Gangway's naming, and find each other by ENTRY_ADDRESS",
		Example: "hostname: server",
		Fix:     "remove it",
	})
	rulePodEphemeral = newRule(Rule{
		ID: "pod-ephemeral-containers", Effect: Rejects, Field: "*Template.spec.ephemeralContainers",
		Says:    "ephemeral containers are added to running Pods and cannot stand in a template",
		Example: "ephemeralContainers: [{name: debug}]",
		Fix:     "remove them; use kubectl debug",
	})
	rulePodReference = newRule(Rule{
		ID: "pod-reference", Effect: Rejects, Field: "*Template.spec.{serviceAccountName,priorityClassName,runtimeClassName,nodeName}",
		Says:    "must be the name of an object: a DNS-1123 subdomain",
		Example: "serviceAccountName: My_Account",
		Fix:     "use the object's name: lower case, digits, '-' and '.'",
	})
	rulePodEnum = newRule(Rule{
		ID: "pod-enum", Effect: Rejects, Field: "*Template.spec",
		Says:    "must be one of the values that Kubernetes knows",
		Example: "imagePullPolicy: Sometimes",
		Fix:     "use one of the listed values",
	})
	rulePodDeadline = newRule(Rule{
		ID: "pod-deadline", Effect: Rejects, Field: "*Template.spec.activeDeadlineSeconds",
		Says:    "must be 1 or more",
		Example: "activeDeadlineSeconds: 0",
		Fix:     "remove it: Pods that serve have no deadline",
	})
)

// validatePodTemplate refuses what the API server would refuse when the controller creates the Pod.
func validatePodTemplate(t *workloadv1alpha1.PodTemplateSpec, schedulerName string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Metadata != nil {
		errs = append(errs, validatePodMetadata(t.Metadata, path.Child("metadata"))...)
	}
	spec, at := &t.Spec, path.Child("spec")
	if s := spec.SchedulerName; s != "" && s != schedulerName {
		errs = append(errs, rulePodScheduler.invalid(at.Child("schedulerName"), s,
			"remove it, or change spec.schedulerName from %q", clip(schedulerName)))
	}
	if spec.Hostname != "" {
		errs = append(errs, rulePodHostname.invalid(at.Child("hostname"), spec.Hostname, "remove it"))
	}
	if spec.Subdomain != "" {
		errs = append(errs, rulePodHostname.invalid(at.Child("subdomain"), spec.Subdomain, "remove it"))
	}
	if spec.HostnameOverride != nil {
		errs = append(errs, rulePodHostname.invalid(at.Child("hostnameOverride"), *spec.HostnameOverride, "remove it"))
	}
	if p := spec.RestartPolicy; p != "" && p != corev1.RestartPolicyAlways {
		errs = append(errs, rulePodRestartPolicy.invalid(at.Child("restartPolicy"), string(p),
			"remove it; spec.recoveryPolicy says what a failure leads to"))
	}
	for i := range judged(len(spec.EphemeralContainers), &errs) {
		errs = append(errs, rulePodEphemeral.invalid(at.Child("ephemeralContainers").Index(i), spec.EphemeralContainers[i].Name,
			"remove it; use kubectl debug"))
	}
	errs = append(errs, validatePodReferences(spec, at)...)
	errs = append(errs, validatePodSettings(spec, at)...)
	errs = append(errs, validateContainers(spec, at)...)
	errs = append(errs, validateVolumes(spec.Volumes, at.Child("volumes"))...)
	return append(errs, validateScheduling(podScheduling{
		spec.NodeSelector, spec.Tolerations, spec.Affinity, spec.TopologySpreadConstraints,
	}, at)...)
}

func validatePodMetadata(m *workloadv1alpha1.PodMetadata, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	labels := path.Child("labels")
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		if slices.Contains(names.ReservedLabels(), key) {
			errs = append(errs, rulePodReservedLabel.invalid(labels.Key(key), m.Labels[key], "remove it, or use another key"))
		}
	}
	errs = append(errs, rulePodMetadata.adopt(validateLabels(m.Labels, labels))...)

	annotations := path.Child("annotations")
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		if slices.Contains(names.ReservedAnnotations(), key) {
			errs = append(errs, rulePodReservedAnnotation.invalid(annotations.Key(key), m.Annotations[key], "remove it"))
		}
	}
	found := apivalidation.ValidateAnnotations(m.Annotations, annotations)
	sortByValue(found)
	return append(errs, rulePodMetadata.adopt(found)...)
}

// validateLabels is apimachinery's ValidateLabels in a fixed order and with the key in the path.
func validateLabels(labels map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if len(errs) >= enough {
			break
		}
		at := path.Key(clip(key))
		errs = append(errs, metav1validation.ValidateLabelName(key, at)...)
		for _, msg := range validation.IsValidLabelValue(labels[key]) {
			errs = append(errs, field.Invalid(at, labels[key], msg))
		}
	}
	return errs
}

func validatePodReferences(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	refs := []struct{ field, name string }{
		{"serviceAccountName", spec.ServiceAccountName},
		{"priorityClassName", spec.PriorityClassName},
		{"nodeName", spec.NodeName},
	}
	if spec.RuntimeClassName != nil {
		refs = append(refs, struct{ field, name string }{"runtimeClassName", *spec.RuntimeClassName})
	}
	var errs field.ErrorList
	for _, r := range refs {
		errs = append(errs, validateReference(r.name, path.Child(r.field))...)
	}
	return errs
}

// validateReference accepts an empty name: nothing is referred to.
func validateReference(name string, path *field.Path) field.ErrorList {
	if name == "" || len(apivalidation.NameIsDNSSubdomain(name, false)) == 0 {
		return nil
	}
	return field.ErrorList{rulePodReference.invalid(path, name, "use the object's name: lower case, digits, '-' and '.'")}
}

func validatePodSettings(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if d := spec.ActiveDeadlineSeconds; d != nil && *d < 1 {
		errs = append(errs, rulePodDeadline.invalid(path.Child("activeDeadlineSeconds"), *d, "remove it: Pods that serve have no deadline"))
	}
	errs = append(errs, validateNetwork(spec, path)...)
	errs = append(errs, validateComputed(spec, path)...)
	errs = append(errs, validateGates(spec, path)...)
	errs = append(errs, validateClaims(spec.ResourceClaims, path.Child("resourceClaims"))...)
	errs = append(errs, validatePodResources(spec.Resources, path.Child("resources"))...)
	return append(errs, validatePodSecurityContext(spec.SecurityContext, path.Child("securityContext"))...)
}

// oneOf accepts an empty value: the API server defaults it.
func oneOf[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	listed := make([]string, 0, len(allowed))
	for _, a := range allowed {
		listed = append(listed, string(a))
	}
	return field.ErrorList{rulePodEnum.invalid(path, string(value), "use one of %s, or leave it out", quotedList(listed))}
}

// sortByValue puts faults that a library found in the order of a map into a fixed one.
func sortByValue(errs field.ErrorList) {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return compareStrings(a.Error(), b.Error())
	})
}
