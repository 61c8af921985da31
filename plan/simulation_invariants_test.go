package plan_test

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// account is what the world remembers of a ServingGroup, for judging what happens to it next.
type account struct {
	// available: every role has as many Ready role replicas as it had when the group was last
	// complete, or as its revision remembers, or as are wanted now, whatever is fewest. A group is
	// complete when each role has a role replica and all are Ready that there are: a role that grows
	// does not make the group unavailable.
	available bool
	// partial: each role has a Ready role replica. A group that is being made or scaled up may count
	// as one that serves, but never as one that a rollout may have for nothing.
	partial  bool
	baseline map[string]int
	// hurt: somebody deleted a Pod of it, and it was not whole since. Until then it is not available,
	// even if it serves with what is left of it, and that is a fault.
	hurt bool
	// cause is whose the group's unavailability is: "fault", "user", "gangway"; "" while available.
	cause string
	// rev is the revision of the Pods that were created last.
	rev string
	// mayGo: fewer groups were wanted since; if it is all gone, it may have been let go.
	mayGo bool
	// replicas are its role replicas, by id.
	replicas map[string]*replicaAccount
}

type replicaAccount struct {
	available bool
	cause     string
	roleHash  string
}

// roleReplicaPods are the live Pods of one role replica.
type roleReplicaPods struct {
	role    string
	ordinal int
	hash    string
	pods    []*corev1.Pod
}

// standing sorts the live Pods into groups and role replicas.
func (w *world) standing() map[int]map[string]*roleReplicaPods { return sorted(w.ours()) }

func sorted(pods []*corev1.Pod) map[int]map[string]*roleReplicaPods {
	out := map[int]map[string]*roleReplicaPods{}
	for _, p := range pods {
		g, id := groupOf(p), p.Labels[names.LabelRoleID]
		if out[g] == nil {
			out[g] = map[string]*roleReplicaPods{}
		}
		r := out[g][id]
		if r == nil {
			r = &roleReplicaPods{role: p.Labels[names.LabelRole], ordinal: replicaOf(p), hash: p.Labels[names.LabelRevision]}
			out[g][id] = r
		}
		r.pods = append(r.pods, p)
	}
	return out
}

// newest is the latest revision of a group that RoleRollingUpdate may have mixed.
func (w *world) newest(replicas map[string]*roleReplicaPods) string {
	hash, number := "", int64(-1)
	for _, r := range replicas {
		if rev, ok := w.stores[revisions].live[names.Revision(theName, r.hash)].(*appsv1.ControllerRevision); ok && rev.Revision > number {
			hash, number = r.hash, rev.Revision
		}
	}
	return hash
}

// available says whether the entry and all workers of a role replica are Ready.
func (w *world) available(r *roleReplicaPods) bool {
	t, ok := w.template(r.hash)
	if !ok {
		return false
	}
	role, ok := t.Role(r.role)
	if !ok || len(r.pods) < 1+int(role.WorkerReplicas) {
		return false
	}
	for _, p := range r.pods {
		if !ready(p) {
			return false
		}
	}
	return true
}

// account brings the accounts up to date after a step; cause is whose the changes are.
func (w *world) account(cause string) {
	standing := w.standing()
	for g := range standing {
		if w.accounts[g] == nil {
			w.accounts[g] = &account{cause: "gangway", replicas: map[string]*replicaAccount{}}
		}
	}
	for g, a := range w.accounts {
		w.accountGroup(g, a, standing[g], cause)
	}
}

