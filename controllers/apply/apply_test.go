package apply_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/names"
)

func TestCreatesEveryLaneAndTellsOfItAfterwards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var lanes []action.Lane
	for g := range 30 {
		pods := create(b.pod(g, 0), b.pod(g, 1))
		pods[0].Event = &action.Event{Type: corev1.EventTypeNormal, Reason: "RoleCreating", Message: "created"}
		lanes = append(lanes, lane(create(b.service(g)), pods))
	}
	if faults := b.do(lanes...); faults != nil {
		t.Fatalf("faults: %v", faults)
	}
	var pods corev1.PodList
	b.must(b.client.List(context.Background(), &pods, client.InNamespace(b.ms.Namespace)))
	if len(pods.Items) != 60 {
		t.Errorf("%d Pods, want 60", len(pods.Items))
	}
	if len(b.recorder.events) != 30 {
		t.Errorf("%d Events, want 30", len(b.recorder.events))
	}

	// The same again, as a pass with a stale cache would: all of it is there and ours.
	if faults := b.do(lanes...); faults != nil {
		t.Fatalf("faults the second time: %v", faults)
	}
	if len(b.recorder.events) != 30 {
		t.Errorf("Events were emitted for Pods that were there already")
	}
}

func TestForeignObjectIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := b.service(0)
	foreign.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "theirs", UID: "1234", Controller: ptr.To(true),
	}}
	nobodys := b.pod(1, 1)
	nobodys.OwnerReferences = nil
	b.must(b.client.Create(context.Background(), foreign.DeepCopy()))
	b.must(b.client.Create(context.Background(), nobodys.DeepCopy()))
	before, _ := exists(b, foreign)

	got := b.do(
		lane(create(b.service(0)), create(b.pod(0, 0))),
		lane(create(b.service(1)), create(b.pod(1, 0), b.pod(1, 1))),
		lane(create(b.service(2)), create(b.pod(2, 0))),
	)
	want := []string{
		`NameConflict Create ms-0-main-0-0: Service "ms-0-main-0-0" exists already and is not ours: it is controlled by ReplicaSet "theirs"; delete or rename it, or rename what needs the name`,
		`NameConflict Create ms-1-main-0-1: Pod "ms-1-main-0-1" exists already and is not ours: nothing controls it; delete or rename it, or rename what needs the name`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if after, _ := exists(b, foreign); !cmp.Equal(before, after) {
		t.Errorf("the foreign Service was changed:\n%s", cmp.Diff(before, after))
	}
	if _, ok := exists(b, b.pod(0, 0)); ok {
		t.Error("the stage after the conflict was begun")
	}
	if _, ok := exists(b, b.pod(2, 0)); !ok {
		t.Error("a lane without conflict was not carried out")
	}
}

func TestOrphanOfAnEarlierModelServingOfThatName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	orphan := b.pod(0, 0)
	orphan.OwnerReferences[0].UID = "earlier"
	b.must(b.client.Create(context.Background(), orphan.DeepCopy()))
	got := b.do(lane(create(b.pod(0, 0))))
	want := []string{`NameConflict Create ms-0-main-0-0: Pod "ms-0-main-0-0" exists already and is not ours: it is left over from an earlier ModelServing "ms" (UID earlier), which the garbage collector has not removed yet`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestTerminatingPredecessorIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.pod(0, 0)
	old.Finalizers = []string{"test.example/hold"}
	b.must(b.client.Create(context.Background(), old))
	b.must(b.client.Delete(context.Background(), old))
	got := b.do(lane(create(b.pod(0, 0))), lane(create(b.pod(1, 0))))
	want := []string{`Transient Create ms-0-main-0-0: Pod "ms-0-main-0-0" is still terminating; its successor waits for it`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if _, ok := exists(b, b.pod(1, 0)); !ok {
		t.Error("another lane waited too")
	}
}

func TestObjectThatLostItsLabelIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hidden := b.pod(0, 0)
	delete(hidden.Labels, names.LabelModelServing)
	b.must(b.client.Create(context.Background(), hidden))
	got := b.do(lane(create(b.pod(0, 0))))
	if len(got) != 1 || !strings.HasPrefix(got[0], "NameConflict ") || !strings.Contains(got[0], names.LabelModelServing) {
		t.Errorf("faults: %v", got)
	}
}

// quota lets n Pods into the namespace.
func (b *bench) quota(n int64) {
	b.Helper()
	hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few", Namespace: b.ms.Namespace},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
	b.must(b.client.Create(context.Background(), quota))
	// No quota controller runs here; admission counts on from what the status says.
	quota.Status.Hard = hard
	quota.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	b.must(b.client.Status().Update(context.Background(), quota))
}

