package plan_test

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// sight is what a pass can see of what is available: groups, and role replicas as "group/id".
type sight map[string]bool

// see judges a snapshot as account judges the world. What a pass sees unavailable it may take at no
// cost, even if it has become available in the meantime.
func (w *world) see(p *pass) sight {
	seen := sight{}
	for g, replicas := range sorted(p.snapshot.Pods) {
		readyOf, hash := map[string]int{}, w.newest(replicas)
		group := names.Group(theName, g)
		for id, r := range replicas {
			if w.available(r) && !removed(p.snapshot.ModelServing, group, id, r) {
				readyOf[r.role]++
				seen[group+"/"+id] = true
			}
		}
		a := w.accounts[g]
		seen[group] = a != nil && !a.hurt && a.baseline != nil && w.serving(p.snapshot.ModelServing, a.baseline, hash, readyOf)
	}
	return seen
}

// removed says that the status tells of the removal of a role replica: it is not available any more.
func removed(ms *workloadv1alpha1.ModelServing, group, id string, r *roleReplicaPods) bool {
	for _, rm := range ms.Status.Removals {
		if rm.Group != group || (rm.RoleID != "" && rm.RoleID != id) {
			continue
		}
		for _, p := range r.pods {
			if (rm.Pod == "" || rm.Pod == p.Name) && !p.CreationTimestamp.After(rm.CreatedUntil.Time) {
				return true
			}
		}
	}
	return false
}

// budget is what the spec of the pass that is under way allows.
func budget(spec *workloadv1alpha1.ModelServingSpec) (replicas, partition, maxUnavailable int) {
	replicas = int(ptr.Deref(spec.Replicas, 1))
	maxUnavailable = 1
	if s := spec.RolloutStrategy; s != nil && s.RollingUpdateConfiguration != nil {
		c := s.RollingUpdateConfiguration
		surge := scaled(c.MaxSurge, replicas, true, 0)
		partition = scaled(c.Partition, replicas, true, 0)
		maxUnavailable = scaled(c.MaxUnavailable, replicas, false, 1)
		if surge == 0 {
			maxUnavailable = max(1, maxUnavailable)
		}
	}
	return replicas, partition, maxUnavailable
}

func scaled(v *intstr.IntOrString, of int, up bool, def int) int {
	if v == nil {
		return def
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, of, up)
	if err != nil {
		panic(err)
	}
	return n
}

// podsWanted is the number of role replicas that the spec wants of each group.
func podsWanted(spec *workloadv1alpha1.ModelServingSpec) int {
	n := 0
	for i := range spec.Template.Roles {
		n += int(ptr.Deref(spec.Template.Roles[i].Replicas, 1))
	}
	return n
}

func byRole(spec *workloadv1alpha1.ModelServingSpec) bool {
	return spec.RolloutStrategy != nil && spec.RolloutStrategy.Type == workloadv1alpha1.RoleRollingUpdate
}

// decision is a removal that a pass wrote into the status: why, and under which spec.
type decision struct {
	why   string
	spec  *workloadv1alpha1.ModelServingSpec
	sight sight
	// update is the name of the revision that was rolled out then.
	update string
	// recoveries are those that the status told of.
	recoveries []workloadv1alpha1.RecoveryStatus
}

func (p *pass) decides(why string) decision {
	ms := p.snapshot.ModelServing
	return decision{why, &ms.Spec, p.sight, p.plan.Status.UpdateRevision, ms.Status.Recoveries}
}

// decide remembers the removals of a plan, once the status that tells of them is written: a later
// manager may finish them.
func (w *world) decide(p *pass) {
	why := map[string]string{}
	for _, lane := range p.plan.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				if pod, ok := a.Object.(*corev1.Pod); ok && a.Verb == action.Delete {
					why[born(pod, names.LabelGroup)+"/"+born(pod, names.LabelRoleID)] = a.Why
					why[born(pod, names.LabelGroup)+"/"] = a.Why
				}
			}
		}
	}
	old := w.decisions
	w.decisions = map[string]decision{}
	for _, r := range p.plan.Status.Removals {
		key := r.Group + "/" + r.RoleID
		d, known := old[key]
		if !known || why[key] != whyFinish {
			d = p.decides(why[key])
		}
		w.decisions[key] = d
	}
}

