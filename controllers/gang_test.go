package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

func (w *world) podGroup(name string) *schedulingv1beta1.PodGroup {
	w.Helper()
	pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	w.get(pg)
	return pg
}

// unscheduled says of a gang what Volcano says of one that does not fit. The CRD has no status subresource.
func (w *world) unscheduled(name, words string) {
	w.Helper()
	pg := w.podGroup(name)
	pg.Status.Phase = schedulingv1beta1.PodGroupInqueue
	pg.Status.Conditions = []schedulingv1beta1.PodGroupCondition{{
		Type: schedulingv1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		TransitionID: "1", Reason: schedulingv1beta1.NotEnoughResourcesReason, Message: words,
	}}
	if err := w.client.Update(context.Background(), pg); err != nil {
		w.Fatal(err)
	}
}

func TestPodGroupFollowsRequestsThatShrinkWhileTheGangIsPending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelet.setFull(true)
	ms := gangwaytesting.MakeModelServing("ms").
		Role(gangwaytesting.MakeRole("main").Workers(1).Request(corev1.ResourceCPU, "64").Obj()).Obj()
	w.create(ms)
	w.eventually("the Pods are there", func() error {
		if got := len(w.pods(ms)); got != 2 {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	words := "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable"
	w.unscheduled("ms-0", words)
	w.condition(ms, workloadv1alpha1.ConditionGangSchedulingReady, metav1.ConditionFalse, workloadv1alpha1.ReasonGangPending, words)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonGangPending, words)
	w.eventEmitted(ms, workloadv1alpha1.ReasonGangPending)
	w.quiet(ms)
	if cpu := (*w.podGroup("ms-0").Spec.MinResources)[corev1.ResourceCPU]; cpu.String() != "128" {
		t.Errorf("minResources: %s CPUs", cpu.String())
	}

	w.kubelet.setFull(false)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		smaller := gangwaytesting.MakeRole("main").Workers(1).Request(corev1.ResourceCPU, "2").Obj()
		ms.Spec.Template.Roles[0] = smaller
	})
	w.available(ms, 1)
	if cpu := (*w.podGroup("ms-0").Spec.MinResources)[corev1.ResourceCPU]; cpu.String() != "4" {
		t.Errorf("minResources: %s CPUs", cpu.String())
	}
	w.quiet(ms)
}

func TestPodGroupFollowsGangPolicyAndRoleReplicasInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").
		Role(gangwaytesting.MakeRole("prefill").Replicas(3).Workers(1).Obj()).
		Role(gangwaytesting.MakeRole("decode").Replicas(2).Obj()).Obj()
	w.create(ms)
	w.available(ms, 1)
	before, pods := w.podGroup("ms-0"), uids(w.pods(ms))
	if before.Spec.MinMember != 8 {
		t.Errorf("minMember is %d, want 8", before.Spec.MinMember)
	}
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		ms.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{"prefill": 2}}
	})
	w.eventually("minMember is 4", func() error {
		if got := w.podGroup("ms-0"); got.Spec.MinMember != 4 || len(got.Spec.SubGroupPolicy) != 1 {
			return fmt.Errorf("it is %d, with %d subgroups", got.Spec.MinMember, len(got.Spec.SubGroupPolicy))
		}
		return nil
	})
	if after := w.podGroup("ms-0"); after.UID != before.UID {
		t.Error("the PodGroup was made anew")
	}
	w.available(ms, 1)
	if diff := cmp.Diff(pods, uids(w.pods(ms))); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
	w.quiet(ms)
}

func TestPodGroupGoesWithTheGroupAndIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).Obj()
	w.create(ms)
	w.available(ms, 1)
	before, entry := w.podGroup("ms-0"), w.pods(ms)["ms-0-prefill-0-0"]
	w.kubelet.crash("ms-0-decode-0-0")
	w.replaced(entry)
	w.replaced(before)
	w.available(ms, 1)
	w.quiet(ms)
}

// Volcano refreshes the condition of a gang that does not fit in every session.
func TestVolcanosHeartbeatsCostNoPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelet.setFull(true)
	ms := single(1).Obj()
	w.create(ms)
	w.eventually("the PodGroup", func() error {
		return w.client.Get(context.Background(), keyOf(w.ns, "ms-0"), &schedulingv1beta1.PodGroup{})
	})
	w.unscheduled("ms-0", "no room")
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonGangPending, "no room")
	w.quiet(ms)
	before := w.clock.passes.Load()
	for i := range 150 {
		pg := w.podGroup("ms-0")
		pg.Status.Conditions[0].TransitionID = fmt.Sprint(i + 2)
		pg.Status.Conditions[0].LastTransitionTime = metav1.Now()
		if err := w.client.Update(context.Background(), pg); err != nil {
			t.Fatal(err)
		}
	}
	w.unscheduled("ms-0", "still no room")
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonGangPending, "still no room")
	if got := w.clock.passes.Load() - before; got > 5 {
		t.Errorf("%d passes", got)
	}
}
