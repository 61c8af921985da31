package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// count fills in everything but the conditions. Groups and role replicas that this pass deletes do
// not count any more; those that it creates count once they are seen, so that a role replica which
// was counted and is not there any more is known to be lost (plan/recovery).
func (r *report) count() {
	ms, st := r.ModelServing, r.st
	st.ObservedGeneration = ms.Generation
	st.UpdateRevision = r.Update.Name
	st.CurrentRevision = r.CurrentRevision
	st.CollisionCount = r.CollisionCount
	st.LabelSelector = scaleSelector(ms)
	st.Address = r.Address

	for i := range r.Groups {
		g := &r.Groups[i]
		if !g.Kept {
			continue
		}
		if g.Living == 0 && g.Wanted > 0 {
			continue
		}
		st.Replicas++
		if g.Updated || g.Wanted == 0 {
			st.UpdatedReplicas++
		}
		if g.Available {
			st.AvailableReplicas++
		}
	}
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Kept && g.Living > 0 && g.Own == st.CurrentRevision {
			st.CurrentReplicas++
		}
	}
	r.countRoles()
	r.observeRollout()
}

func (r *report) countRoles() {
	roles := r.ModelServing.Spec.Template.Roles
	r.st.Roles = make([]workloadv1alpha1.RoleStatus, len(roles))
	for i := range roles {
		out := &r.st.Roles[i]
		out.Name = roles[i].Name
		for j := range r.Groups {
			g := &r.Groups[j]
			if !g.Kept {
				continue
			}
			for _, replica := range g.OfRole(out.Name) {
				if !replica.Complete || g.Doomed(replica) {
					continue
				}
				out.Replicas++
				if replica.Available {
					out.ReadyReplicas++
				}
				if r.Update.Matches(replica.Role, replica.Revision, replica.RoleHash) {
					out.UpdatedReplicas++
				}
			}
		}
	}
}

// observeRollout finds out whether a rollout is on and whether it stands still. It ends when no group
// waits any more and those that had to be replaced are available again.
func (r *report) observeRollout() {
	was := meta.IsStatusConditionTrue(r.old.Conditions, workloadv1alpha1.ConditionUpdateInProgress)
	progress := time.Time{}
	seen := func(t metav1.Time) {
		if t.After(progress) {
			progress = t.Time
		}
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		switch {
		case g.Kept && g.Waiting, g.Rebuilt && !g.Recovering && g.Outdated:
			r.updating = true
		case was && (g.Rebuilt || g.Kept && !g.Available && !g.Outdated):
			r.updating = true
		}
	}
	if !r.updating || r.Paused {
		return
	}
	// The rollout stands still when nothing has come, gone or become Ready for it.
	if c := meta.FindStatusCondition(r.old.Conditions, workloadv1alpha1.ConditionUpdateInProgress); c != nil && was {
		seen(c.LastTransitionTime)
	}
	for i := range r.Groups {
		for _, replica := range r.Groups[i].Replicas {
			for _, p := range replica.Pods {
				if p.DeletionTimestamp != nil {
					seen(*p.DeletionTimestamp)
				}
				if p.Revision() != r.Update.Hash {
					continue
				}
				seen(p.CreationTimestamp)
				if p.Ready {
					seen(metav1.NewTime(p.ReadySince()))
				}
			}
		}
	}
	if !was || r.old.UpdateRevision != r.Update.Name || progress.IsZero() {
		progress = r.Now
	}
	deadline := progress.Add(r.ProgressDeadline)
	if r.stalled = !r.Now.Before(deadline); !r.stalled {
		r.wake(deadline)
	}
}

// WholeSince is a time at which every ServingGroup was wholly Ready, and since when a status has said
// nothing else; zero when that is not known. Groups of a surge are not counted on, nor is what a
// rollout leaves behind: while those start, enough others may be available.
func WholeSince(st *workloadv1alpha1.ModelServingStatus) time.Time {
	available := meta.FindStatusCondition(st.Conditions, workloadv1alpha1.ConditionAvailable)
	update := meta.FindStatusCondition(st.Conditions, workloadv1alpha1.ConditionUpdateInProgress)
	if available == nil || available.Status != metav1.ConditionTrue ||
		update == nil || update.Status != metav1.ConditionFalse || st.SurgeReplicas > 0 {
		return time.Time{}
	}
	return later(available.LastTransitionTime, update.LastTransitionTime).Time
}

func later(a, b metav1.Time) metav1.Time {
	if a.Before(&b) {
		return b
	}
	return a
}

// CountedRole is the first role that has replicas, or the first: its replica 0 stands for the group.
func CountedRole(ms *workloadv1alpha1.ModelServing) string {
	roles := ms.Spec.Template.Roles
	for i := range roles {
		if ptr.Deref(roles[i].Replicas, 1) > 0 {
			return roles[i].Name
		}
	}
	if len(roles) == 0 {
		return ""
	}
	return roles[0].Name
}

// scaleSelector selects one Pod of each group, so that an autoscaler counts groups.
func scaleSelector(ms *workloadv1alpha1.ModelServing) string {
	return labels.Set{
		names.LabelModelServing: ms.Name,
		names.LabelRoleID:       names.RoleReplica(CountedRole(ms), 0),
		names.LabelEntry:        names.EntryValue,
	}.String()
}
