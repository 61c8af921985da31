package recovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/state"
)

var (
	t0  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now = t0.Add(time.Hour)
)

// ago is so long before now.
func ago(d time.Duration) time.Time { return now.Add(-d) }

func newPod(name string) *gangwaytesting.PodWrapper {
	return gangwaytesting.WrapPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server"}}},
	}, t0)
}

func seen(w *gangwaytesting.PodWrapper) *state.Pod {
	p := &state.Pod{Pod: w.Obj()}
	c := p.Condition(corev1.PodReady)
	p.Ready = c != nil && c.Status == corev1.ConditionTrue
	return p
}

// healthy has been Ready since shortly after it was created.
func healthy(name string) *gangwaytesting.PodWrapper {
	return newPod(name).Starting(t0.Add(10 * time.Second)).Ready(t0.Add(time.Minute))
}

// restartedUnseen is Ready since long, but one of its containers ended at that time.
func restartedUnseen(name string, when time.Time) *gangwaytesting.PodWrapper {
	w := healthy(name)
	w.Status.ContainerStatuses[0].RestartCount = 1
	w.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(when)}
	return w
}

func replicaOf(id string, pods ...*gangwaytesting.PodWrapper) Replica {
	r := Replica{ID: id, Size: len(pods), Available: true, Revision: "ms-a"}
	for _, w := range pods {
		p := seen(w)
		r.Available = r.Available && p.Ready && !p.Going()
		r.Pods = append(r.Pods, p)
	}
	return r
}

func input(policy workloadv1alpha1.RecoveryPolicy, replicas ...Replica) Input {
	in := Input{
		Policy: policy, Deadline: 30 * time.Minute, Group: "ms-0", Revision: "ms-a",
		Replicas: replicas, Now: now, Available: true,
	}
	for _, r := range replicas {
		in.Available = in.Available && r.Available
	}
	return in
}

func record(id string, count int32, last time.Time, change ...func(*workloadv1alpha1.RecoveryStatus)) workloadv1alpha1.RecoveryStatus {
	r := workloadv1alpha1.RecoveryStatus{Group: "ms-0", RoleID: id, Count: count, LastRecoveryTime: metav1.NewTime(last), Revision: "ms-a"}
	for _, c := range change {
		c(&r)
	}
	return r
}

func progressing(since time.Time) func(*workloadv1alpha1.RecoveryStatus) {
	return func(r *workloadv1alpha1.RecoveryStatus) { r.ProgressingSince = ptr.To(metav1.NewTime(since)) }
}

func lost(r *workloadv1alpha1.RecoveryStatus) { r.Lost = true }

const (
	byGroup = workloadv1alpha1.RecoverServingGroup
	byRole  = workloadv1alpha1.RecoverRole
	none    = workloadv1alpha1.RecoverNone
)