func TestQuotaStopsTheOtherCreates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.quota(3)

	var lanes []action.Lane
	for g := range 100 {
		lanes = append(lanes, lane(create(b.pod(g, 0))))
	}
	got := b.do(lanes...)
	if len(got) == 0 {
		t.Fatal("no faults")
	}
	for _, fault := range got {
		if !strings.HasPrefix(fault, "QuotaExceeded ") || !strings.Contains(fault, "exceeded quota: few") {
			t.Errorf("not in the server's own words: %s", fault)
		}
	}
	if tries := b.tries.Load(); tries > 12 {
		t.Errorf("%d Pods were tried; the slow start should have stopped after a few", tries)
	}
	if _, ok := exists(b, b.pod(0, 0)); !ok {
		t.Error("the lowest ordinal was not filled first")
	}
}

func TestRefusedInTheServersWords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bad := b.pod(0, 0)
	bad.Spec.Containers[0].Name = "Not A Name"
	got := b.do(lane(create(bad)))
	if len(got) != 1 || !strings.HasPrefix(got[0], "Refused ") || !strings.Contains(got[0], "spec.containers[0].name: Invalid value") {
		t.Errorf("faults: %v", got)
	}
}

func TestDeleteTouchesOnlyTheObservedObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	observed := b.pod(0, 0)
	b.must(b.client.Create(context.Background(), observed))
	gone := b.pod(1, 0)
	gone.UID = "never-was"
	later := observed.DeepCopy()
	later.UID = "an-earlier-one"

	deletes := func(pods ...*corev1.Pod) action.Lane {
		var actions []action.Action
		for _, pod := range pods {
			actions = append(actions, action.Action{Verb: action.Delete, Object: pod})
		}
		return lane(actions)
	}
	if faults := b.do(deletes(gone, later)); faults != nil {
		t.Errorf("faults: %v", faults)
	}
	if _, ok := exists(b, observed); !ok {
		t.Error("a Pod of another UID was deleted")
	}
	if faults := b.do(deletes(observed)); faults != nil {
		t.Errorf("faults: %v", faults)
	}
	if _, ok := exists(b, observed); ok {
		t.Error("the observed Pod was not deleted")
	}
}

func TestForceDeleteDoesNotWaitForTheKubelet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := b.pod(0, 0)
	pod.Spec.NodeName = "gone"
	b.must(b.client.Create(context.Background(), pod))
	if faults := b.do(lane([]action.Action{{Verb: action.Delete, Object: pod}})); faults != nil {
		t.Fatalf("faults: %v", faults)
	}
	if _, ok := exists(b, pod); !ok {
		t.Fatal("a bound Pod went at once, so this shows nothing")
	}
	if faults := b.do(lane([]action.Action{{Verb: action.ForceDelete, Object: pod}})); faults != nil {
		t.Fatalf("faults: %v", faults)
	}
	if _, ok := exists(b, pod); ok {
		t.Error("the Pod still waits for its kubelet")
	}
}

func TestUpdateOfAStaleObjectIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	observed := b.service(0)
	b.must(b.client.Create(context.Background(), observed))
	changed := observed.DeepCopy()
	changed.Annotations = map[string]string{"theirs": "1"}
	b.must(b.client.Update(context.Background(), changed))

	wanted := observed.DeepCopy()
	wanted.Spec.PublishNotReadyAddresses = false
	got := b.do(lane([]action.Action{{Verb: action.Update, Object: wanted}}))
	if len(got) != 1 || !strings.HasPrefix(got[0], "Transient Update ") {
		t.Errorf("faults: %v", got)
	}
	if now, _ := exists(b, observed); now.Annotations["theirs"] != "1" || !now.Spec.PublishNotReadyAddresses {
		t.Errorf("a write of somebody else was undone: %v", now)
	}
}

func TestUpdateThatChangesNothingIsToldAndHoldsUpNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	svc := b.service(0)
	b.must(b.client.Create(context.Background(), svc))
	got := b.do(lane([]action.Action{{Verb: action.Update, Object: svc}}, create(b.pod(0, 0))), lane(create(b.pod(1, 0))))
	want := []string{fmt.Sprintf(
		"Overruled Update %[1]s: Service %[1]q stays as it is: an admission webhook or policy of the cluster undoes the update", svc.Name)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for group := range 2 {
		if _, ok := exists(b, b.pod(group, 0)); !ok {
			t.Errorf("the Pod of group %d was held up", group)
		}
	}
}

