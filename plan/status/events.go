package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// events tells of what is new in the status. Recoveries are told of by the planner, and creations
// and deletions by the writes themselves.
func (r *report) events() {
	r.tellRollout()
	if c, is := r.became(workloadv1alpha1.ConditionGangSchedulingReady, workloadv1alpha1.ReasonGangPending); is {
		r.tell(corev1.EventTypeWarning, workloadv1alpha1.ReasonGangPending, c)
	}
	r.tellRoles()
}

// became says whether a condition has that reason now and had another one before.
func (r *report) became(conditionType, reason string) (message string, is bool) {
	now := meta.FindStatusCondition(r.st.Conditions, conditionType)
	if now == nil || now.Reason != reason {
		return "", false
	}
	was := meta.FindStatusCondition(r.old.Conditions, conditionType)
	return now.Message, was == nil || was.Reason != reason
}

func (r *report) tellRollout() {
	const t = workloadv1alpha1.ConditionUpdateInProgress
	was := meta.IsStatusConditionTrue(r.old.Conditions, t)
	switch {
	case r.updating && (!was || r.old.UpdateRevision != r.st.UpdateRevision):
		r.tell(corev1.EventTypeNormal, workloadv1alpha1.EventRolloutStarted,
			fmt.Sprintf("rolling out revision %s", r.st.UpdateRevision))
	case !r.updating && was:
		r.tell(corev1.EventTypeNormal, workloadv1alpha1.EventRolloutCompleted,
			fmt.Sprintf("revision %s is rolled out", r.st.UpdateRevision))
	}
	if c, is := r.became(t, workloadv1alpha1.ReasonRolloutStalled); is {
		r.tell(corev1.EventTypeWarning, workloadv1alpha1.ReasonRolloutStalled, c)
	}
}

// tellRoles tells of roles all of whose replicas are Ready now, and were not.
func (r *report) tellRoles() {
	for i := range r.st.Roles {
		now := &r.st.Roles[i]
		wanted := int32(r.Replicas) * ptr.Deref(r.ModelServing.Spec.Template.Roles[i].Replicas, 1)
		if wanted == 0 || now.ReadyReplicas < wanted {
			continue
		}
		was := int32(0)
		for j := range r.old.Roles {
			if r.old.Roles[j].Name == now.Name {
				was = r.old.Roles[j].ReadyReplicas
			}
		}
		if was < now.ReadyReplicas && was < wanted {
			message := fmt.Sprintf("all %d replicas of role %s are Ready", wanted, now.Name)
			if wanted == 1 {
				message = fmt.Sprintf("the replica of role %s is Ready", now.Name)
			}
			r.out.Events = append(r.out.Events, action.Event{
				Type: corev1.EventTypeNormal, Reason: workloadv1alpha1.EventRoleRunning, Field: names.RoleField(now.Name),
				Message: message,
			})
		}
	}
}

// Replicas is a number of role replicas in words.
func Replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}