func TestDecide(t *testing.T) {
	grace := func(in Input, d time.Duration) Input { in.Grace = d; return in }
	whole := func(in Input, since time.Time) Input { in.WholeSince = since; return in }
	// back is Ready again a minute after one of its containers ended.
	back := func(name string, end time.Time) *gangwaytesting.PodWrapper {
		return healthy(name).Restarted(end).Ready(end.Add(time.Minute))
	}
	records := func(in Input, r ...workloadv1alpha1.RecoveryStatus) Input { in.Records = r; return in }
	type records_ = []workloadv1alpha1.RecoveryStatus
	restarted := func(name string, when time.Time) *gangwaytesting.PodWrapper { return healthy(name).Restarted(when) }
	aLostPod := func(r Replica) Replica { r.Lost, r.Available = true, false; return r }

	for name, tc := range map[string]struct {
		in   Input
		want Output
	}{
		"all is well": {
			input(byRole, replicaOf("a-0", healthy("a"), healthy("b"))), Output{},
		},
		"a container restarts after the unit was Ready: the role replica is recreated": {
			input(byRole, replicaOf("a-0", restarted("a", ago(time.Second)), healthy("b")), replicaOf("b-0", healthy("c"))),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: container "server" of Pod "a" restarted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"the same under ServingGroupRecreate: the group is": {
			input(byGroup, replicaOf("a-0", restarted("a", ago(time.Second)), healthy("b")), replicaOf("b-0", healthy("c"))),
			Output{
				Group:   true,
				Records: records_{record("", 1, now)},
				Notes:   []Note{{"GroupRecreating", `recreating ServingGroup ms-0: container "server" of Pod "a" restarted`, ""}},
			},
		},
		"the same under None: nothing is": {
			input(none, replicaOf("a-0", restarted("a", ago(time.Second)), healthy("b"))), Output{},
		},
		"a restart before the unit was first Ready is start-up trouble": {
			input(byRole, replicaOf("a-0", newPod("a").Starting(ago(time.Minute)).Restarted(ago(time.Second)), healthy("b"))), Output{},
		},
		"a restart while another Pod of the unit was never Ready is start-up trouble": {
			input(byRole, replicaOf("a-0", restarted("a", ago(time.Second)), newPod("b").Starting(t0))), Output{},
		},
		"for a group the other role replicas count, too": {
			input(byGroup, replicaOf("a-0", restarted("a", ago(time.Second))), replicaOf("b-0", newPod("b").Starting(t0))), Output{},
		},
		"and those that are made when the first are Ready already, count, too": {
			input(byGroup, replicaOf("a-0", restarted("a", ago(time.Second))), replicaOf("b-0", gangwaytesting.WrapPod(newPod("b").Obj(), ago(time.Minute)))), Output{},
		},
		"and so do the other Pods of a role replica": {
			input(byGroup, replicaOf("a-0", restarted("a", ago(time.Second)), gangwaytesting.WrapPod(newPod("b").Obj(), ago(time.Minute)))), Output{},
		},
		"a role replica that was added later does not make the group young again": {
			input(byGroup, replicaOf("a-0", restarted("a", ago(time.Second))), replicaOf("b-0", healthy("b")),
				replicaOf("b-1", gangwaytesting.WrapPod(newPod("c").Obj(), ago(time.Minute)))),
			Output{
				Group:   true,
				Records: records_{record("", 1, now)},
				Notes:   []Note{{"GroupRecreating", `recreating ServingGroup ms-0: container "server" of Pod "a" restarted`, ""}},
			},
		},
		"an init container that fails for ever is start-up trouble": {
			input(byRole, replicaOf("a-0", newPod("a").Starting(ago(time.Hour)).Waiting("CrashLoopBackOff", "back-off 5m0s"))), Output{},
		},
		"a restart of yesterday and a blip of today is no failure": {
			input(byRole, replicaOf("a-0", healthy("a").Restarted(ago(50*time.Minute)).Ready(ago(49*time.Minute)).NotReady(ago(time.Second)))), Output{},
		},
		"a blip alone is no failure": {
			input(byRole, replicaOf("a-0", healthy("a").NotReady(ago(time.Second)))), Output{},
		},
		"a recovery in the future, by a clock that was ahead, was now": {
			records(input(byRole, replicaOf("a-0", restarted("a", ago(time.Second)))), record("a-0", 2, now.Add(time.Hour))),
			Output{
				Waiting: map[string]bool{"a-0": true},
				Pending: `container "server" of Pod "a" restarted; its recreation waits for the back-off`,
				Records: records_{record("a-0", 2, now)},
				Next:    now.Add(20 * time.Second),
			},
		},
		"within the grace period it is waited": {
			grace(input(byRole, replicaOf("a-0", restarted("a", ago(20*time.Second)))), time.Minute),
			Output{
				Waiting: map[string]bool{"a-0": true},
				Pending: `container "server" of Pod "a" restarted; its grace period is on`,
				Next:    now.Add(40 * time.Second),
			},
		},
		"Ready again within the grace period is forgiven": {
			grace(input(byRole, replicaOf("a-0", restarted("a", ago(20*time.Second)).Ready(ago(time.Second)))), time.Minute), Output{},
		},
		"a restart that its Pod's readiness never showed counts, at once": {
			input(byRole, replicaOf("a-0", restartedUnseen("a", ago(time.Minute)))),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: container "server" of Pod "a" restarted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"with a grace period it is forgiven": {
			grace(input(byRole, replicaOf("a-0", restartedUnseen("a", ago(time.Minute)))), time.Minute), Output{},
		},
		"and it is when it was long ago, so that a change of the grace period restarts nobody": {
			input(byRole, replicaOf("a-0", restartedUnseen("a", ago(20*time.Minute)))), Output{},
		},
		"a restart that no manager saw counts when the unit was wholly Ready before": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute)), healthy("b"))), ago(20*time.Minute)),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: container "server" of Pod "a" restarted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"the same under ServingGroupRecreate": {
			whole(input(byGroup, replicaOf("a-0", back("a", ago(2*time.Minute))), replicaOf("b-0", healthy("b"))), ago(20*time.Minute)),
			Output{
				Group:   true,
				Records: records_{record("", 1, now)},
				Notes:   []Note{{"GroupRecreating", `recreating ServingGroup ms-0: container "server" of Pod "a" restarted`, ""}},
			},
		},
		"the same under None is the kubelet's": {
			whole(input(none, replicaOf("a-0", back("a", ago(2*time.Minute)))), ago(20*time.Minute)), Output{},
		},
		"a restart that no manager saw is forgiven with a grace period": {
			grace(whole(input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute)))), ago(20*time.Minute)), time.Minute), Output{},
		},
		"and when nobody knows what was before, or another group was not available": {
			input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute)))), Output{},
		},
		"and when it was before the unit was wholly Ready: start-up trouble": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute)))), ago(time.Minute)), Output{},
		},
		"and when clocks may differ on that": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute)))), ago(2*time.Minute+4*time.Second)), Output{},
		},
		"and when a Pod of the unit was not there then": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute)),
				gangwaytesting.WrapPod(newPod("b").Obj(), ago(10*time.Minute)).Ready(ago(9*time.Minute)))), ago(20*time.Minute)), Output{},
		},
		"a Pod of another role replica that was not there then is nothing to a role replica": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(2*time.Minute))),
				replicaOf("a-1", gangwaytesting.WrapPod(newPod("b").Obj(), ago(10*time.Minute)).Ready(ago(9*time.Minute)))), ago(20*time.Minute)),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: container "server" of Pod "a" restarted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"but it is to its group": {
			whole(input(byGroup, replicaOf("a-0", back("a", ago(2*time.Minute))),
				replicaOf("a-1", gangwaytesting.WrapPod(newPod("b").Obj(), ago(10*time.Minute)).Ready(ago(9*time.Minute)))), ago(20*time.Minute)), Output{},
		},
		"and when it was long ago": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(11*time.Minute)))), ago(20*time.Minute)), Output{},
		},
		"the Pod that took the place of one that restarted has not": {
			whole(input(byRole, replicaOf("a-0", healthy("a"))), ago(20*time.Minute)), Output{},
		},
		"a blip today is no failure, though a restart of yesterday is known": {
			whole(input(byRole, replicaOf("a-0", back("a", ago(50*time.Minute)).NotReady(ago(time.Second)))), ago(55*time.Minute)), Output{},
		},
		"after the grace period it is recreated": {
			grace(input(byRole, replicaOf("a-0", restarted("a", ago(time.Minute)))), time.Minute),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: container "server" of Pod "a" restarted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"a Pod that somebody deleted is given no grace": {
			grace(input(byRole, replicaOf("a-0", healthy("a").Terminating(ago(time.Second)), healthy("b"))), time.Minute),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: Pod "a" was deleted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"a Pod in phase Failed is given none either": {
			grace(input(byGroup, replicaOf("a-0", healthy("a").Failed(ago(time.Second), "Evicted", "")), replicaOf("b-0", healthy("b"))), time.Minute),
			Output{
				Group:   true,
				Records: records_{record("", 1, now)},
				Notes:   []Note{{"GroupRecreating", `recreating ServingGroup ms-0: Pod "a" is in phase Failed Evicted`, ""}},
			},
		},
		"a Pod that vanished counts as deleted": {
			input(byRole, aLostPod(replicaOf("a-0", healthy("b")))),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 1, now, progressing(now))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: a Pod of role replica "a-0" was deleted`, "a-0"}},
				Next:     now.Add(30 * time.Minute),
			},
		},
		"a role replica that Gangway removes is no failure": {
			input(byGroup, func() Replica {
				r := replicaOf("a-0", healthy("a").Terminating(ago(time.Second)), healthy("b"))
				r.Removing = true
				return r
			}()), Output{},
		},
		"the second recovery waits 10 s": {
			records(input(byRole, replicaOf("a-0", restarted("a", ago(time.Second)))), record("a-0", 1, ago(4*time.Second), progressing(ago(4*time.Second)))),
			Output{
				Waiting: map[string]bool{"a-0": true},
				Records: records_{record("a-0", 1, ago(4*time.Second), progressing(ago(4*time.Second)))},
				Pending: `container "server" of Pod "a" restarted; its recreation waits for the back-off`,
				Next:    now.Add(6 * time.Second),
			},
		},
		"the third waits 20 s from the second": {
			records(input(byGroup, replicaOf("a-0", restarted("a", ago(time.Second)))), record("", 2, ago(20*time.Second))),
			Output{
				Group:   true,
				Records: records_{record("", 3, now)},
				Notes:   []Note{{"GroupRecreating", `recreating ServingGroup ms-0: container "server" of Pod "a" restarted`, ""}},
			},
		},
		"a Pod that is deleted in the back-off is not forgotten when it is gone": {
			records(input(byRole, replicaOf("a-0", healthy("a").Terminating(ago(time.Second)))), record("a-0", 1, ago(4*time.Second), progressing(ago(4*time.Second)))),
			Output{
				Waiting: map[string]bool{"a-0": true},
				Records: records_{record("a-0", 1, ago(4*time.Second), progressing(ago(4*time.Second)), lost)},
				Pending: `Pod "a" was deleted; its recreation waits for the back-off`,
				Next:    now.Add(6 * time.Second),
			},
		},
		"and is recovered when the back-off is over": {
			records(input(byRole, Replica{ID: "a-0", Size: 1}), record("a-0", 1, ago(10*time.Second), progressing(ago(10*time.Second)), lost)),
			Output{
				Replicas: []string{"a-0"},
				Records:  records_{record("a-0", 2, now, progressing(ago(10*time.Second)))},
				Notes:    []Note{{"RoleRecreating", `recreating role replica ms-0/a-0: a Pod of role replica "a-0" was deleted`, "a-0"}},
				Next:     ago(10 * time.Second).Add(30 * time.Minute),
			},
		},
		"a group that does not become available in time is recreated whole": {
			records(input(byRole, replicaOf("a-0", newPod("a").Starting(ago(30*time.Minute)))), record("a-0", 3, ago(20*time.Minute), progressing(ago(30*time.Minute)))),
			Output{
				Group:   true,
				Records: records_{record("", 1, now)},
				Notes:   []Note{{"RecoveryEscalated", "recreating ServingGroup ms-0: it is not available 30m0s after one of its role replicas was recreated", ""}},
			},
		},
		"before that it is looked at again in time": {
			records(input(byRole, replicaOf("a-0", newPod("a").Starting(ago(20*time.Minute)))), record("a-0", 1, ago(20*time.Minute), progressing(ago(20*time.Minute)))),
			Output{
				Records: records_{record("a-0", 1, ago(20*time.Minute), progressing(ago(20*time.Minute)))},
				Next:    now.Add(10 * time.Minute),
			},
		},
		"a group that is available is not progressing any more": {
			records(input(byRole, replicaOf("a-0", newPod("a").Starting(ago(20*time.Minute)).Ready(ago(time.Minute)))), record("a-0", 1, ago(20*time.Minute), progressing(ago(40*time.Minute)))),
			Output{
				Records: records_{record("a-0", 1, ago(20*time.Minute))},
				Next:    now.Add(9 * time.Minute),
			},
		},
		"after 10 minutes of being Ready the recoveries are forgotten": {
			records(input(byRole, replicaOf("a-0", newPod("a").Starting(ago(20*time.Minute)).Ready(ago(10*time.Minute)))), record("a-0", 4, ago(20*time.Minute))),
			Output{},
		},
		"they are, but not that the group is progressing, while another role replica is not Ready": {
			records(input(byRole, replicaOf("a-0", newPod("a").Starting(ago(20*time.Minute)).Ready(ago(15*time.Minute))), replicaOf("b-0", newPod("b").Starting(ago(time.Minute)))),
				record("a-0", 4, ago(20*time.Minute), progressing(ago(20*time.Minute)))),
			Output{
				Records: records_{record("a-0", 0, ago(20*time.Minute), progressing(ago(20*time.Minute)))},
				Next:    now.Add(10 * time.Minute),
			},
		},
		"those of a role replica that nobody wants any more, too": {
			records(input(byRole, replicaOf("a-0", healthy("a"))), record("a-7", 4, ago(time.Minute))), Output{},
		},
		"None replaces a Pod in phase Failed alone": {
			input(none, replicaOf("a-0", healthy("a").Failed(ago(time.Second), "Evicted", ""), healthy("b"))),
			Output{
				Pods:    []*state.Pod{{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}},
				Records: records_{record("a-0", 1, now)},
				Notes:   []Note{{"RoleRecreating", `replacing a Pod of role replica ms-0/a-0: Pod "a" is in phase Failed Evicted`, "a-0"}},
			},
		},
		"None waits between replacements": {
			records(input(none, replicaOf("a-0", healthy("a").Failed(ago(time.Second), "Evicted", ""), healthy("b"))), record("a-0", 1, ago(time.Second))),
			Output{
				Records: records_{record("a-0", 1, ago(time.Second))},
				Pending: `Pod "a" is in phase Failed Evicted; its replacement waits for the back-off`,
				Next:    now.Add(9 * time.Second),
			},
		},
		"None leaves a Pod that is gone to creation": {
			input(none, replicaOf("a-0", healthy("a").Terminating(ago(time.Second)), healthy("b"))), Output{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.in)
			byName := cmp.Comparer(func(a, b *state.Pod) bool { return a.Name == b.Name })
			if diff := cmp.Diff(tc.want, got, byName, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}
