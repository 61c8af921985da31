package validating

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

var (
	ruleRolloutType = newRule(Rule{
		ID: "rollout-type", Effect: Rejects, Field: "spec.rolloutStrategy.type",
		Says:    "must be ServingGroupRollingUpdate or RoleRollingUpdate",
		Example: "type: Recreate",
		Fix:     "use one of the two, or leave it out for ServingGroupRollingUpdate",
	})
	ruleIntOrPercent = newRule(Rule{
		ID: "int-or-percent", Effect: Rejects, Field: "partition, maxUnavailable, maxSurge",
		Says:    "must be a number of 0 or more, or a percentage",
		Example: "maxUnavailable: \"25\"",
		Fix:     "write 25 without quotes for a number, or \"25%\"",
	})
	rulePercentAbove = newRule(Rule{
		ID: "percent-above-100", Effect: Rejects, Field: "partition, maxUnavailable",
		Says:    "must be at most 100%",
		Example: "partition: \"120%\"",
		Fix:     "use 100% or less",
	})
	ruleNoBudget = newRule(Rule{
		ID: "rollout-budget", Effect: Rejects, Field: "maxUnavailable",
		Says:    "with maxUnavailable 0 and nothing to surge with a rollout cannot take a single step",
		Example: "maxUnavailable: 0 with maxSurge: 0",
		Fix:     "raise maxUnavailable or, for ServingGroups, maxSurge to 1 or more",
	})
	ruleGroupUnderRole = newRule(Rule{
		ID: "group-configuration", Effect: Rejects, Field: "spec.rolloutStrategy.rollingUpdateConfiguration",
		Says:    "RoleRollingUpdate replaces role replicas and does not read the groups' configuration",
		Example: "type: RoleRollingUpdate with rollingUpdateConfiguration.partition: 1",
		Fix:     "set partition and maxUnavailable on the roles, or use ServingGroupRollingUpdate",
	})
	ruleRoleUnderGroup = newRule(Rule{
		ID: "role-configuration", Effect: Rejects, Field: "spec.template.roles[].{partition,maxUnavailable}",
		Says:    "ServingGroupRollingUpdate replaces whole groups and does not read the roles' configuration",
		Example: "maxUnavailable: 1 on a role, without rolloutStrategy",
		Fix:     "set spec.rolloutStrategy.type to RoleRollingUpdate, or use rollingUpdateConfiguration",
	})
	ruleRecreateUnderRole = newRule(Rule{
		ID: "recovery-undoes-rollout", Effect: Rejects, Field: "spec.recoveryPolicy",
		Says:    "ServingGroupRecreate recreates the whole group that RoleRollingUpdate keeps; one would undo the other",
		Example: "recoveryPolicy: ServingGroupRecreate with type: RoleRollingUpdate",
		Fix:     "use RoleRecreate, or ServingGroupRollingUpdate",
	})
)

func rolloutType(ms *workloadv1alpha1.ModelServing) workloadv1alpha1.RolloutStrategyType {
	if s := ms.Spec.RolloutStrategy; s != nil && s.Type != "" {
		return s.Type
	}
	return workloadv1alpha1.ServingGroupRollingUpdate
}

func validateRollout(ms *workloadv1alpha1.ModelServing, path *field.Path) field.ErrorList {
	strategy := ms.Spec.RolloutStrategy
	if strategy == nil {
		return nil
	}
	var errs field.ErrorList
	config, at := strategy.RollingUpdateConfiguration, path.Child("rollingUpdateConfiguration")
	if config != nil {
		errs = append(errs, validateIntOrPercent(config.Partition, true, at.Child("partition"))...)
		errs = append(errs, validateIntOrPercent(config.MaxUnavailable, true, at.Child("maxUnavailable"))...)
		errs = append(errs, validateIntOrPercent(config.MaxSurge, false, at.Child("maxSurge"))...)
		if isLiteralZero(config.MaxUnavailable) && neverSurges(config.MaxSurge) {
			errs = append(errs, ruleNoBudget.invalid(at.Child("maxUnavailable"), *config.MaxUnavailable,
				"raise it, or maxSurge, to 1 or more"))
		}
	}
	switch strategy.Type {
	case "", workloadv1alpha1.ServingGroupRollingUpdate:
	case workloadv1alpha1.RoleRollingUpdate:
		errs = append(errs, refuseGroupConfiguration(config, at)...)
		if ms.Spec.RecoveryPolicy == workloadv1alpha1.RecoverServingGroup {
			errs = append(errs, ruleRecreateUnderRole.invalid(field.NewPath("spec", "recoveryPolicy"), string(ms.Spec.RecoveryPolicy),
				"use RoleRecreate, or set spec.rolloutStrategy.type to ServingGroupRollingUpdate"))
		}
	default:
		errs = append(errs, ruleRolloutType.invalid(path.Child("type"), string(strategy.Type),
			"use one of them, or leave it out for ServingGroupRollingUpdate"))
	}
	return errs
}