// whyFinish is why a removal goes on that an earlier pass decided on.
const whyFinish = "FinishRemoval"

// decided is why and how the deletion of a Pod was decided: by this pass or, when it is only finished
// now, by an earlier one.
func (w *world) decided(a action.Action, pod *corev1.Pod) (decision, bool) {
	p := w.manager.pass
	d := p.decides(a.Why)
	if a.Why != whyFinish {
		return d, true
	}
	group := born(pod, names.LabelGroup) + "/"
	for _, key := range []string{group, group + born(pod, names.LabelRoleID)} {
		if d, ok := w.decisions[key]; ok {
			return d, true
		}
	}
	return d, false
}

// checkDelete judges a deletion by the world as it is, just before it happens.
func (w *world) checkDelete(k kind, o action.Object, a action.Action) {
	switch k {
	case podGroups:
		g, ok := names.GroupOrdinal(theName, o.GetName())
		if _, partition, _ := budget(&w.manager.pass.snapshot.ModelServing.Spec); ok && a.Why == "Rollout" && g >= partition && w.accounts[g] != nil {
			w.accounts[g].rev = "" // All that is left of it moves.
		}
		for _, p := range w.ours() {
			if born(p, names.LabelGroup) == o.GetName() && p.DeletionTimestamp == nil && w.gangWanted() {
				w.violate("PodGroup %s is deleted (%s) while Pod %s lives", o.GetName(), a.Why, p.Name)
			}
		}
	case pods:
		pod := o.(*corev1.Pod)
		if pod.DeletionTimestamp != nil {
			return
		}
		d, ok := w.decided(a, pod)
		group, id := born(pod, names.LabelGroup), born(pod, names.LabelRoleID)
		if pg := w.stores[podGroups].live[group]; pg != nil && w.goesWhole(group, pod) {
			w.accounts[groupOf(pod)].lastGang = pg.GetUID()
		}
		if acc := w.accounts[groupOf(pod)]; acc.replicas[id] != nil {
			acc.free = !d.sight[group]
			acc.replicas[id].free = !d.sight[group+"/"+id]
		}
		if _, partition, _ := budget(d.spec); d.why == "ScaleDown" || d.why == "Quota" || (d.why == "Rollout" && groupOf(pod) >= partition) {
			// It was let go, or let move: whatever comes back may be of another revision.
			w.accounts[groupOf(pod)].rev = ""
		}
		if a.Why == "Quota" {
			w.checkGift(pod)
		}
		if ok && d.why == "Recovery" {
			w.checkRecovery(pod, d)
		}
		switch ok = ok && d.why == "Rollout"; {
		case !ok:
		case !byRole(d.spec) && !w.isOutdated(groupOf(pod), d.update):
			w.violate("the rollout takes Pod %s, though its whole group is of revision %s", pod.Name, d.update)
		case byRole(d.spec):
			if d.sight[born(pod, names.LabelGroup)+"/"+born(pod, names.LabelRoleID)] {
				w.checkRoleBudget(d.spec, pod)
			}
		case d.sight[born(pod, names.LabelGroup)]:
			w.checkGroupBudget(d.spec, pod)
		}
	}
}

// isOutdated says that a Pod of the group is of another revision.
func (w *world) isOutdated(g int, update string) bool {
	return slices.ContainsFunc(w.ours(), func(p *corev1.Pod) bool {
		return groupOf(p) == g && names.Revision(theName, born(p, names.LabelRevision)) != update
	})
}

