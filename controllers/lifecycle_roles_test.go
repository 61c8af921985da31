package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// A role that comes or goes is a change of the template. Under RoleRollingUpdate the other roles do
// not notice.
func TestRoleThatComesAndGoes(t *testing.T) {
	t.Parallel()
	for _, strategy := range []workloadv1alpha1.RolloutStrategyType{
		workloadv1alpha1.ServingGroupRollingUpdate, workloadv1alpha1.RoleRollingUpdate,
	} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ms := twoRoles(2).Rollout(strategy).Obj()
			w.create(ms)
			w.available(ms, 2)
			before, first := w.pods(ms), ms.Status.UpdateRevision

			w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
				ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, gangwaytesting.MakeRole("router").Workers(1).Obj())
			})
			w.available(ms, 2)
			if got := len(w.pods(ms)); got != 10 || ms.Status.UpdateRevision == first {
				t.Errorf("%d Pods, want 10; the update revision is %s, was %s", got, ms.Status.UpdateRevision, first)
			}
			w.podGroupsNeed(5)
			w.sameOrAllNew(ms, before, strategy)

			before = w.pods(ms)
			for name := range before {
				if strings.Contains(name, "-router-") {
					delete(before, name)
				}
			}
			w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles = ms.Spec.Template.Roles[:2] })
			w.available(ms, 2)
			w.eventually("the role is gone, with its Services", func() error {
				if got := len(w.allPods(ms)); got != 6 {
					return fmt.Errorf("%d Pods", got)
				}
				return nil
			})
			if ms.Status.UpdateRevision != first {
				t.Errorf("the update revision is %s, was %s with the same roles", ms.Status.UpdateRevision, first)
			}
			w.podGroupsNeed(3)
			w.sameOrAllNew(ms, before, strategy)
			w.quiet(ms)
		})
	}
}

// podGroupsNeed waits until the gangs of groups 0 and 1 are of that size.
func (w *world) podGroupsNeed(minMember int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("gangs of %d", minMember), func() error {
		for _, group := range []string{"ms-0", "ms-1"} {
			if got := w.podGroup(group).Spec.MinMember; got != minMember {
				return fmt.Errorf("%s needs %d", group, got)
			}
		}
		return nil
	})
}

// sameOrAllNew holds that the Pods of before are still there where roles roll, and none of them where
// groups do.
func (w *world) sameOrAllNew(ms *workloadv1alpha1.ModelServing, before map[string]*corev1.Pod, strategy workloadv1alpha1.RolloutStrategyType) {
	w.Helper()
	now := w.pods(ms)
	for name, pod := range before {
		if now[name] == nil {
			w.Errorf("Pod %s is missing", name)
			continue
		}
		if stayed := now[name].UID == pod.UID; stayed != (strategy == workloadv1alpha1.RoleRollingUpdate) {
			w.Errorf("Pod %s stayed: %v", name, stayed)
		}
	}
}

