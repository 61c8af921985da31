package plan_test

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// quotaRounds is how often a manager tries again, in vain, what a quota refuses, and quotaWait how long
// it waits in between.
const (
	quotaRounds = 8
	quotaWait   = time.Minute
)

// exhaust lets the cluster go on under a quota until nothing moves any more but the manager's tries,
// holds what there is then, and lifts the quota.
func (w *world) exhaust() {
	for still, round := 0, 0; still < quotaRounds; still, round = still+1, round+1 {
		if w.quota == 0 {
			return
		}
		if round == settleRounds {
			w.violate("no rest under a quota of %d Pods after %d rounds", w.quota, round)
			return
		}
		before := len(w.stores[pods].events)
		w.heal()
		w.manager.begin()
		for w.manager.pass != nil && w.violation == nil {
			w.manager.do(0, "")
		}
		if w.violation != nil {
			return
		}
		w.kubelets()
		for _, k := range kinds {
			w.stores[k].sync(w.stores[k].behind())
		}
		w.account("fault")
		w.passed()
		w.now = w.now.Add(quotaWait)
		if len(w.stores[pods].events) > before {
			still = 0
		}
	}
	w.checkQuota()
	w.quota = 0
	w.manager.wake()
}

// checkQuota: a quota is not spread over groups none of which can run.
func (w *world) checkQuota() {
	ms := w.modelServing()
	wanted := w.updateRevision()
	if wanted == nil || ptr.Deref(ms.Spec.Replicas, 1) == 0 || keepsBack(&ms.Spec) {
		return
	}
	t, err := revision.Decode(wanted)
	if err != nil {
		w.violate("%v", err)
		return
	}
	size := 0
	for i := range t.Roles {
		size += revision.RoleReplicas(ms, t, t.Roles[i].Name) * (1 + int(t.Roles[i].WorkerReplicas))
	}
	if size == 0 {
		return
	}
	ofGroup := map[int][]*corev1.Pod{}
	for _, p := range w.ours() {
		if p.Labels[names.LabelRevision] != wanted.Labels[names.LabelRevision] {
			return // A rollout that the quota holds up has groups of several sizes.
		}
		ofGroup[groupOf(p)] = append(ofGroup[groupOf(p)], p)
	}
	complete, partial := 0, 0
	for _, g := range slices.Sorted(maps.Keys(ofGroup)) {
		all := ofGroup[g]
		switch {
		case len(all) >= size && !slices.ContainsFunc(all, func(p *corev1.Pod) bool { return !ready(p) }):
			complete++
		case slices.ContainsFunc(all, func(p *corev1.Pod) bool { return w.everReady[p.UID] || p.DeletionTimestamp != nil }):
			return // It served, and is not taken down for others.
		default:
			partial++
		}
	}
	if fit := min(int(ptr.Deref(ms.Spec.Replicas, 1)), w.quota/size); partial > 1 || complete < fit {
		w.violate("with a quota of %d Pods %d groups of %d Pods are complete and %d are not; %d fit: %v", w.quota, complete, size, partial, fit, sizes(ofGroup))
	}
}

// keepsBack says that there is a partition: a group behind it gives nothing back that might come back as
// something else.
func keepsBack(spec *workloadv1alpha1.ModelServingSpec) bool {
	_, partition, _ := budget(spec)
	return partition > 0 || slices.ContainsFunc(spec.Template.Roles, func(r workloadv1alpha1.Role) bool {
		return r.Partition != nil && r.Partition.String() != "0"
	})
}

func sizes(groups map[int][]*corev1.Pod) map[int]int {
	out := map[int]int{}
	for g, all := range groups {
		out[g] = len(all)
	}
	return out
}

// checkGift: only what never served, as far as the pass can see, is given back.
func (w *world) checkGift(pod *corev1.Pod) {
	for _, p := range w.manager.pass.snapshot.Pods {
		if groupOf(p) == groupOf(pod) && ready(p) {
			w.violate("Pod %s is given back, though Pod %s of its group serves", pod.Name, p.Name)
		}
	}
}
