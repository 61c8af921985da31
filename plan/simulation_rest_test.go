package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/gang"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

const (
	settleRounds = 400
	// idleWakes is how often a manager may ask to be woken in a row for nothing.
	idleWakes = 6
)

// settle lets the cluster come to rest, healed, and holds that it is what it should be.
func (w *world) settle() {
	w.exhaust()
	w.rest(w.heal, w.atRest)
}

// rest goes on until nothing happens any more: nothing fails, kubelets do their work, caches catch
// up, and the manager is woken only by what it sees and by its own requests. Each round begins with
// heal; judge is called at the end.
func (w *world) rest(heal, judge func()) {
	idle := 0
	for range settleRounds {
		heal()
		w.account("fault")
		busy := false
		if w.manager.due() || w.manager.pass != nil {
			w.manager.begin()
			for w.manager.pass != nil && w.violation == nil {
				w.manager.do(0, "")
			}
			busy = w.manager.wrote
		}
		if w.violation != nil {
			return
		}
		moved := w.kubelets()
		for _, k := range kinds {
			if w.stores[k].sync(w.stores[k].behind()) {
				w.manager.wake()
				moved = true
			}
		}
		w.account("fault")
		w.passed()
		if busy {
			idle = 0
		}
		if busy || moved || w.manager.woken {
			continue
		}
		if w.still || w.manager.again.IsZero() || idle == idleWakes {
			judge()
			return
		}
		idle++
		w.now = w.manager.again
	}
	w.violate("no rest after %d rounds; the last plan:\n%s", settleRounds, w.lastPlan())
}

func (w *world) lastPlan() string {
	ms := w.modelServing()
	return render(plan.Compute(w.manager.snapshot(ms), w.now))
}

// heal takes away what keeps Pods from becoming Ready for ever.
func (w *world) heal() {
	clear(w.hung)
	w.collect()
	w.restoreRevisions()
	ms := w.modelServing()
	for i := range ms.Spec.Template.Roles {
		r := &ms.Spec.Template.Roles[i]
		if strings.Contains(r.EntryTemplate.Spec.Containers[0].Image, "broken") {
			w.step(fmt.Sprintf("set image %s fixed", r.Name))
			ms = w.modelServing()
		}
	}
	if slices.ContainsFunc(w.ours(), broken) {
		w.release()
		ms = w.modelServing()
	}
	for _, name := range slices.Sorted(maps.Keys(w.stores[pods].live)) {
		p := w.pod(name)
		switch {
		case !controlledBy(p, ms.UID):
			w.stores[pods].remove(name)
			// The manager does not watch what is not ours; its back-off tries again.
			w.manager.wake()
		case !w.reachable(p) && p.Spec.NodeName != "" && p.DeletionTimestamp == nil:
			// The node controller's eviction.
			w.hurt(p)
			w.goesWrong(p, true)
			w.delete(pods, p, false)
		}
	}
}

// release lets a rollout go on to the end, so that a broken image that it holds back goes, too.
func (w *world) release() {
	spec := &w.modelServing().Spec
	if s := spec.RolloutStrategy; s != nil && s.Paused {
		w.step("set paused false")
	}
	if s := spec.RolloutStrategy; s != nil && s.RollingUpdateConfiguration != nil && s.RollingUpdateConfiguration.Partition != nil &&
		s.RollingUpdateConfiguration.Partition.String() != "0" {
		w.step("set partition 0")
	}
	for i := range spec.Template.Roles {
		if r := &spec.Template.Roles[i]; r.Partition != nil && r.Partition.String() != "0" {
			w.step(fmt.Sprintf("set rolePartition %s 0", r.Name))
		}
	}
}

// kubelets brings every Pod one step on and says whether there was any to bring.
func (w *world) kubelets() bool {
	moved := false
	for _, p := range w.ours() {
		old := p.ResourceVersion
		switch {
		case p.DeletionTimestamp != nil:
			w.kubelet("gone", p)
		case p.Spec.NodeName == "":
			w.kubelet("start", p)
		case p.Status.Phase == corev1.PodPending && broken(p):
			// Waits for its image for ever.
		case !ready(p):
			w.kubelet("ready", p)
		}
		now := w.pod(p.Name)
		moved = moved || now == nil || now.ResourceVersion != old
	}
	return moved
}