func (w *world) accountGroup(g int, a *account, replicas map[string]*roleReplicaPods, cause string) {
	ms := w.modelServing()
	readyOf, thereAre, hash := map[string]int{}, map[string]int{}, w.newest(replicas)
	for id, r := range replicas {
		thereAre[r.role]++
		ra := a.replicas[id]
		if ra == nil {
			ra = &replicaAccount{cause: "gangway"}
			a.replicas[id] = ra
		}
		now := w.available(r)
		switch {
		case now:
			ra.cause = ""
			readyOf[r.role]++
		case ra.available:
			ra.cause = cause
		}
		ra.available = now
	}
	for id, ra := range a.replicas {
		if replicas[id] == nil {
			if ra.available {
				ra.cause = cause
			}
			ra.available = false
		}
	}
	if len(replicas) == 0 {
		a.baseline, a.hurt, readyOf = nil, false, nil
		if a.mayGo || int(ptr.Deref(ms.Spec.Replicas, 1)) <= g || w.empty(ms, a.rev) {
			a.rev = "" // A group without Pods has no revision that anybody could see.
		}
	}
	if maps.Equal(readyOf, thereAre) && w.serving(ms, a.baseline, hash, readyOf) && (!a.hurt || w.whole(ms, hash, readyOf)) {
		a.baseline, a.hurt = readyOf, false
	}
	now := !a.hurt && a.baseline != nil && w.serving(ms, a.baseline, hash, readyOf)
	switch {
	case now:
		a.cause = ""
	case a.available:
		a.cause = cause
	}
	a.available = now
	a.partial = len(replicas) > 0 && w.serving(ms, nil, hash, readyOf)
}

// whole says that all that is wanted is Ready.
func (w *world) whole(ms *workloadv1alpha1.ModelServing, hash string, readyOf map[string]int) bool {
	t, _ := w.template(hash)
	for i := range t.Roles {
		if readyOf[t.Roles[i].Name] < revision.RoleReplicas(ms, t, t.Roles[i].Name) {
			return false
		}
	}
	return true
}

// empty says that a revision makes no Pods.
func (w *world) empty(ms *workloadv1alpha1.ModelServing, hash string) bool {
	t, ok := w.template(hash)
	for i := range t.Roles {
		if revision.RoleReplicas(ms, t, t.Roles[i].Name) > 0 {
			return false
		}
	}
	return ok
}

// serving compares what is Ready with the baseline.
func (w *world) serving(ms *workloadv1alpha1.ModelServing, baseline map[string]int, hash string, readyOf map[string]int) bool {
	t, ok := w.template(hash)
	if !ok {
		return false
	}
	for i := range t.Roles {
		name := t.Roles[i].Name
		least := revision.RoleReplicas(ms, t, name)
		if r := t.Roles[i].Replicas; r != nil {
			least = min(least, int(*r))
		}
		if readyOf[name] < min(least, max(1, baseline[name])) {
			return false
		}
	}
	return true
}

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
			if w.available(r) {
				readyOf[r.role]++
				seen[group+"/"+id] = true
			}
		}
		a := w.accounts[g]
		seen[group] = a != nil && !a.hurt && a.baseline != nil && w.serving(p.snapshot.ModelServing, a.baseline, hash, readyOf)
	}
	return seen
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
}

// decide remembers the removals of a plan, once the status that tells of them is written: a later
// manager may finish them.
func (w *world) decide(p *pass) {
	why := map[string]string{}
	for _, lane := range p.plan.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				if pod, ok := a.Object.(*corev1.Pod); ok && a.Verb == action.Delete {
					why[pod.Labels[names.LabelGroup]+"/"+pod.Labels[names.LabelRoleID]] = a.Why
					why[pod.Labels[names.LabelGroup]+"/"] = a.Why
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
			d = decision{why[key], &p.snapshot.ModelServing.Spec, p.sight}
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
	d := decision{a.Why, &p.snapshot.ModelServing.Spec, p.sight}
	if a.Why != whyFinish {
		return d, true
	}
	group := pod.Labels[names.LabelGroup] + "/"
	for _, key := range []string{group, group + pod.Labels[names.LabelRoleID]} {
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
			if p.Labels[names.LabelGroup] == o.GetName() && p.DeletionTimestamp == nil && w.gangWanted() {
				w.violate("PodGroup %s is deleted (%s) while Pod %s lives", o.GetName(), a.Why, p.Name)
			}
		}
	case pods:
		pod := o.(*corev1.Pod)
		if pod.DeletionTimestamp != nil {
			return
		}
		d, ok := w.decided(a, pod)
		if _, partition, _ := budget(d.spec); d.why == "ScaleDown" || (d.why == "Rollout" && groupOf(pod) >= partition) {
			// It was let go, or let move: whatever comes back may be of another revision.
			w.accounts[groupOf(pod)].rev = ""
		}
		switch ok = ok && d.why == "Rollout"; {
		case !ok:
		case byRole(d.spec):
			if d.sight[pod.Labels[names.LabelGroup]+"/"+pod.Labels[names.LabelRoleID]] {
				w.checkRoleBudget(d.spec, pod)
			}
		case d.sight[pod.Labels[names.LabelGroup]]:
			w.checkGroupBudget(d.spec, pod)
		}
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
		if other != g && (oa.available || oa.partial || oa.cause == "fault") {
			left++
		}
	}
	if least := replicas - maxUnavailable; left < least {
		w.violate("the rollout takes group %d (Pod %s), which leaves %d groups, fewer than replicas %d - maxUnavailable %d",
			g, pod.Name, left, replicas, maxUnavailable)
	}
	if g < partition {
		w.violate("the rollout takes group %d, below the partition %d", g, partition)
	}
}

