package plan_test

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// account is what the world remembers of a ServingGroup, for judging what happens to it next.
type account struct {
	// available: every role has as many Ready role replicas as it had when the group was last whole,
	// or as its revision remembers, or as are wanted now, whatever is fewest: a role that grows does
	// not make the group unavailable. A group is whole when all is Ready that there is, and all that is
	// wanted by the spec that was last planned for.
	available bool
	// partial: each role has a Ready role replica. A group that is being made or scaled up may count
	// as one that serves, but never as one that a rollout may have for nothing.
	partial  bool
	baseline map[string]int
	// hurt: a Pod of it failed or was deleted by others, and it was not whole since. Until then it is
	// not available, even if it serves with what is left of it, and that is a fault.
	hurt bool
	// growing: it is available, but not whole.
	growing bool
	// free: the last pass that deleted of it saw it unavailable.
	free bool
	// cause is whose the group's unavailability is: "fault", "user", "gangway"; "" while available.
	cause string
	// lastGang is the UID of the PodGroup of an incarnation that the status says goes as a whole.
	lastGang types.UID
	// rev is the revision of the Pods that were created last.
	rev string
	// unseen: all of it was gone, and what its revision was may be seen nowhere.
	unseen bool
	// mayGo: fewer groups were wanted since; if it is all gone, it may have been let go.
	mayGo bool
	// replicas are its role replicas, by id.
	replicas map[string]*replicaAccount
}

type replicaAccount struct {
	available bool
	cause     string
	free      bool
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
		g, id := groupOf(p), born(p, names.LabelRoleID)
		if out[g] == nil {
			out[g] = map[string]*roleReplicaPods{}
		}
		r := out[g][id]
		if r == nil {
			r = &roleReplicaPods{role: born(p, names.LabelRole), ordinal: replicaOf(p), hash: born(p, names.LabelRevision)}
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

// hurt notes that a Pod failed.
func (w *world) hurt(pod *corev1.Pod) {
	if a := w.accounts[groupOf(pod)]; a != nil {
		a.hurt = true
	}
}

// unitOf is the role replica of a Pod, as "group/id".
func unitOf(p *corev1.Pod) string {
	return born(p, names.LabelGroup) + "/" + born(p, names.LabelRoleID)
}

// goesWrong notes that a role replica has failed, if it has. The restart of a Pod that was never Ready
// is start-up trouble; whether its role replica was ever wholly Ready, nobody can see for certain.
func (w *world) goesWrong(pod *corev1.Pod, has bool) {
	if has {
		w.wrong[unitOf(pod)], w.wrong[born(pod, names.LabelGroup)] = true, true
	}
}

// checkRecovery holds that only what has failed is recovered. Which of several role replicas of a role
// that lack Pods lost one that nobody saw go, and which never had it, nobody can say.
func (w *world) checkRecovery(pod *corev1.Pod, d decision) {
	unit, group := unitOf(pod), born(pod, names.LabelGroup)
	whole := w.goesWhole(group, pod)
	for i := range d.recoveries {
		if r := &d.recoveries[i]; whole && r.Group == group && r.ProgressingSince != nil {
			return // It was not available for too long after that.
		}
	}
	for wrong := range w.wrong {
		_, id, isUnit := strings.Cut(wrong, "/")
		switch {
		case wrong == unit, whole && (wrong == group || isUnit):
			return
		case isUnit && strings.HasPrefix(id, born(pod, names.LabelRole)+"-"):
			return
		}
	}
	w.violate("Pod %s is deleted to recover it, but nothing of its unit has failed", pod.Name)
}

// blamed is whose an unavailability is: what a pass took because it saw it broken, a fault took.
func blamed(cause string, free bool) string {
	if cause == "gangway" && free {
		return "fault"
	}
	return cause
}

func (w *world) accountGroup(g int, a *account, replicas map[string]*roleReplicaPods, cause string) {
	ms := w.modelServing()
	readyOf, hash := map[string]int{}, w.newest(replicas)
	for id, r := range replicas {
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
			ra.cause = blamed(cause, ra.free)
		}
		ra.available = now
	}
	for id, ra := range a.replicas {
		if replicas[id] == nil {
			if ra.available {
				ra.cause = blamed(cause, ra.free)
			}
			ra.available = false
		}
	}
	if len(replicas) == 0 {
		a.baseline, readyOf = nil, nil
		unseen := a.hurt && w.stores[podGroups].live[names.Group(theName, g)] == nil
		if unseen || a.mayGo || int(ptr.Deref(ms.Spec.Replicas, 1)) <= g || w.empty(ms, a.rev) {
			a.unseen = true // A group without Pods has no revision that anybody could see.
		}
	}
	if len(replicas) > 0 && readyReplicas(readyOf) == len(replicas) && w.planned != nil && w.whole(w.planned, hash, readyOf) {
		a.baseline, a.hurt = readyOf, false
		delete(w.wrong, names.Group(theName, g))
	}
	now := !a.hurt && a.baseline != nil && w.serving(ms, a.baseline, hash, readyOf)
	switch {
	case now:
		a.cause = ""
	case a.available:
		a.cause = blamed(cause, a.free)
	}
	a.available = now
	a.growing = now && !w.whole(ms, hash, readyOf)
	a.partial = len(replicas) > 0 && w.serving(ms, nil, hash, readyOf)
}

func readyReplicas(of map[string]int) int {
	n := 0
	for _, ready := range of {
		n += ready
	}
	return n
}

// whole says that all that is wanted is Ready.
func (w *world) whole(ms *workloadv1alpha1.ModelServing, hash string, readyOf map[string]int) bool {
	t, ok := w.template(hash)
	for i := range t.Roles {
		if readyOf[t.Roles[i].Name] < revision.RoleReplicas(ms, t, t.Roles[i].Name) {
			return false
		}
	}
	return ok
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
