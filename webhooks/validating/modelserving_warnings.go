package validating

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var (
	warnVolcano = newRule(Rule{
		ID: "volcano-not-installed", Effect: Warns, Field: "spec.schedulerName",
		Says:    "Volcano is not installed, so that nothing is scheduled all or nothing",
		Example: "schedulerName: volcano on a cluster without Volcano",
		Fix:     "install Volcano, or name the scheduler that the cluster has",
	})
	warnGangOmits = newRule(Rule{
		ID: "gang-omits-role", Effect: Warns, Field: "spec.template.gangPolicy.minRoleReplicas",
		Says:    "a role that a set minRoleReplicas does not name is not needed by the gang",
		Example: "minRoleReplicas: {prefill: 2} with a role decode",
		Fix:     "name every role that a group cannot serve without",
	})
	warnGangEmpty = newRule(Rule{
		ID: "gang-empty", Effect: Warns, Field: "spec.template.gangPolicy.minRoleReplicas",
		Says:    "nothing is needed, so that there is no gang and Pods are scheduled one by one",
		Example: "minRoleReplicas: {prefill: 0, decode: 0}",
		Fix:     "require at least one replica, or remove minRoleReplicas to require all",
	})
	warnDowntime = newRule(Rule{
		ID: "rollout-downtime", Effect: Warns, Field: "spec.replicas",
		Says:    "a rollout of a single replica without surge means downtime",
		Example: "replicas: 1 without maxSurge",
		Fix:     "set rollingUpdateConfiguration.maxSurge to 1, where capacity allows, or use more replicas",
	})
	warnPlugins = newRule(Rule{
		ID: "plugins", Effect: Warns, Field: "spec.plugins",
		Says:    "plugins are kept and not acted on",
		Example: "plugins: [{name: gang}]",
		Fix:     "remove them; gangs need no plugin",
	})
	warnReservedEnv = newRule(Rule{
		ID: "reserved-env", Effect: Warns, Field: "spec.template.roles[].*Template.spec.containers[].env[].name",
		Says:    "Gangway sets this variable in every container, and its value wins",
		Example: "env: [{name: GROUP_SIZE, value: \"4\"}]",
		Fix:     "remove it",
	})
)

func modelServingWarnings(ms *workloadv1alpha1.ModelServing, s Surroundings) []Warning {
	spec := field.NewPath("spec")
	var warnings []Warning
	if ms.Spec.SchedulerName == names.SchedulerVolcano && s.Volcano == Absent {
		warnings = append(warnings, warnVolcano.warn(spec.Child("schedulerName"),
			"install Volcano, or name the scheduler that the cluster has"))
	}
	warnings = append(warnings, gangWarnings(ms, spec.Child("template", "gangPolicy", "minRoleReplicas"))...)
	warnings = append(warnings, downtimeWarnings(ms, spec)...)
	if len(ms.Spec.Plugins) > 0 {
		warnings = append(warnings, warnPlugins.warn(spec.Child("plugins"), "remove them; gangs need no plugin"))
	}
	for i := range ms.Spec.Template.Roles {
		role, at := &ms.Spec.Template.Roles[i], spec.Child("template", "roles").Index(i)
		warnings = append(warnings, reservedEnvWarnings(&role.EntryTemplate, at.Child("entryTemplate"))...)
		warnings = append(warnings, reservedEnvWarnings(role.WorkerTemplate, at.Child("workerTemplate"))...)
	}
	return warnings
}

func gangWarnings(ms *workloadv1alpha1.ModelServing, path *field.Path) []Warning {
	gang := ms.Spec.Template.GangPolicy
	if gang == nil || len(gang.MinRoleReplicas) == 0 {
		return nil
	}
	allZero := !slices.ContainsFunc(slices.Collect(maps.Values(gang.MinRoleReplicas)), func(n int32) bool { return n != 0 })
	if allZero {
		return []Warning{warnGangEmpty.warn(path, "require at least one replica, or remove minRoleReplicas to require all")}
	}
	var omitted []string
	for _, role := range roleNames(ms) {
		if _, named := gang.MinRoleReplicas[role]; !named {
			omitted = append(omitted, role)
		}
	}
	if len(omitted) == 0 {
		return nil
	}
	return []Warning{warnGangOmits.warn(path, "name %s too, if a group cannot serve without", quotedList(omitted))}
}

func downtimeWarnings(ms *workloadv1alpha1.ModelServing, spec *field.Path) []Warning {
	if ptr.Deref(ms.Spec.Replicas, 1) != 1 {
		return nil
	}
	if rolloutType(ms) == workloadv1alpha1.RoleRollingUpdate {
		for i := range ms.Spec.Template.Roles {
			if ptr.Deref(ms.Spec.Template.Roles[i].Replicas, 1) == 1 {
				return []Warning{warnDowntime.warn(spec.Child("template", "roles").Index(i).Child("replicas"),
					"use more replicas of the role or of the ModelServing, if it must go on serving")}
			}
		}
		return nil
	}
	if s := ms.Spec.RolloutStrategy; s != nil && s.RollingUpdateConfiguration != nil {
		c := s.RollingUpdateConfiguration
		if !neverSurges(c.MaxSurge) || keepsGroupZero(c.Partition) {
			return nil
		}
	}
	return []Warning{warnDowntime.warn(spec.Child("replicas"),
		"set rolloutStrategy.rollingUpdateConfiguration.maxSurge to 1, where capacity allows, or use more replicas, if it must go on serving")}
}

// keepsGroupZero is true for a partition that holds the only group back.
func keepsGroupZero(partition *intstr.IntOrString) bool {
	if partition == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(partition, 1, true)
	return err == nil && n > 0
}

func reservedEnvWarnings(template *workloadv1alpha1.PodTemplateSpec, path *field.Path) []Warning {
	if template == nil {
		return nil
	}
	var warnings []Warning
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{
		{"initContainers", template.Spec.InitContainers}, {"containers", template.Spec.Containers},
	} {
		for i := range list.containers {
			for j, env := range list.containers[i].Env {
				if len(warnings) >= enough {
					return warnings
				}
				if slices.Contains(names.ReservedEnv(), env.Name) {
					at := path.Child("spec", list.field).Index(i).Child("env").Index(j).Child("name")
					warnings = append(warnings, warnReservedEnv.warn(at, "remove %s", env.Name))
				}
			}
		}
	}
	return warnings
}