func TestNothingIsWrittenThatIsNotControlled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	theirs := b.pod(0, 0)
	theirs.OwnerReferences = nil
	b.must(b.client.Create(context.Background(), theirs))
	for _, verb := range []action.Verb{action.Delete, action.ForceDelete, action.Update} {
		got := b.do(lane([]action.Action{{Verb: verb, Object: theirs}}))
		if len(got) != 1 || !strings.HasPrefix(got[0], "Refused "+string(verb)) {
			t.Errorf("%s: faults: %v", verb, got)
		}
	}
	if now, ok := exists(b, theirs); !ok || now.DeletionTimestamp != nil || now.ResourceVersion != theirs.ResourceVersion {
		t.Error("it was touched")
	}
}

func TestQuotaIsSpentOnTheLowestGroups(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.quota(12)
	b.writer.Parallel = 2
	var lanes []action.Lane
	for g := range 4 {
		var pods []action.Object
		for n := range 8 {
			pods = append(pods, b.pod(g, n))
		}
		lanes = append(lanes, lane(create(b.service(g)), create(pods...)))
	}
	if faults := b.do(lanes...); len(faults) == 0 {
		t.Error("the quota was never exceeded")
	}
	for n := range 8 {
		if _, ok := exists(b, b.pod(0, n)); !ok {
			t.Errorf("Pod %d of the lowest group is missing, while there was room for 12 Pods", n)
		}
	}
}

func TestWhatACacheIsYetToShowIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	there, gone := b.pod(0, 0), b.pod(1, 0)
	b.must(b.client.Create(context.Background(), there))
	b.must(b.client.Create(context.Background(), gone))
	b.must(b.client.Delete(context.Background(), gone, client.GracePeriodSeconds(0)))
	changed := b.service(2)
	b.must(b.client.Create(context.Background(), changed))
	before := changed.DeepCopy()
	changed.Labels["more"] = "so"

	var got []apply.Written
	for _, stage := range [][]action.Action{
		create(b.pod(0, 0)),
		{{Verb: action.Delete, Object: gone}},
		{{Verb: action.Update, Object: changed}},
		create(b.pod(3, 0)),
	} {
		result := b.writer.Do(context.Background(), b.ms, apply.Work{Lanes: []action.Lane{lane(stage)}})
		if len(result.Faults) > 0 {
			t.Errorf("faults: %+v", result.Faults)
		}
		got = append(got, result.Written...)
	}
	made, _ := exists(b, b.pod(3, 0))
	now, _ := exists(b, changed)
	if now.ResourceVersion == before.ResourceVersion {
		t.Error("the Service was not updated")
	}
	want := []apply.Written{
		{Verb: action.Create, GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: there.Name, UID: there.UID, ResourceVersion: there.ResourceVersion},
		{Verb: action.Delete, GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: gone.Name, UID: gone.UID, ResourceVersion: gone.ResourceVersion},
		{Verb: action.Update, GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Name: now.Name, UID: now.UID, ResourceVersion: now.ResourceVersion},
		{Verb: action.Create, GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Name: made.Name, UID: made.UID, ResourceVersion: made.ResourceVersion},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestBeforeStopsTheLanesAndAfterWaitsForThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := b.pod(0, 0)
	foreign.OwnerReferences = nil
	b.must(b.client.Create(context.Background(), foreign))

	faults := b.writer.Do(context.Background(), b.ms, apply.Work{
		Before: create(b.pod(0, 0)),
		Lanes:  []action.Lane{lane(create(b.pod(1, 0)))},
	}).Faults
	if _, ok := exists(b, b.pod(1, 0)); len(faults) != 1 || ok {
		t.Errorf("%d faults; lane begun: %v", len(faults), ok)
	}
	faults = b.writer.Do(context.Background(), b.ms, apply.Work{
		Lanes: []action.Lane{lane(create(b.pod(0, 0)))},
		After: create(b.pod(2, 0)),
	}).Faults
	if _, ok := exists(b, b.pod(2, 0)); len(faults) != 1 || ok {
		t.Errorf("%d faults; After begun: %v", len(faults), ok)
	}
}

func TestNamespaceThatIsGoingIsNoFaultOfTheObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.ms.Namespace}}
	b.must(b.client.Delete(context.Background(), ns))
	got := b.do(lane(create(b.pod(0, 0))))
	if len(got) != 1 || !strings.HasPrefix(got[0], "Transient ") || !strings.Contains(got[0], "being terminated") {
		t.Errorf("faults: %v", got)
	}
}

func TestWriterLeavesThePlannersObjectsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pod := children.Pod(b.ms, template(b), "abc", children.PodID{Role: "main"})
	before := pod.DeepCopy()
	if faults := b.do(lane(create(pod))); faults != nil {
		t.Fatalf("faults: %v", faults)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the planner's object changed (-before +after):\n%s", diff)
	}
}