// atRest holds that the cluster is what the spec says, and that the status says so.
func (w *world) atRest() {
	ms := w.modelServing()
	if len(w.manager.snapshot(ms).Pods) != len(w.ours()) {
		w.violate("the caches are not in sync")
	}
	s := w.manager.snapshot(ms)
	p := plan.Compute(s, w.now)
	if n := len(p.Before) + len(p.Lanes) + len(p.After); n > 0 {
		w.violate("at rest, but the plan is not empty:\n%s", render(p))
	}
	if status, _ := p.Settle(s, nil, w.now); !apiequality.Semantic.DeepEqual(status, ms.Status) {
		w.violate("at rest, but the status is to be written (-is +wanted):\n%s", cmp.Diff(ms.Status, status))
	}
	update, create, _, err := revision.Resolve(ms, s.Revisions)
	if err != nil || create {
		w.violate("at rest, but the update revision is not there: %v", err)
		return
	}
	w.restPods(ms, update)
	w.restStatus(ms, update)
	w.restRevisions(ms, update)
}

func (w *world) restPods(ms *workloadv1alpha1.ModelServing, update *appsv1.ControllerRevision) {
	target, err := revision.Decode(update)
	if err != nil {
		w.violate("%v", err)
		return
	}
	standing := w.standing()
	replicas, partition, _ := budget(&ms.Spec)
	groups := slices.Sorted(maps.Keys(standing))
	if len(groups) > replicas || (len(groups) < replicas && podsWanted(&ms.Spec) > 0) {
		w.violate("at rest, %d groups are wanted, but there are %v", replicas, groups)
	}
	paused := ms.Spec.RolloutStrategy != nil && ms.Spec.RolloutStrategy.Paused
	wantedServices, wantedGroups := map[string]bool{}, map[string]bool{}
	for _, g := range groups {
		hash := w.newest(standing[g])
		t, ok := w.template(hash)
		if !ok {
			w.violate("at rest, group %d is of revision %s, which is not there", g, hash)
			return
		}
		roles := t
		if byRole(&ms.Spec) && !paused {
			roles = target
		}
		wanted, got := wantedOf(ms, roles), map[string]int{}
		for id, r := range standing[g] {
			w.restLabels(r.pods)
			got[r.role]++
			w.restReplica(g, id, r, wantedServices)
			for _, p := range r.pods {
				w.restRevision(ms, p, update, target, partition, paused)
			}
		}
		if paused && byRole(&ms.Spec) && cmp.Equal(wantedOf(ms, target), got) {
			wanted = got // All that there is of it is what the update revision makes, too.
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			w.violate("at rest, role replicas of group %d (-wanted +there):\n%s", g, diff)
		}
		wantedGroups[names.Group(theName, g)] = true
		if pg, ok := w.stores[podGroups].live[names.Group(theName, g)].(*schedulingv1beta1.PodGroup); ok && w.gangWanted() && !byRole(&ms.Spec) {
			t.Hash = hash
			if updated, changed := gang.Reconcile(pg, gang.Desired(ms, t, g, w.gang)); changed {
				w.violate("at rest, PodGroup %s is not as wanted (-is +wanted):\n%s", pg.Name, cmp.Diff(pg, updated))
			}
		}
	}
	for g := 0; len(wantedGroups) < replicas; g++ {
		wantedGroups[names.Group(theName, g)] = true // Of the lowest groups without Pods, too.
	}
	if !w.gangWanted() {
		wantedGroups = map[string]bool{}
	}
	if diff := cmp.Diff(wantedServices, w.namesOf(services)); diff != "" {
		w.violate("at rest, Services (-wanted +there):\n%s", diff)
	}
	if diff := cmp.Diff(wantedGroups, w.namesOf(podGroups)); diff != "" {
		w.violate("at rest, PodGroups (-wanted +there):\n%s", diff)
	}
}

// wantedOf are the role replicas that a group of a revision is to have.
func wantedOf(ms *workloadv1alpha1.ModelServing, t revision.Template) map[string]int {
	wanted := map[string]int{}
	for i := range t.Roles {
		if n := revision.RoleReplicas(ms, t, t.Roles[i].Name); n > 0 {
			wanted[t.Roles[i].Name] = n
		}
	}
	return wanted
}

// restLabels holds that our labels are what they were made to be.
func (w *world) restLabels(pods []*corev1.Pod) {
	for _, p := range pods {
		for _, key := range names.ReservedLabels() {
			is, was := p.Labels[key], born(p, key)
			if key == names.LabelRevision && byRole(&w.modelServing().Spec) {
				// Which of the revisions that make the same Pod it was, need not be found out.
				if t, _ := w.template(is); t.RoleHashes[born(p, names.LabelRole)] == born(p, names.LabelRoleTemplateHash) {
					continue
				}
			}
			if is != was {
				w.violate("at rest, label %s of Pod %s is %q, not %q", key, p.Name, is, was)
			}
		}
	}
}

