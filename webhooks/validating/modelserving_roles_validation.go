package validating

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// MaxRoleName is the length of the longest role name (the CRD's maxLength).
const MaxRoleName = 12

var (
	ruleRoles = newRule(Rule{
		ID: "roles", Effect: Rejects, Field: "spec.template.roles",
		Says:    "a ServingGroup must have one role or more",
		Example: "roles: []",
		Fix:     "add a role",
	})
	ruleRoleName = newRule(Rule{
		ID: "role-name", Effect: Rejects, Field: "spec.template.roles[].name",
		Says:    "must be a DNS-1035 label of at most 12 characters, which starts with a letter and holds only a-z, 0-9 and '-'",
		Example: "name: Prefill",
		Fix:     "rename the role as the message proposes",
	})
	ruleRoleUnique = newRule(Rule{
		ID: "role-unique", Effect: Rejects, Field: "spec.template.roles[].name",
		Says:    "each role must have a name of its own",
		Example: "two roles named prefill",
		Fix:     "rename one, or raise replicas instead",
	})
	ruleNegative = newRule(Rule{
		ID: "negative", Effect: Rejects, Field: "replicas, workerReplicas, restartGracePeriodSeconds, revisionHistoryLimit",
		Says:    "must be 0 or more",
		Example: "workerReplicas: -1",
		Fix:     "use 0 or a positive number",
	})
	ruleDeadline = newRule(Rule{
		ID: "progress-deadline", Effect: Rejects, Field: "spec.template.progressDeadlineSeconds",
		Says:    "must be 1 or more",
		Example: "progressDeadlineSeconds: 0",
		Fix:     "use a positive number of seconds, or leave it out for 1800",
	})
	ruleWorkerTemplate = newRule(Rule{
		ID: "worker-template", Effect: Rejects, Field: "spec.template.roles[].workerTemplate",
		Says:    "workers must have a template to be made from",
		Example: "workerReplicas: 1 without workerTemplate",
		Fix:     "add workerTemplate, or set workerReplicas to 0",
	})
	ruleRecoveryPolicy = newRule(Rule{
		ID: "recovery-policy", Effect: Rejects, Field: "spec.recoveryPolicy",
		Says:    "must be ServingGroupRecreate, RoleRecreate or None",
		Example: "recoveryPolicy: Restart",
		Fix:     "use one of the three, or leave it out for RoleRecreate",
	})
)

func validateRecovery(ms *workloadv1alpha1.ModelServing, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, notNegative(int64(ptr.Deref(ms.Spec.Replicas, 1)), spec.Child("replicas"))...)
	errs = append(errs, notNegative(int64(ptr.Deref(ms.Spec.RevisionHistoryLimit, 10)), spec.Child("revisionHistoryLimit"))...)
	t := &ms.Spec.Template
	errs = append(errs, notNegative(ptr.Deref(t.RestartGracePeriodSeconds, 0),
		spec.Child("template", "restartGracePeriodSeconds"))...)
	if d := t.ProgressDeadlineSeconds; d != nil && *d < 1 {
		errs = append(errs, ruleDeadline.invalid(spec.Child("template", "progressDeadlineSeconds"), *d,
			"use a positive number of seconds, or leave it out for 1800"))
	}
	switch ms.Spec.RecoveryPolicy {
	case "", workloadv1alpha1.RecoverServingGroup, workloadv1alpha1.RecoverRole, workloadv1alpha1.RecoverNone:
	default:
		errs = append(errs, ruleRecoveryPolicy.invalid(spec.Child("recoveryPolicy"), string(ms.Spec.RecoveryPolicy),
			"use one of them, or leave it out for RoleRecreate"))
	}
	return errs
}

func notNegative(n int64, path *field.Path) field.ErrorList {
	if n >= 0 {
		return nil
	}
	return field.ErrorList{ruleNegative.invalid(path, n, "use 0 or a positive number")}
}

func validateRoles(ms *workloadv1alpha1.ModelServing, path *field.Path) field.ErrorList {
	roles := ms.Spec.Template.Roles
	if len(roles) == 0 {
		return field.ErrorList{ruleRoles.required(path, "add a role")}
	}
	var errs field.ErrorList
	seen := map[string]int{}
	for i := range judged(len(roles), &errs) {
		role, at := &roles[i], path.Index(i)
		errs = append(errs, validateRoleName(role.Name, at.Child("name"))...)
		if first, dup := seen[role.Name]; dup {
			errs = append(errs, ruleRoleUnique.duplicate(at.Child("name"), role.Name,
				"rename it, or merge it with role number %d and raise its replicas", first))
		} else {
			seen[role.Name] = i
		}
		errs = append(errs, validateRole(role, ms.Spec.SchedulerName, at)...)
		errs = append(errs, validateRoleRollout(ms, role, at)...)
	}
	return errs
}

func validateRoleName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{ruleRoleName.required(path, "name the role, for example \"prefill\"")}
	}
	var errs field.ErrorList
	if !isDNS1035Shaped(name) {
		errs = append(errs, ruleRoleName.invalid(path, name, "rename it, for example to %q", dns1035From(name)))
	}
	if tooMany := len(name) - MaxRoleName; tooMany > 0 {
		errs = append(errs, ruleRoleName.invalid(path, name, "remove %s", characters(tooMany)))
	}
	return errs
}

func validateRole(role *workloadv1alpha1.Role, schedulerName string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, notNegative(int64(ptr.Deref(role.Replicas, 1)), path.Child("replicas"))...)
	errs = append(errs, notNegative(int64(role.WorkerReplicas), path.Child("workerReplicas"))...)
	errs = append(errs, validatePodTemplate(&role.EntryTemplate, schedulerName, path.Child("entryTemplate"))...)
	switch {
	case role.WorkerTemplate != nil:
		errs = append(errs, validatePodTemplate(role.WorkerTemplate, schedulerName, path.Child("workerTemplate"))...)
	case role.WorkerReplicas > 0:
		errs = append(errs, ruleWorkerTemplate.required(path.Child("workerTemplate"),
			"add it, or set workerReplicas from %d to 0", role.WorkerReplicas))
	}
	return errs
}
