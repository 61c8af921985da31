package validating

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

var (
	ruleGangRole = newRule(Rule{
		ID: "gang-role", Effect: Rejects, Field: "spec.template.gangPolicy.minRoleReplicas[]",
		Says:    "minRoleReplicas must name roles that exist",
		Example: "minRoleReplicas: {prefil: 2}",
		Fix:     "use the name that the message proposes",
	})
	ruleGangNegative = newRule(Rule{
		ID: "gang-negative", Effect: Rejects, Field: "spec.template.gangPolicy.minRoleReplicas[]",
		Says:    "must be 0 or more",
		Example: "minRoleReplicas: {prefill: -1}",
		Fix:     "use 0 for a role that the gang does not need",
	})
	ruleGangAboveReplicas = newRule(Rule{
		ID: "gang-above-replicas", Effect: Rejects, Field: "spec.template.gangPolicy.minRoleReplicas[]",
		Says:    "a gang must not need more replicas of a role than the role has",
		Example: "minRoleReplicas: {prefill: 5} with replicas: 4",
		Fix:     "lower the one or raise the other, as the message says",
	})
	ruleTopologyMode = newRule(Rule{
		ID: "topology-mode", Effect: Rejects, Field: "spec.template.networkTopology.*.mode",
		Says:    "must be hard or soft",
		Example: "mode: strict",
		Fix:     "use hard (Pods wait for such a place) or soft (they prefer it)",
	})
	ruleTopologyTier = newRule(Rule{
		ID: "topology-tier", Effect: Rejects, Field: "spec.template.networkTopology.*",
		Says:    "a topology has highestTierAllowed, of 0 or more, or highestTierName, not both",
		Example: "highestTierAllowed: 2 and highestTierName: rack",
		Fix:     "keep one of the two",
	})
)

func validateGangPolicy(ms *workloadv1alpha1.ModelServing, path *field.Path) field.ErrorList {
	gang := ms.Spec.Template.GangPolicy
	if gang == nil {
		return nil
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(gang.MinRoleReplicas)) {
		if len(errs) >= enough {
			break
		}
		needed, at := gang.MinRoleReplicas[name], path.Key(clip(name))
		if needed < 0 {
			errs = append(errs, ruleGangNegative.invalid(at, needed, "use 0 for a role that the gang does not need"))
		}
		role, i := findRole(ms, name)
		if role == nil {
			errs = append(errs, ruleGangRole.notFound(at, name, "%s", chooseRole(name, roleNames(ms))))
			continue
		}
		if has := ptr.Deref(role.Replicas, 1); needed > max(has, 0) {
			errs = append(errs, ruleGangAboveReplicas.invalid(at, needed,
				"lower it to %d or less, or raise spec.template.roles[%d].replicas from %d to %d", max(has, 0), i, has, needed))
		}
	}
	return errs
}

func validateTopology(t *workloadv1alpha1.NetworkTopology, path *field.Path) field.ErrorList {
	if t == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, validateTopologySpec(t.GroupPolicy, path.Child("groupPolicy"))...)
	return append(errs, validateTopologySpec(t.RolePolicy, path.Child("rolePolicy"))...)
}

func validateTopologySpec(t *workloadv1alpha1.NetworkTopologySpec, path *field.Path) field.ErrorList {
	if t == nil {
		return nil
	}
	var errs field.ErrorList
	switch t.Mode {
	case "", "hard", "soft":
	default:
		errs = append(errs, ruleTopologyMode.invalid(path.Child("mode"), t.Mode,
			"use hard (Pods wait for such a place) or soft (they prefer it)"))
	}
	if t.HighestTierAllowed != nil && t.HighestTierName != "" {
		errs = append(errs, ruleTopologyTier.invalid(path, t.HighestTierName,
			"remove highestTierName, or highestTierAllowed: %d", *t.HighestTierAllowed))
	}
	if t.HighestTierAllowed != nil && *t.HighestTierAllowed < 0 {
		errs = append(errs, ruleTopologyTier.invalid(path.Child("highestTierAllowed"), int64(*t.HighestTierAllowed),
			"use 0 or a positive number"))
	}
	return errs
}
