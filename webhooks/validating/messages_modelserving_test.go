package validating_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// installed is a cluster with everything, of which a test changes what it is about.
var installed = validating.Surroundings{Volcano: validating.Present, GatewayAPI: validating.Present}

// quiet is a ModelServing about which nothing is to be said.
func quiet(name string) *ModelServingWrapper {
	return MakeModelServing(name).Replicas(2).
		Role(MakeRole("prefill").Replicas(2).Port(8000).Obj()).
		Role(MakeRole("decode").Replicas(2).Workers(1).Port(8000).Obj())
}

func created(name string, ms *workloadv1alpha1.ModelServing) messageCase {
	return createdIn(name, ms, installed)
}

func createdIn(name string, ms *workloadv1alpha1.ModelServing, s validating.Surroundings) messageCase {
	return messageCase{name, func() (field.ErrorList, []validating.Warning) { return validating.ModelServing(ms, s) }}
}

// with changes a quiet ModelServing.
func with(change func(*ModelServingWrapper)) *workloadv1alpha1.ModelServing {
	w := quiet("sample")
	change(w)
	return w.Obj()
}

func modelServingMessages() []messageCase {
	return []messageCase{
		created("a name with dots and a digit first", quiet("3.1-llama").Obj()),
		created("a name of 50 characters", quiet(strings.Repeat("a", 50)).Obj()),
		created("no roles", MakeModelServing("sample").Replicas(2).Obj()),
		created("role names that are empty, upper case, too long and used twice", with(func(w *ModelServingWrapper) {
			for _, name := range []string{"", "Prefill", "prefill-and-decode", "2nd"} {
				w.Spec.Template.Roles = append(w.Spec.Template.Roles, MakeRole(name).Replicas(2).Obj())
			}
			w.Spec.Template.Roles = append(w.Spec.Template.Roles, MakeRole("decode").Replicas(2).Obj())
		})),
		created("negative numbers everywhere", with(func(w *ModelServingWrapper) {
			w.Replicas(-1).GraceSeconds(-5).ProgressDeadlineSeconds(0).RevisionHistoryLimit(-2)
			w.Spec.Template.Roles[0].Replicas = ptr.To[int32](-3)
			w.Spec.Template.Roles[1].WorkerReplicas = -4
		})),
		created("more groups than a cluster can hold", quiet("sample").Replicas(2147483647).Obj()),
		created("more Pods in each group than a cluster can hold", with(func(w *ModelServingWrapper) {
			w.Spec.Template.Roles[0].Replicas = ptr.To[int32](2147483647)
			w.Spec.Template.Roles[1].Replicas = ptr.To[int32](2147483647)
			w.Spec.Template.Roles[1].WorkerReplicas = 2147483647
		})),
		created("requests beyond what can be counted", with(func(w *ModelServingWrapper) {
			w.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("9223372036854775807"), corev1.ResourceMemory: resource.MustParse("1Ti"),
			}
		})),
		created("workers without a template", with(func(w *ModelServingWrapper) {
			w.Spec.Template.Roles[0].WorkerReplicas = 3
		})),
		created("an unknown recovery policy", quiet("sample").RecoveryPolicy("Restart").Obj()),
		created("minRoleReplicas with a misspelt role, a strange one, a negative number and too many",
			quiet("sample").MinRoleReplicas("prefil", 1).MinRoleReplicas("router", 1).
				MinRoleReplicas("decode", -1).MinRoleReplicas("prefill", 5).Obj()),
		created("minRoleReplicas that omits a role", quiet("sample").MinRoleReplicas("prefill", 1).Obj()),
		created("minRoleReplicas of zero", quiet("sample").MinRoleReplicas("prefill", 0).MinRoleReplicas("decode", 0).Obj()),
		created("a topology with an unknown mode, both kinds of tier, and a negative tier",
			quiet("sample").Topology(
				&workloadv1alpha1.NetworkTopologySpec{Mode: "strict", HighestTierAllowed: ptr.To(1), HighestTierName: "rack"},
				&workloadv1alpha1.NetworkTopologySpec{Mode: "hard", HighestTierAllowed: ptr.To(-1)}).Obj()),
		created("malformed and negative rollout numbers",
			quiet("sample").Partition("-1").MaxUnavailable("a few").MaxSurge("-20%").Obj()),
		created("numbers in quotes", with(func(w *ModelServingWrapper) {
			w.Partition("0")
			w.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition = ptr.To(intstr.FromString("2"))
			w.Spec.RolloutStrategy.RollingUpdateConfiguration.MaxSurge = ptr.To(intstr.FromString("99999999999999999999%"))
		})),
		created("percentages above 100", quiet("sample").Partition("101%").MaxUnavailable("200%").MaxSurge("300%").Obj()),
		created("nothing may be unavailable and nothing may surge", quiet("sample").MaxUnavailable("0").MaxSurge("0%").Obj()),
		created("an unknown rollout type", quiet("sample").Rollout("Recreate").Obj()),
		created("groups' configuration and recovery under RoleRollingUpdate",
			quiet("sample").Rollout(workloadv1alpha1.RoleRollingUpdate).Partition("1").MaxUnavailable("2").MaxSurge("1").
				RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).Obj()),
		created("roles' configuration under ServingGroupRollingUpdate",
			quiet("sample").Role(MakeRole("decode").Replicas(2).Partition("1").MaxUnavailable("50%").Obj()).Obj()),
		created("malformed roles' configuration", quiet("sample").Rollout(workloadv1alpha1.RoleRollingUpdate).
			Role(MakeRole("decode").Replicas(2).Partition("x").MaxUnavailable("0").Obj()).Obj()),
		created("a single replica without surge", quiet("sample").Replicas(1).Obj()),
		created("a single replica of a role under RoleRollingUpdate", quiet("sample").Replicas(1).
			Rollout(workloadv1alpha1.RoleRollingUpdate).Role(MakeRole("decode").Obj()).Obj()),
		created("plugins", with(func(w *ModelServingWrapper) {
			w.Spec.Plugins = []workloadv1alpha1.PluginSpec{{Name: "gang"}}
		})),
		createdIn("Volcano is not installed", quiet("sample").Obj(), validating.Surroundings{Volcano: validating.Absent}),
		{"a scale that makes names too long", func() (field.ErrorList, []validating.Warning) {
			return validating.Scale(quiet(strings.Repeat("a", 49)).Obj(), 5000), nil
		}},
		{"an old object keeps its faults when a label is added", func() (field.ErrorList, []validating.Warning) {
			old := quiet("sample").MinRoleReplicas("prefill", 5).MinRoleReplicas("decode", 1).Obj()
			return validating.ModelServingUpdate(quiet("sample").MinRoleReplicas("prefill", 5).MinRoleReplicas("decode", 1).
				Label("team", "a").Obj(), old, installed)
		}},
	}
}