// goesWhole says that the status tells of the removal of a Pod's whole group.
func (w *world) goesWhole(group string, pod *corev1.Pod) bool {
	return slices.ContainsFunc(w.modelServing().Status.Removals, func(r workloadv1alpha1.RemovalStatus) bool {
		return r.Group == group && r.RoleID == "" && !pod.CreationTimestamp.After(r.CreatedUntil.Time)
	})
}

// checkCreatePodGroup: a gang is made for an incarnation that lives or begins, not for one that ends.
func (w *world) checkCreatePodGroup(pg action.Object) {
	living, going := 0, 0
	for _, p := range w.ours() {
		if born(p, names.LabelGroup) != pg.GetName() {
			continue
		}
		if p.DeletionTimestamp == nil {
			living++
		} else {
			going++
		}
	}
	seen := slices.ContainsFunc(w.manager.pass.snapshot.Pods, func(p *corev1.Pod) bool {
		return born(p, names.LabelGroup) == pg.GetName() && p.DeletionTimestamp == nil
	})
	if living == 0 && going > 0 && !seen {
		w.violate("PodGroup %s is created while the last Pods of its group terminate", pg.GetName())
	}
}

// checkGroupBudget: taking this Pod's group must leave as many groups as the budget says. Groups
// that faults made unavailable are counted as if they were there: the planner may not have seen yet.
func (w *world) checkGroupBudget(spec *workloadv1alpha1.ModelServingSpec, pod *corev1.Pod) {
	g := groupOf(pod)
	a := w.accounts[g]
	if a == nil || !a.available {
		return
	}
	replicas, partition, maxUnavailable := budget(spec)
	if podsWanted(spec) == 0 {
		return // Groups without Pods cannot be counted.
	}
	left := 0
	for other, oa := range w.accounts {
		if other != g && (oa.available || oa.partial || oa.cause == "fault" || (oa.hurt && oa.baseline == nil)) {
			left++ // One that was never whole may have served all the same, while it was scaled down, until it was hurt.
		}
	}
	// A removal that is only finished now was decided under another spec, perhaps.
	nowReplicas, _, nowUnavailable := budget(&w.manager.pass.snapshot.ModelServing.Spec)
	if least := min(replicas-maxUnavailable, nowReplicas-nowUnavailable); left < least {
		w.violate("the rollout takes group %d (Pod %s), which leaves %d groups, fewer than replicas %d - maxUnavailable %d",
			g, pod.Name, left, replicas, maxUnavailable)
	}
	if g < partition {
		w.violate("the rollout takes group %d, below the partition %d", g, partition)
	}
}

func (w *world) checkRoleBudget(spec *workloadv1alpha1.ModelServingSpec, pod *corev1.Pod) {
	a := w.accounts[groupOf(pod)]
	role, id := born(pod, names.LabelRole), born(pod, names.LabelRoleID)
	if a == nil || a.replicas[id] == nil || !a.replicas[id].available {
		return
	}
	for i := range spec.Template.Roles {
		r := &spec.Template.Roles[i]
		if r.Name != role {
			continue
		}
		replicas := int(ptr.Deref(r.Replicas, 1))
		maxUnavailable := max(1, scaled(r.MaxUnavailable, replicas, false, 1))
		left := 0
		for other, ra := range a.replicas {
			of, _, _ := strings.Cut(other, "-")
			if other != id && of == role && (ra.available || ra.cause == "fault") {
				left++
			}
		}
		if left < replicas-maxUnavailable {
			w.violate("the rollout takes role replica %s (Pod %s), which leaves %d, fewer than replicas %d - maxUnavailable %d",
				id, pod.Name, left, replicas, maxUnavailable)
		}
		if p := scaled(r.Partition, replicas, true, 0); replicaOf(pod) < p {
			w.violate("the rollout takes role replica %s, below the partition %d", id, p)
		}
	}
}

