package validating

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

var (
	ruleNodeSelector = newRule(Rule{
		ID: "node-selector", Effect: Rejects, Field: "nodeSelector",
		Says:    "a nodeSelector must hold valid labels",
		Example: "nodeSelector: {\"gpu type\": a100}",
		Fix:     "correct the key or the value",
	})
	ruleToleration = newRule(Rule{
		ID: "toleration", Effect: Rejects, Field: "tolerations[]",
		Says:    "a toleration must have a known operator and effect, and no value with operator Exists",
		Example: "{operator: Exists, value: \"true\"}",
		Fix:     "correct what the message names",
	})
	ruleAffinity = newRule(Rule{
		ID: "affinity", Effect: Rejects, Field: "affinity",
		Says:    "affinity terms must have valid selectors, a topologyKey, and weights from 1 to 100",
		Example: "podAffinityTerm without topologyKey",
		Fix:     "correct what the message names",
	})
	ruleTopologySpread = newRule(Rule{
		ID: "topology-spread", Effect: Rejects, Field: "*Template.spec.topologySpreadConstraints[]",
		Says:    "a spread constraint must have a maxSkew of 1 or more, a topologyKey, and a known whenUnsatisfiable",
		Example: "maxSkew: 0",
		Fix:     "correct what the message names",
	})
)

type podScheduling struct {
	nodeSelector map[string]string
	tolerations  []corev1.Toleration
	affinity     *corev1.Affinity
	spread       []corev1.TopologySpreadConstraint
}

func validateScheduling(s podScheduling, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, ruleNodeSelector.adopt(validateLabels(s.nodeSelector, path.Child("nodeSelector")))...)
	for i := range judged(len(s.tolerations), &errs) {
		errs = append(errs, validateToleration(&s.tolerations[i], path.Child("tolerations").Index(i))...)
	}
	errs = append(errs, validateAffinity(s.affinity, path.Child("affinity"))...)
	for i := range judged(len(s.spread), &errs) {
		errs = append(errs, validateSpread(&s.spread[i], path.Child("topologySpreadConstraints").Index(i))...)
	}
	return errs
}

func validateToleration(t *corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		errs = append(errs, ruleToleration.adopt(metav1validation.ValidateLabelName(t.Key, path.Child("key")))...)
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt:
		if t.Key == "" {
			errs = append(errs, ruleToleration.invalid(path.Child("operator"), string(t.Operator),
				"name the key, or use operator Exists for all taints"))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			errs = append(errs, ruleToleration.invalid(path.Child("value"), t.Value, "remove it, or use operator Equal"))
		}
	default:
		errs = append(errs, ruleToleration.invalid(path.Child("operator"), string(t.Operator), "use Exists or Equal"))
	}
	switch t.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		errs = append(errs, ruleToleration.invalid(path.Child("effect"), string(t.Effect),
			"use NoSchedule, PreferNoSchedule or NoExecute, or leave it out for all"))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, ruleToleration.invalid(path.Child("tolerationSeconds"), *t.TolerationSeconds,
			"remove it, or use effect NoExecute"))
	}
	return errs
}