// restReplica holds that a role replica has an entry and all workers, and that they are Ready.
func (w *world) restReplica(g int, id string, r *roleReplicaPods, wantedServices map[string]bool) {
	t, _ := w.template(r.hash)
	role, _ := t.Role(r.role)
	wanted, got := map[string]bool{}, map[string]bool{}
	for n := range 1 + int(role.WorkerReplicas) {
		wanted[children.PodID{Group: g, Role: r.role, Replica: r.ordinal, Index: n}.Name(theName)] = true
	}
	for _, p := range r.pods {
		got[p.Name] = ready(p)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		w.violate("at rest, Pods of role replica %s of group %d, true if Ready (-wanted +there):\n%s", id, g, diff)
	}
	if role.WorkerReplicas > 0 {
		wantedServices[names.EntryService(names.Group(theName, g), id)] = true
	}
}

// restRevision holds that a Pod is of the update revision unless something keeps it back.
func (w *world) restRevision(ms *workloadv1alpha1.ModelServing, p *corev1.Pod, update *appsv1.ControllerRevision, target revision.Template, partition int, paused bool) {
	if paused {
		return
	}
	if !byRole(&ms.Spec) {
		if got := born(p, names.LabelRevision); groupOf(p) >= partition && got != update.Labels[names.LabelRevision] {
			w.violate("at rest, Pod %s at or above the partition %d is of revision %s, not %s", p.Name, partition, got, update.Name)
		}
		return
	}
	role := born(p, names.LabelRole)
	for i := range ms.Spec.Template.Roles {
		r := &ms.Spec.Template.Roles[i]
		if r.Name != role || replicaOf(p) < scaled(r.Partition, int(ptr.Deref(r.Replicas, 1)), true, 0) {
			continue
		}
		if got, want := born(p, names.LabelRoleTemplateHash), revision.RoleHash(target, role); got != want {
			w.violate("at rest, Pod %s is of role template %s, not %s", p.Name, got, want)
		}
	}
}

func (w *world) namesOf(k kind) map[string]bool {
	out := map[string]bool{}
	for name, o := range w.stores[k].live {
		if controlledBy(o, w.modelServing().UID) {
			out[name] = true
		}
	}
	return out
}

func (w *world) restStatus(ms *workloadv1alpha1.ModelServing, update *appsv1.ControllerRevision) {
	replicas := ptr.Deref(ms.Spec.Replicas, 1)
	type row struct {
		Generation                     int64
		Replicas, Available            int32
		Ready, AvailableC, Progressing metav1.ConditionStatus
		UpdateRevision                 string
		Recoveries, Removals           int
		Surge                          int32
	}
	conditionOf := func(t string) metav1.ConditionStatus {
		if c := meta.FindStatusCondition(ms.Status.Conditions, t); c != nil {
			return c.Status
		}
		return ""
	}
	want := row{ms.Generation, replicas, replicas, "True", "True", "False", update.Name, 0, 0, 0}
	got := row{
		ms.Status.ObservedGeneration, ms.Status.Replicas, ms.Status.AvailableReplicas,
		conditionOf(workloadv1alpha1.ConditionReady), conditionOf(workloadv1alpha1.ConditionAvailable),
		conditionOf(workloadv1alpha1.ConditionProgressing), ms.Status.UpdateRevision, len(ms.Status.Recoveries),
		len(ms.Status.Removals), ms.Status.SurgeReplicas,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.violate("at rest, status (-wanted +is):\n%s", diff)
	}
}

func (w *world) restRevisions(ms *workloadv1alpha1.ModelServing, update *appsv1.ControllerRevision) {
	used := map[string]bool{
		update.Labels[names.LabelRevision]:                         true,
		strings.TrimPrefix(ms.Status.CurrentRevision, theName+"-"): true,
	}
	for _, p := range w.ours() {
		used[born(p, names.LabelRevision)] = true
	}
	for _, o := range w.stores[podGroups].live {
		used[o.GetLabels()[names.LabelRevision]] = true
	}
	spare := 0
	for _, o := range w.stores[revisions].live {
		if controlledBy(o, ms.UID) && !used[o.GetLabels()[names.LabelRevision]] {
			spare++
		}
	}
	if limit := int(ptr.Deref(ms.Spec.RevisionHistoryLimit, 10)); spare > limit {
		w.violate("at rest, %d revisions are kept beyond those in use, more than %d", spare, limit)
	}
}