// checkCreatePod judges a Pod by the world as it is, just before it is created.
func (w *world) checkCreatePod(pod *corev1.Pod) {
	group, g := born(pod, names.LabelGroup), groupOf(pod)
	if !slices.ContainsFunc(w.ours(), func(p *corev1.Pod) bool { return unitOf(p) == unitOf(pod) }) {
		if w.wrong[unitOf(pod)] {
			// Its loss may be laid at the door of another replica of its role for some passes.
			delete(w.wrong, unitOf(pod))
			w.wrong["lost/"+born(pod, names.LabelRoleID)] = true
		}
	}
	spec := &w.manager.pass.snapshot.ModelServing.Spec
	if w.gangWanted() && w.manager.pass.snapshot.Gang.PodGroups {
		pg := w.stores[podGroups].live[group]
		if (pg == nil || !controlledBy(pg, w.modelServing().UID)) && !w.manager.pass.saw(group) {
			w.violate("Pod %s is created without its PodGroup", pod.Name)
		}
	}
	if pg, a := w.stores[podGroups].live[group], w.accounts[g]; pg != nil && a != nil && pg.GetUID() == a.lastGang {
		w.violate("Pod %s gets the PodGroup of an incarnation of its group that is over", pod.Name)
	}
	for _, other := range w.ours() {
		if born(other, names.LabelGroup) != group {
			continue
		}
		sameReplica := born(other, names.LabelRoleID) == born(pod, names.LabelRoleID)
		if !byRole(spec) && born(other, names.LabelRevision) != born(pod, names.LabelRevision) {
			w.violate("Pod %s of revision %s is created beside Pod %s of revision %s",
				pod.Name, born(pod, names.LabelRevision), other.Name, born(other, names.LabelRevision))
		}
		if sameReplica && born(other, names.LabelRoleTemplateHash) != born(pod, names.LabelRoleTemplateHash) {
			w.violate("Pod %s is created beside Pod %s of another template of its role", pod.Name, other.Name)
		}
	}
	a := w.accounts[g]
	if a == nil {
		a = &account{cause: "gangway", replicas: map[string]*replicaAccount{}}
		w.accounts[g] = a
	}
	rev := born(pod, names.LabelRevision)
	_, partition, _ := budget(spec)
	if !byRole(spec) && g < partition && a.rev != rev && (a.rev != "" && !a.unseen || !w.isBest(group, rev)) {
		w.violate("group %d, below the partition %d, moves from revision %s to %s", g, partition, a.rev, rev)
	}
	a.rev, a.unseen = rev, false
}

// checkStatus judges a status by the one that it replaces.
func (w *world) checkStatus(old, wanted workloadv1alpha1.ModelServingStatus) {
	ms := w.modelServing()
	if wanted.ObservedGeneration > ms.Generation || wanted.ObservedGeneration < old.ObservedGeneration {
		w.violate("observedGeneration goes from %d to %d at generation %d", old.ObservedGeneration, wanted.ObservedGeneration, ms.Generation)
	}
	if old.UpdateRevision != wanted.UpdateRevision && old.UpdateRevision != "" {
		w.checkUpdateRevision(old.UpdateRevision, wanted.UpdateRevision)
	}
	seen := map[string]bool{}
	for i := range wanted.Conditions {
		c := &wanted.Conditions[i]
		if seen[c.Type] {
			w.violate("condition %s is there twice", c.Type)
		}
		seen[c.Type] = true
		if c.Reason == "" || c.LastTransitionTime.IsZero() || c.Status == "" {
			w.violate("condition %s is refused by the API server: %+v", c.Type, *c)
		}
		was := meta.FindStatusCondition(old.Conditions, c.Type)
		if was != nil && was.Status == c.Status && !was.LastTransitionTime.Equal(&c.LastTransitionTime) {
			w.violate("condition %s stays %s, but its transition time moves from %s to %s", c.Type, c.Status, was.LastTransitionTime, c.LastTransitionTime)
		}
	}
	if w.calm && len(wanted.Recoveries) > 0 {
		w.violate("nothing has failed, but there is a recovery: %+v", wanted.Recoveries[0])
	}
	if wanted.LabelSelector == "" {
		w.violate("status.labelSelector is empty")
	}
}
