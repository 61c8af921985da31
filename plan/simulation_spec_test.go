package plan_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/state"
)

// makeModelServing makes what a script's header describes.
func makeModelServing(header string) (*workloadv1alpha1.ModelServing, state.GangSupport) {
	ms := gangwaytesting.MakeModelServing(theName).Obj()
	gangs := support("new")
	for _, field := range strings.Fields(header)[1:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "volcano":
			gangs = support(value)
		case "type":
			ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: workloadv1alpha1.ServingGroupRollingUpdate}
			if value == "role" {
				ms.Spec.RolloutStrategy.Type = workloadv1alpha1.RoleRollingUpdate
			}
		case "roles":
			for _, r := range strings.Split(value, ",") {
				p := strings.Split(r, ":")
				set(ms, []string{"role", p[0], p[1], p[2]})
			}
		default:
			set(ms, []string{key, value})
		}
	}
	return ms, gangs
}

// set changes the spec.
func set(ms *workloadv1alpha1.ModelServing, f []string) {
	value := func(i int) *intstr.IntOrString { return ptr.To(intstr.Parse(f[i])) }
	rolling := func() *workloadv1alpha1.RollingUpdateConfiguration {
		if ms.Spec.RolloutStrategy == nil {
			ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: workloadv1alpha1.ServingGroupRollingUpdate}
		}
		if ms.Spec.RolloutStrategy.RollingUpdateConfiguration == nil {
			ms.Spec.RolloutStrategy.RollingUpdateConfiguration = &workloadv1alpha1.RollingUpdateConfiguration{MaxUnavailable: ptr.To(intstr.FromInt32(1))}
		}
		return ms.Spec.RolloutStrategy.RollingUpdateConfiguration
	}
	roles := ms.Spec.Template.Roles
	at := func(name string) *workloadv1alpha1.Role {
		for i := range roles {
			if roles[i].Name == name {
				return &roles[i]
			}
		}
		return &workloadv1alpha1.Role{}
	}
	switch f[0] {
	case "replicas":
		ms.Spec.Replicas = ptr.To(int32(number(f[1])))
	case "recovery":
		ms.Spec.RecoveryPolicy = workloadv1alpha1.RecoveryPolicy(f[1])
	case "grace":
		ms.Spec.Template.RestartGracePeriodSeconds = ptr.To(int64(number(f[1])))
	case "deadline":
		ms.Spec.Template.ProgressDeadlineSeconds = ptr.To(int32(number(f[1])))
	case "history":
		ms.Spec.RevisionHistoryLimit = ptr.To(int32(number(f[1])))
	case "paused":
		rolling()
		ms.Spec.RolloutStrategy.Paused = f[1] == "true"
		if ms.Spec.RolloutStrategy.Type == workloadv1alpha1.RoleRollingUpdate {
			ms.Spec.RolloutStrategy.RollingUpdateConfiguration = nil
		}
	case "partition":
		rolling().Partition = value(1)
	case "maxUnavailable":
		rolling().MaxUnavailable = value(1)
	case "maxSurge":
		rolling().MaxSurge = value(1)
	case "image":
		r := at(f[1])
		if r.Name == "" {
			return
		}
		r.EntryTemplate.Spec.Containers[0].Image = "llm:" + f[2]
		if r.WorkerTemplate != nil {
			r.WorkerTemplate.Spec.Containers[0].Image = "llm:" + f[2]
		}
	case "roleReplicas":
		at(f[1]).Replicas = ptr.To(int32(number(f[2])))
	case "workers":
		if r := at(f[1]); r.Name != "" {
			r.WorkerReplicas = int32(number(f[2]))
			r.WorkerTemplate = ptr.To(*r.EntryTemplate.DeepCopy())
		}
	case "rolePartition":
		at(f[1]).Partition = value(2)
	case "roleMaxUnavailable":
		at(f[1]).MaxUnavailable = value(2)
	case "minimum":
		if ms.Spec.Template.GangPolicy == nil {
			ms.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{}}
		}
		ms.Spec.Template.GangPolicy.MinRoleReplicas[f[1]] = int32(number(f[2]))
	case "role":
		if at(f[1]).Name == "" {
			r := gangwaytesting.MakeRole(f[1]).Image("llm:1").Replicas(int32(number(f[2])))
			if n := number(f[3]); n > 0 {
				r.Workers(int32(n))
			}
			ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, r.Obj())
		}
	case "norole":
		var kept []workloadv1alpha1.Role
		for _, r := range roles {
			if r.Name != f[1] {
				kept = append(kept, r)
			}
		}
		if len(kept) > 0 {
			ms.Spec.Template.Roles = kept
		}
	default:
		panic(fmt.Sprintf("cannot set %v", f))
	}
}
