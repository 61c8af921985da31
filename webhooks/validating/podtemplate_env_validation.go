package validating

import (
	"reflect"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	ruleEnvName = newRule(Rule{
		ID: "env-name", Effect: Rejects, Field: "env[].name",
		Says:    "the name of a variable must not be empty, and must hold printable ASCII characters other than '='",
		Example: "name: A=B",
		Fix:     "correct the name",
	})
	ruleEnvUnique = newRule(Rule{
		ID: "env-unique", Effect: Rejects, Field: "env[].name",
		Says:    "a container must set a variable once",
		Example: "name: HF_HOME twice",
		Fix:     "remove one",
	})
	ruleEnvSource = newRule(Rule{
		ID: "env-source", Effect: Rejects, Field: "env[].valueFrom, envFrom[]",
		Says:    "a variable must have a value or exactly one source",
		Example: "value and valueFrom on one variable",
		Fix:     "keep one",
	})
)

func validateEnv(env []corev1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range judged(len(env), &errs) {
		e, at := &env[i], path.Index(i)
		switch {
		case len(validation.IsRelaxedEnvVarName(e.Name)) > 0:
			errs = append(errs, ruleEnvName.invalid(at.Child("name"), e.Name, "correct it, for example \"HF_HOME\""))
		case seen.Has(e.Name):
			errs = append(errs, ruleEnvUnique.duplicate(at.Child("name"), e.Name, "remove one of the two"))
		}
		seen.Insert(e.Name)
		if e.ValueFrom == nil {
			continue
		}
		if e.Value != "" {
			errs = append(errs, ruleEnvSource.invalid(at.Child("value"), e.Value, "remove value or valueFrom"))
		}
		if n := countSet(*e.ValueFrom); n != 1 {
			errs = append(errs, ruleEnvSource.invalid(at.Child("valueFrom"), int64(n), "name exactly one source"))
		}
		errs = append(errs, validateEnvSource(e.ValueFrom, at.Child("valueFrom"))...)
	}
	return errs
}

func validateEnvFrom(from []corev1.EnvFromSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range judged(len(from), &errs) {
		if n := countSet(from[i]); n != 1 {
			errs = append(errs, ruleEnvSource.invalid(path.Index(i), int64(n), "name exactly one of configMapRef and secretRef"))
		}
		if r := from[i].ConfigMapRef; r != nil {
			errs = append(errs, validateRequiredReference(&r.Name, path.Index(i).Child("configMapRef", "name"))...)
		}
		if r := from[i].SecretRef; r != nil {
			errs = append(errs, validateRequiredReference(&r.Name, path.Index(i).Child("secretRef", "name"))...)
		}
	}
	return errs
}

func validateEnvSource(s *corev1.EnvVarSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r := s.ConfigMapKeyRef; r != nil {
		errs = append(errs, validateRequiredReference(&r.Name, path.Child("configMapKeyRef", "name"))...)
		errs = append(errs, validateSourceKey(r.Key, path.Child("configMapKeyRef", "key"))...)
	}
	if r := s.SecretKeyRef; r != nil {
		errs = append(errs, validateRequiredReference(&r.Name, path.Child("secretKeyRef", "name"))...)
		errs = append(errs, validateSourceKey(r.Key, path.Child("secretKeyRef", "key"))...)
	}
	if r := s.FieldRef; r != nil && !podField.MatchString(r.FieldPath) {
		errs = append(errs, ruleEnvSource.invalid(path.Child("fieldRef", "fieldPath"), r.FieldPath,
			"use a field that Kubernetes offers, for example \"metadata.name\" or \"metadata.labels['key']\""))
	}
	if r := s.ResourceFieldRef; r != nil && r.Resource == "" {
		errs = append(errs, ruleEnvSource.required(path.Child("resourceFieldRef", "resource"), "name it, for example \"limits.cpu\""))
	}
	return errs
}

func validateSourceKey(key string, path *field.Path) field.ErrorList {
	if len(validation.IsConfigMapKey(key)) == 0 {
		return nil
	}
	return field.ErrorList{ruleEnvSource.invalid(path, key, "name the key: letters, digits, '-', '_' and '.'")}
}

// podField are the fields of a Pod that a variable can hold.
var podField = regexp.MustCompile(`^(metadata\.(name|namespace|uid)|metadata\.(labels|annotations)\[.+\]|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs))$`)

// countSet counts the pointers of a union that are set.
func countSet(union any) int {
	v := reflect.ValueOf(union)
	n := 0
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			n++
		}
	}
	return n
}
