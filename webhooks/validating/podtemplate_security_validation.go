package validating

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var rulePodSecurity = newRule(Rule{
	ID: "pod-security", Effect: Rejects, Field: "*Template.spec[.containers[]].securityContext",
	Says:    "users and groups must be numbers from 0 to 2147483647, a privileged container may escalate, and only profiles of type Localhost name a file",
	Example: "runAsUser: -1",
	Fix:     "correct the number, or drop one of the two contradicting settings",
})

func validatePodSecurityContext(c *corev1.PodSecurityContext, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, validateID(c.RunAsUser, path.Child("runAsUser"))...)
	errs = append(errs, validateID(c.RunAsGroup, path.Child("runAsGroup"))...)
	errs = append(errs, validateID(c.FSGroup, path.Child("fsGroup"))...)
	for i := range judged(len(c.SupplementalGroups), &errs) {
		errs = append(errs, validateID(&c.SupplementalGroups[i], path.Child("supplementalGroups").Index(i))...)
	}
	if c.SupplementalGroupsPolicy != nil {
		errs = append(errs, oneOf(*c.SupplementalGroupsPolicy, path.Child("supplementalGroupsPolicy"),
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if c.SELinuxChangePolicy != nil {
		errs = append(errs, oneOf(*c.SELinuxChangePolicy, path.Child("seLinuxChangePolicy"),
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	errs = append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
	return append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
}

func validateSecurityContext(c *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, validateID(c.RunAsUser, path.Child("runAsUser"))...)
	errs = append(errs, validateID(c.RunAsGroup, path.Child("runAsGroup"))...)
	if c.Privileged != nil && *c.Privileged && c.AllowPrivilegeEscalation != nil && !*c.AllowPrivilegeEscalation {
		errs = append(errs, rulePodSecurity.invalid(path.Child("allowPrivilegeEscalation"), false,
			"remove it, or remove privileged: true"))
	}
	if c.ProcMount != nil {
		errs = append(errs, oneOf(*c.ProcMount, path.Child("procMount"), corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
	}
	errs = append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
	return append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
}

func validateID(id *int64, path *field.Path) field.ErrorList {
	if id == nil || len(validation.IsValidUserID(*id)) == 0 {
		return nil
	}
	return field.ErrorList{rulePodSecurity.invalid(path, *id, "use a number from 0 to 2147483647")}
}

func validateSeccomp(p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return validateProfile(string(p.Type), p.LocalhostProfile, path)
}

func validateAppArmor(p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	return validateProfile(string(p.Type), p.LocalhostProfile, path)
}

// validateProfile judges both kinds of profile: their types have the same names.
func validateProfile(kind string, file *string, path *field.Path) field.ErrorList {
	named := file != nil && *file != ""
	switch kind {
	case string(corev1.SeccompProfileTypeLocalhost):
		if !named {
			return field.ErrorList{rulePodSecurity.required(path.Child("localhostProfile"), "name the file, or use type RuntimeDefault")}
		}
	case string(corev1.SeccompProfileTypeRuntimeDefault), string(corev1.SeccompProfileTypeUnconfined):
		if file != nil {
			return field.ErrorList{rulePodSecurity.invalid(path.Child("localhostProfile"), *file, "remove it, or use type Localhost")}
		}
	default:
		return field.ErrorList{rulePodSecurity.invalid(path.Child("type"), kind, "use RuntimeDefault, Unconfined or Localhost")}
	}
	return nil
}
