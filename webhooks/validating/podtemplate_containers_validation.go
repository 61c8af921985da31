package validating

import (
	"cmp"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	rulePodContainers = newRule(Rule{
		ID: "pod-containers", Effect: Rejects, Field: "*Template.spec.containers",
		Says:    "a Pod must have one container or more",
		Example: "containers: []",
		Fix:     "add a container",
	})
	rulePodContainerName = newRule(Rule{
		ID: "pod-container-name", Effect: Rejects, Field: "*Template.spec.containers[].name",
		Says:    "must be a DNS-1123 label of at most 63 characters",
		Example: "name: vLLM_server",
		Fix:     "use lower case, digits and '-'",
	})
	rulePodContainerUnique = newRule(Rule{
		ID: "pod-container-unique", Effect: Rejects, Field: "*Template.spec.containers[].name",
		Says:    "each container and init container of a Pod must have a name of its own",
		Example: "two containers named server",
		Fix:     "rename one",
	})
	rulePodImage = newRule(Rule{
		ID: "pod-image", Effect: Rejects, Field: "*Template.spec.containers[].image",
		Says:    "must be an image: [registry/]repository[:tag][@digest], the repository in lower case",
		Example: "image: registry.example/LLM:1",
		Fix:     "correct the name of the image",
	})
	rulePodInit = newRule(Rule{
		ID: "pod-init-container", Effect: Rejects, Field: "*Template.spec.initContainers[]",
		Says:    "an init container that ends must have no probes and no lifecycle hooks",
		Example: "readinessProbe on an init container",
		Fix:     "set restartPolicy: Always to make it a sidecar, or remove the probe or hook",
	})
)

func validateContainers(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	pod := podParts{
		volumes:     namesOf(spec.Volumes, func(v *corev1.Volume) string { return v.Name }),
		claims:      namesOf(spec.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name }),
		hostNetwork: spec.HostNetwork,
		hostPorts:   sets.New[hostPort](),
	}
	seen := sets.New[string]()
	for i := range judged(len(spec.InitContainers), &errs) {
		c, at := &spec.InitContainers[i], path.Child("initContainers").Index(i)
		errs = append(errs, validateContainerName(c.Name, seen, at.Child("name"))...)
		errs = append(errs, validateContainer(c, pod, at)...)
		errs = append(errs, validateInitContainer(c, at)...)
	}
	if len(spec.Containers) == 0 {
		errs = append(errs, rulePodContainers.required(path.Child("containers"), "add a container"))
	}
	for i := range judged(len(spec.Containers), &errs) {
		c, at := &spec.Containers[i], path.Child("containers").Index(i)
		errs = append(errs, validateContainerName(c.Name, seen, at.Child("name"))...)
		errs = append(errs, validateContainer(c, pod, at)...)
		errs = append(errs, validateContainerRestart(c, at)...)
	}
	return errs
}

// podParts is what a container may refer to.
type podParts struct {
	volumes, claims known
	hostNetwork     bool
	hostPorts       sets.Set[hostPort]
}

func validateContainerName(name string, seen sets.Set[string], path *field.Path) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{rulePodContainerName.required(path, "name it, for example \"server\"")}
	case len(validation.IsDNS1123Label(name)) > 0:
		return field.ErrorList{rulePodContainerName.invalid(path, name, "use lower case, digits and '-', for example \"server\"")}
	case seen.Has(name):
		return field.ErrorList{rulePodContainerUnique.duplicate(path, name, "rename it")}
	}
	seen.Insert(name)
	return nil
}

func validateContainer(c *corev1.Container, pod podParts, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateImage(c.Image, path.Child("image"))...)
	errs = append(errs, oneOf(c.ImagePullPolicy, path.Child("imagePullPolicy"),
		corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, oneOf(c.TerminationMessagePolicy, path.Child("terminationMessagePolicy"),
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, validatePorts(c.Ports, pod, path.Child("ports"))...)
	errs = append(errs, validateEnv(c.Env, path.Child("env"))...)
	errs = append(errs, validateEnvFrom(c.EnvFrom, path.Child("envFrom"))...)
	errs = append(errs, validateResources(&c.Resources, path.Child("resources"))...)
	for i := range judged(len(c.Resources.Claims), &errs) {
		if name := c.Resources.Claims[i].Name; !pod.claims.has(name) {
			errs = append(errs, ruleResourceClaim.notFound(path.Child("resources", "claims").Index(i).Child("name"), name,
				"add it to the template's spec.resourceClaims, which has %s", quotedList(pod.claims.listed)))
		}
	}
	errs = append(errs, validateMounts(c, pod.volumes, path)...)
	errs = append(errs, validateLifecycle(c.Lifecycle, path.Child("lifecycle"))...)
	errs = append(errs, validateResize(c.ResizePolicy, path.Child("resizePolicy"))...)
	errs = append(errs, validateProbe(c.LivenessProbe, true, path.Child("livenessProbe"))...)
	errs = append(errs, validateProbe(c.ReadinessProbe, false, path.Child("readinessProbe"))...)
	errs = append(errs, validateProbe(c.StartupProbe, true, path.Child("startupProbe"))...)
	return append(errs, validateSecurityContext(c.SecurityContext, path.Child("securityContext"))...)
}

// maxImage is longer than any valid image: a repository of 255 characters, a tag of 128, a digest.
const maxImage = 1024

// validateImage judges a name as the kubelet parses it.
func validateImage(image string, path *field.Path) field.ErrorList {
	if image == "" {
		return field.ErrorList{rulePodImage.required(path, "name the image, for example \"registry.example/llm:1\"")}
	}
	if len(image) > maxImage {
		return field.ErrorList{rulePodImage.invalid(path, image, "shorten it to less than %d characters", maxImage)}
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return field.ErrorList{rulePodImage.invalid(path, image, "correct it: %s", clipDetail(err.Error()))}
	}
	return nil
}

func validateInitContainer(c *corev1.Container, path *field.Path) field.ErrorList {
	if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		return nil
	}
	var errs field.ErrorList
	for _, part := range []struct {
		field string
		set   bool
	}{
		{"lifecycle", c.Lifecycle != nil},
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
	} {
		if part.set {
			errs = append(errs, rulePodInit.invalid(path.Child(part.field), c.Name,
				"remove it, or set restartPolicy: Always to make the container a sidecar"))
		}
	}
	return errs
}

func validateResize(policies []corev1.ContainerResizePolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range judged(len(policies), &errs) {
		p, at := &policies[i], path.Index(i)
		if p.ResourceName != corev1.ResourceCPU && p.ResourceName != corev1.ResourceMemory {
			errs = append(errs, rulePodEnum.invalid(at.Child("resourceName"), string(p.ResourceName), "use cpu or memory"))
		}
		if p.RestartPolicy != corev1.NotRequired && p.RestartPolicy != corev1.RestartContainer {
			errs = append(errs, rulePodEnum.invalid(at.Child("restartPolicy"), string(p.RestartPolicy), "use NotRequired or RestartContainer"))
		}
	}
	return errs
}

func compareStrings(a, b string) int { return cmp.Compare(a, b) }