// refuseGroupConfiguration lets the schema's default of maxUnavailable pass: nobody wrote it.
func refuseGroupConfiguration(config *workloadv1alpha1.RollingUpdateConfiguration, path *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	const wayOut = "set %s on the roles, or set spec.rolloutStrategy.type to ServingGroupRollingUpdate"
	var errs field.ErrorList
	if config.Partition != nil {
		errs = append(errs, ruleGroupUnderRole.invalid(path.Child("partition"), *config.Partition, wayOut, "partition"))
	}
	if u := config.MaxUnavailable; u != nil && *u != intstr.FromInt32(1) {
		errs = append(errs, ruleGroupUnderRole.invalid(path.Child("maxUnavailable"), *u, wayOut, "maxUnavailable"))
	}
	if config.MaxSurge != nil {
		errs = append(errs, ruleGroupUnderRole.invalid(path.Child("maxSurge"), *config.MaxSurge,
			"remove it, since roles do not surge, or set spec.rolloutStrategy.type to ServingGroupRollingUpdate"))
	}
	return errs
}

func validateRoleRollout(ms *workloadv1alpha1.ModelServing, role *workloadv1alpha1.Role, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateIntOrPercent(role.Partition, true, path.Child("partition"))...)
	errs = append(errs, validateIntOrPercent(role.MaxUnavailable, true, path.Child("maxUnavailable"))...)
	if isLiteralZero(role.MaxUnavailable) {
		errs = append(errs, ruleNoBudget.invalid(path.Child("maxUnavailable"), *role.MaxUnavailable,
			"raise it to 1 or more, since roles do not surge"))
	}
	if rolloutType(ms) == workloadv1alpha1.RoleRollingUpdate {
		return errs
	}
	const wayOut = "move it to spec.rolloutStrategy.rollingUpdateConfiguration, or set spec.rolloutStrategy.type to RoleRollingUpdate"
	if role.Partition != nil {
		errs = append(errs, ruleRoleUnderGroup.invalid(path.Child("partition"), *role.Partition, wayOut))
	}
	if role.MaxUnavailable != nil {
		errs = append(errs, ruleRoleUnderGroup.invalid(path.Child("maxUnavailable"), *role.MaxUnavailable, wayOut))
	}
	return errs
}

// validateIntOrPercent accepts nil, since every such field has a default.
func validateIntOrPercent(v *intstr.IntOrString, atMost100 bool, path *field.Path) field.ErrorList {
	if v == nil {
		return nil
	}
	if v.Type == intstr.Int {
		if v.IntVal < 0 {
			return field.ErrorList{ruleIntOrPercent.invalid(path, *v, "use 0 or more")}
		}
		return nil
	}
	if len(validation.IsValidPercent(v.StrVal)) > 0 {
		wayOut := "write for example 1 or \"25%\""
		if n, err := strconv.ParseUint(v.StrVal, 10, 31); err == nil {
			wayOut = "write " + strconv.FormatUint(n, 10) + " without quotes, or \"" + strconv.FormatUint(n, 10) + "%\""
		}
		return field.ErrorList{ruleIntOrPercent.invalid(path, *v, "%s", wayOut)}
	}
	percent, err := strconv.ParseInt(strings.TrimSuffix(v.StrVal, "%"), 10, 32)
	switch {
	case err != nil:
		return field.ErrorList{ruleIntOrPercent.invalid(path, *v, "use a smaller percentage")}
	case atMost100 && percent > 100:
		return field.ErrorList{rulePercentAbove.invalid(path, *v, "use 100%% or less")}
	}
	return nil
}

func isLiteralZero(v *intstr.IntOrString) bool {
	return v != nil && v.Type == intstr.Int && v.IntVal == 0
}

// neverSurges is true for a maxSurge that is 0 whatever the number of replicas.
func neverSurges(v *intstr.IntOrString) bool {
	if v == nil || isLiteralZero(v) {
		return true
	}
	percent, isPercent := strings.CutSuffix(v.StrVal, "%")
	return v.Type == intstr.String && isPercent && strings.Trim(percent, "0") == "" && percent != ""
}