// Each role rolls by its own partition and budget, within each group.
func TestRolesRollByTheirOwnLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").Replicas(2).Rollout(workloadv1alpha1.RoleRollingUpdate).
		Role(gangwaytesting.MakeRole("prefill").Replicas(3).Partition("1").Obj()).
		Role(gangwaytesting.MakeRole("decode").Replicas(4).MaxUnavailable("50%").Obj()).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := w.pods(ms)

	// New Pods are never Ready, so each role stops where its budget ends.
	w.change(ms, setImage(imageSlow))
	want := map[string]bool{}
	for _, group := range []string{"ms-0", "ms-1"} {
		for _, pod := range []string{"prefill-2-0", "decode-2-0", "decode-3-0"} {
			want[group+"-"+pod] = true
		}
	}
	replaced := func() map[string]bool {
		out := map[string]bool{}
		for name, image := range w.images(ms) {
			if image == imageSlow {
				out[name] = true
			}
		}
		return out
	}
	w.eventually("one prefill and two decode replicas of each group are new", func() error {
		if diff := cmp.Diff(want, replaced()); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	w.quiet(ms)
	if diff := cmp.Diff(want, replaced()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	w.change(ms, setImage(imageNew))
	w.settled(ms, 2)
	w.eventually("all but those below the partition are new", func() error {
		for name, image := range w.images(ms) {
			if held := strings.HasSuffix(name, "-prefill-0-0"); (image == imageNew) == held {
				return fmt.Errorf("Pod %s has image %s", name, image)
			}
		}
		return nil
	})
	w.untouched(ms, before, "ms-0-prefill-0")
	w.untouched(ms, before, "ms-1-prefill-0")
	w.condition(ms, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionFalse, workloadv1alpha1.ReasonUpToDate)
	w.quiet(ms)
}

// Role replicas go in the order of groups: by availability, by cost, by ordinal. The one that an
// autoscaler counts by stays.
func TestRoleReplicasGoByAvailabilityAndCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").
		Role(gangwaytesting.MakeRole("main").Obj()).
		Role(gangwaytesting.MakeRole("decode").Replicas(5).Obj()).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	costly := before["ms-0-decode-0-0"].DeepCopy()
	costly.Annotations = map[string]string{corev1.PodDeletionCost: "-1"}
	if err := w.client.Patch(t.Context(), costly, client.MergeFrom(before["ms-0-decode-0-0"])); err != nil {
		t.Fatal(err)
	}
	w.kubelet.ready("ms-0-decode-2-0", false)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonPodsNotReady)
	for _, gone := range []string{"ms-0-decode-2-0", "ms-0-decode-0-0", "ms-0-decode-4-0"} {
		delete(before, gone)
		w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
			ms.Spec.Template.Roles[1].Replicas = ptr.To(*ms.Spec.Template.Roles[1].Replicas - 1)
		})
		w.eventually(gone+" goes", func() error {
			if diff := cmp.Diff(uids(before), uids(w.allPods(ms))); diff != "" {
				return fmt.Errorf("Pods (-want +got):\n%s", diff)
			}
			return nil
		})
		w.available(ms, 1)
	}
	w.eventEmitted(ms, workloadv1alpha1.EventRoleDeleting)
	w.quiet(ms)
}

// A rollout that stands still says so after the deadline, once, and goes on when it is helped.
func TestRolloutThatStandsStill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(2).ProgressDeadlineSeconds(600).Obj()
	w.create(ms)
	w.available(ms, 2)
	w.change(ms, setImage(imageBroken))
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonImagePullFailed)
	w.later(5*time.Minute, ms)
	w.condition(ms, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionTrue, workloadv1alpha1.ReasonRollingUpdate)
	w.later(6*time.Minute, ms)
	w.condition(ms, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionTrue, workloadv1alpha1.ReasonRolloutStalled)
	w.eventEmitted(ms, workloadv1alpha1.ReasonRolloutStalled)
	w.quiet(ms)
	told := 0
	for _, reason := range w.events(ms) {
		if reason == workloadv1alpha1.ReasonRolloutStalled {
			told++
		}
	}
	if told != 1 {
		t.Errorf("RolloutStalled is told of %d times", told)
	}
	w.change(ms, setImage(imageNew))
	w.available(ms, 2)
	w.eventEmitted(ms, workloadv1alpha1.EventRolloutCompleted)
}

// Limits, gang policy, topology and grace are no part of what makes Pods.
func TestSettingsThatAreNoTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	before, revision := w.pods(ms), ms.Status.UpdateRevision
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{RollingUpdateConfiguration: &workloadv1alpha1.RollingUpdateConfiguration{
			Partition: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromString("50%")), MaxSurge: ptr.To(intstr.FromInt32(1)),
		}}
		ms.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{"prefill": 1}}
		ms.Spec.Template.NetworkTopology = &workloadv1alpha1.NetworkTopology{GroupPolicy: &workloadv1alpha1.NetworkTopologySpec{Mode: "soft"}}
		ms.Spec.Template.RestartGracePeriodSeconds = ptr.To[int64](60)
	})
	w.podGroupsNeed(2)
	w.available(ms, 2)
	if topology := w.podGroup("ms-0").Spec.NetworkTopology; topology == nil || topology.Mode != "soft" {
		t.Errorf("the PodGroup's topology is %+v", topology)
	}
	w.unchanged(ms, before)
	if ms.Status.UpdateRevision != revision {
		t.Errorf("the update revision went from %s to %s", revision, ms.Status.UpdateRevision)
	}
	w.quiet(ms)
}