func (w *world) checkRoleBudget(spec *workloadv1alpha1.ModelServingSpec, pod *corev1.Pod) {
	a := w.accounts[groupOf(pod)]
	role, id := pod.Labels[names.LabelRole], pod.Labels[names.LabelRoleID]
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
	group, g := pod.Labels[names.LabelGroup], groupOf(pod)
	spec := &w.manager.pass.snapshot.ModelServing.Spec
	if w.gangWanted() && w.manager.pass.snapshot.Gang.PodGroups {
		pg := w.stores[podGroups].live[group]
		if (pg == nil || !controlledBy(pg, w.modelServing().UID)) && !w.manager.pass.saw(group) {
			w.violate("Pod %s is created without its PodGroup", pod.Name)
		}
	}
	for _, other := range w.ours() {
		if other.Labels[names.LabelGroup] != group {
			continue
		}
		sameReplica := other.Labels[names.LabelRoleID] == pod.Labels[names.LabelRoleID]
		if !byRole(spec) && other.Labels[names.LabelRevision] != pod.Labels[names.LabelRevision] {
			w.violate("Pod %s of revision %s is created beside Pod %s of revision %s",
				pod.Name, pod.Labels[names.LabelRevision], other.Name, other.Labels[names.LabelRevision])
		}
		if sameReplica && other.Labels[names.LabelRoleTemplateHash] != pod.Labels[names.LabelRoleTemplateHash] {
			w.violate("Pod %s is created beside Pod %s of another template of its role", pod.Name, other.Name)
		}
	}
	a := w.accounts[g]
	if a == nil {
		a = &account{cause: "gangway", replicas: map[string]*replicaAccount{}}
		w.accounts[g] = a
	}
	rev := pod.Labels[names.LabelRevision]
	_, partition, _ := budget(spec)
	if !byRole(spec) && g < partition && a.rev != "" && a.rev != rev {
		w.violate("group %d, below the partition %d, moves from revision %s to %s", g, partition, a.rev, rev)
	}
	a.rev = rev
}

// checkStatus judges a status by the one that it replaces.
func (w *world) checkStatus(old, wanted workloadv1alpha1.ModelServingStatus) {
	ms := w.modelServing()
	if wanted.ObservedGeneration > ms.Generation || wanted.ObservedGeneration < old.ObservedGeneration {
		w.violate("observedGeneration goes from %d to %d at generation %d", old.ObservedGeneration, wanted.ObservedGeneration, ms.Generation)
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

// groupsStanding are the ordinals of groups with Pods that stay.
func (w *world) groupsStanding() []int {
	groups := map[int]bool{}
	for _, p := range w.ours() {
		if p.DeletionTimestamp == nil {
			groups[groupOf(p)] = true
		}
	}
	return slices.Sorted(maps.Keys(groups))
}