func validateAffinity(a *corev1.Affinity, path *field.Path) field.ErrorList {
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		errs = append(errs, validateNodeAffinity(n, path.Child("nodeAffinity"))...)
	}
	if p := a.PodAffinity; p != nil {
		errs = append(errs, validatePodTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if p := a.PodAntiAffinity; p != nil {
		errs = append(errs, validatePodTerms(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return errs
}

const (
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

func validateNodeAffinity(n *corev1.NodeAffinity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if required := n.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := path.Child(requiredTerms)
		if len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, ruleAffinity.required(at.Child("nodeSelectorTerms"), "add a term, or remove the selector"))
		}
		_, err := nodeaffinity.NewNodeSelector(required, field.WithPath(at))
		errs = append(errs, ruleAffinity.adopt(fieldErrors(err))...)
	}
	preferred, at := n.PreferredDuringSchedulingIgnoredDuringExecution, path.Child(preferredTerms)
	for i := range judged(len(preferred), &errs) {
		errs = append(errs, validateWeight(preferred[i].Weight, at.Index(i))...)
	}
	_, err := nodeaffinity.NewPreferredSchedulingTerms(preferred, field.WithPath(at))
	return append(errs, ruleAffinity.adopt(fieldErrors(err))...)
}

// fieldErrors takes the field errors out of what a library returns as one error.
func fieldErrors(err error) field.ErrorList {
	if err == nil {
		return nil
	}
	var aggregate utilerrors.Aggregate
	if !errors.As(err, &aggregate) {
		return nil
	}
	var list field.ErrorList
	for _, e := range utilerrors.Flatten(aggregate).Errors() {
		var fault *field.Error
		if errors.As(e, &fault) {
			list = append(list, fault)
		}
	}
	return list
}

func validatePodTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range judged(len(required), &errs) {
		errs = append(errs, validatePodTerm(&required[i], path.Child(requiredTerms).Index(i))...)
	}
	for i := range judged(len(preferred), &errs) {
		at := path.Child(preferredTerms).Index(i)
		errs = append(errs, validateWeight(preferred[i].Weight, at)...)
		errs = append(errs, validatePodTerm(&preferred[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

func validateWeight(weight int32, path *field.Path) field.ErrorList {
	if weight >= 1 && weight <= 100 {
		return nil
	}
	return field.ErrorList{ruleAffinity.invalid(path.Child("weight"), weight, "use a number from 1 to 100")}
}

func validatePodTerm(t *corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, ruleAffinity.adopt(validateLabelSelector(t.LabelSelector, path.Child("labelSelector")))...)
	errs = append(errs, ruleAffinity.adopt(validateLabelSelector(t.NamespaceSelector, path.Child("namespaceSelector")))...)
	for i := range judged(len(t.Namespaces), &errs) {
		if ns := t.Namespaces[i]; len(validation.IsDNS1123Label(ns)) > 0 {
			errs = append(errs, ruleAffinity.invalid(path.Child("namespaces").Index(i), ns, "write the name of a namespace"))
		}
	}
	errs = append(errs, validateLabelKeys(t.MatchLabelKeys, t.LabelSelector != nil, path.Child("matchLabelKeys"))...)
	errs = append(errs, validateLabelKeys(t.MismatchLabelKeys, t.LabelSelector != nil, path.Child("mismatchLabelKeys"))...)
	if t.TopologyKey == "" {
		return append(errs, ruleAffinity.required(path.Child("topologyKey"), "name one, for example kubernetes.io/hostname"))
	}
	return append(errs, ruleAffinity.adopt(metav1validation.ValidateLabelName(t.TopologyKey, path.Child("topologyKey")))...)
}

func validateLabelKeys(keys []string, selects bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(keys) > 0 && !selects {
		errs = append(errs, ruleAffinity.invalid(path, int64(len(keys)), "add a labelSelector, or remove the keys"))
	}
	for i := range judged(len(keys), &errs) {
		errs = append(errs, ruleAffinity.adopt(metav1validation.ValidateLabelName(keys[i], path.Index(i)))...)
	}
	return errs
}

func validateSpread(c *corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.MaxSkew < 1 {
		errs = append(errs, ruleTopologySpread.invalid(path.Child("maxSkew"), c.MaxSkew, "use 1 or more"))
	}
	if c.TopologyKey == "" {
		errs = append(errs, ruleTopologySpread.required(path.Child("topologyKey"), "name one, for example kubernetes.io/hostname"))
	} else {
		errs = append(errs, ruleTopologySpread.adopt(metav1validation.ValidateLabelName(c.TopologyKey, path.Child("topologyKey")))...)
	}
	switch c.WhenUnsatisfiable {
	case corev1.DoNotSchedule, corev1.ScheduleAnyway:
	default:
		errs = append(errs, ruleTopologySpread.invalid(path.Child("whenUnsatisfiable"), string(c.WhenUnsatisfiable),
			"use DoNotSchedule or ScheduleAnyway"))
	}
	return append(errs, ruleTopologySpread.adopt(validateLabelSelector(c.LabelSelector, path.Child("labelSelector")))...)
}

// validateLabelSelector is apimachinery's ValidateLabelSelector in a fixed order.
func validateLabelSelector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := validateLabels(s.MatchLabels, path.Child("matchLabels"))
	for i := range judged(len(s.MatchExpressions), &errs) {
		errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(
			s.MatchExpressions[i], metav1validation.LabelSelectorValidationOptions{}, path.Child("matchExpressions").Index(i))...)
	}
	return errs
}
