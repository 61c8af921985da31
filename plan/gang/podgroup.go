// Package gang makes the gangs of ServingGroups, so that a scheduler places all of a group's
// needed Pods or none. The backend is Volcano's PodGroup.
package gang

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/state"
)

// Wanted says whether the ServingGroups have PodGroups: the scheduler is Volcano, and it is installed.
func Wanted(ms *workloadv1alpha1.ModelServing, support state.GangSupport) bool {
	return ms.Spec.SchedulerName == names.SchedulerVolcano && support.PodGroups
}

// Desired makes the PodGroup of a ServingGroup whose Pods are made from t. A Volcano that does not
// know subgroups gets the number of Pods of each role instead.
func Desired(ms *workloadv1alpha1.ModelServing, t revision.Template, group int, support state.GangSupport) *schedulingv1beta1.PodGroup {
	name := names.Group(ms.Name, group)
	pg := &schedulingv1beta1.PodGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: ms.Namespace,
			Labels: map[string]string{
				names.LabelModelServing: ms.Name,
				names.LabelGroup:        name,
				names.LabelModelInfer:   name,
			},
			Annotations: map[string]string{names.AnnotationGroupName: ms.Name},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(ms, workloadv1alpha1.GroupVersion.WithKind("ModelServing")),
			},
		},
		Spec: schedulingv1beta1.PodGroupSpec{
			Queue:             schedulingv1beta1.DefaultQueue,
			PriorityClassName: priorityClassName(t),
		},
	}
	if t.Hash != "" {
		pg.Labels[names.LabelRevision] = t.Hash
	}
	if q := ms.Annotations[names.AnnotationQueue]; q != "" {
		pg.Spec.Queue = q
		pg.Annotations[names.AnnotationQueue] = q
	}
	var rolePolicy *workloadv1alpha1.NetworkTopologySpec
	if nt := ms.Spec.Template.NetworkTopology; nt != nil {
		pg.Spec.NetworkTopology = topology(nt.GroupPolicy)
		rolePolicy = nt.RolePolicy
	}

	needed := corev1.ResourceList{}
	for i := range t.Roles {
		role := &t.Roles[i]
		required := required(ms, t, role.Name)
		if required == 0 {
			continue
		}
		size := 1 + role.WorkerReplicas
		pg.Spec.MinMember += required * size
		addRequests(needed, role, required)
		if support.SubGroups {
			pg.Spec.SubGroupPolicy = append(pg.Spec.SubGroupPolicy, subGroup(ms, role.Name, size, required, rolePolicy))
			continue
		}
		if pg.Spec.MinTaskMember == nil {
			pg.Spec.MinTaskMember = map[string]int32{}
		}
		pg.Spec.MinTaskMember[role.Name] = required * size
	}
	if len(needed) > 0 {
		pg.Spec.MinResources = &needed
	}
	return pg
}

// required is the number of role replicas that the gang needs: what minRoleReplicas says of the
// role, 0 when it is set and does not name it, all when it is not set; never more than there are.
func required(ms *workloadv1alpha1.ModelServing, t revision.Template, role string) int32 {
	all := int32(revision.RoleReplicas(ms, t, role))
	if ms.Spec.Template.GangPolicy == nil || ms.Spec.Template.GangPolicy.MinRoleReplicas == nil {
		return all
	}
	return max(0, min(all, ms.Spec.Template.GangPolicy.MinRoleReplicas[role]))
}

func subGroup(ms *workloadv1alpha1.ModelServing, role string, size, required int32, policy *workloadv1alpha1.NetworkTopologySpec) schedulingv1beta1.SubGroupPolicySpec {
	return schedulingv1beta1.SubGroupPolicySpec{
		Name:         role,
		SubGroupSize: ptr.To(size),
		MinSubGroups: ptr.To(required),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			names.LabelModelServing: ms.Name,
			names.LabelRole:         role,
		}},
		MatchLabelKeys:  []string{names.LabelRoleID},
		NetworkTopology: topology(policy),
	}
}

// topology writes the mode out, as the schema's default would.
func topology(p *workloadv1alpha1.NetworkTopologySpec) *schedulingv1beta1.NetworkTopologySpec {
	if p == nil {
		return nil
	}
	out := &schedulingv1beta1.NetworkTopologySpec{
		Mode:            schedulingv1beta1.NetworkTopologyMode(p.Mode),
		HighestTierName: p.HighestTierName,
	}
	if out.Mode == "" {
		out.Mode = schedulingv1beta1.HardNetworkTopologyMode
	}
	if p.HighestTierAllowed != nil {
		out.HighestTierAllowed = ptr.To(*p.HighestTierAllowed)
	}
	return out
}

// priorityClassName is that of the first role whose entry template sets one.
func priorityClassName(t revision.Template) string {
	for i := range t.Roles {
		if p := t.Roles[i].EntryTemplate.Spec.PriorityClassName; p != "" {
			return p
		}
	}
	return ""
}
