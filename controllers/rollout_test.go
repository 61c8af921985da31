package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

const imageNew = "registry.example/llm:2"

// setImage gives every container of the named roles that image; of all roles when none is named.
func setImage(image string, roles ...string) func(*workloadv1alpha1.ModelServing) {
	return func(ms *workloadv1alpha1.ModelServing) {
		for i := range ms.Spec.Template.Roles {
			role := &ms.Spec.Template.Roles[i]
			if len(roles) > 0 && !slices.Contains(roles, role.Name) {
				continue
			}
			role.EntryTemplate.Spec.Containers[0].Image = image
			if role.WorkerTemplate != nil {
				role.WorkerTemplate.Spec.Containers[0].Image = image
			}
		}
	}
}

// images maps the names of Pods to the image of their first container.
func (w *world) images(ms *workloadv1alpha1.ModelServing) map[string]string {
	w.Helper()
	out := map[string]string{}
	for name, pod := range w.pods(ms) {
		out[name] = pod.Spec.Containers[0].Image
	}
	return out
}

func TestRolloutKeepsItsPromiseAndIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(4).MaxUnavailable("2").Obj()
	w.create(ms)
	w.available(ms, 4)
	watched := w.observe(ms, 3)
	w.change(ms, setImage(imageNew))
	w.available(ms, 4)
	if lowest := watched.stop(); lowest < 2 {
		t.Errorf("at one moment only %d of 4 groups were available, with maxUnavailable 2", lowest)
	}
	if watched.mixed != "" {
		t.Errorf("a group had Pods of two revisions: %s", watched.mixed)
	}
	if got := len(w.allPods(ms)); got != 12 {
		t.Errorf("%d Pods, want 12", got)
	}
	for name, image := range w.images(ms) {
		if image != imageNew {
			t.Errorf("Pod %s has image %s", name, image)
		}
	}
	if len(ms.Status.Recoveries) != 0 {
		t.Errorf("the rollout's own deletions were taken for failures: %v", ms.Status.Recoveries)
	}
	for _, event := range w.events(ms) {
		if event == workloadv1alpha1.EventGroupRecreating || event == workloadv1alpha1.EventRoleRecreating {
			t.Errorf("Event %s", event)
		}
	}
	w.eventEmitted(ms, workloadv1alpha1.EventRolloutStarted)
	w.eventEmitted(ms, workloadv1alpha1.EventRolloutCompleted)
	w.quiet(ms)
}

func TestRolloutWithSurgeNeverDips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(3).MaxUnavailable("0").MaxSurge("1").Obj()
	w.create(ms)
	w.available(ms, 3)
	watched := w.observe(ms, 3)
	w.change(ms, setImage(imageNew))
	w.available(ms, 3)
	if lowest := watched.stop(); lowest < 3 {
		t.Errorf("at one moment only %d groups were available", lowest)
	}
	w.eventually("the surge is gone", func() error {
		if diff := cmp.Diff([]string{"ms-0", "ms-1", "ms-2"}, groups(w.images(ms))); diff != "" {
			return fmt.Errorf("groups (-want +got):\n%s", diff)
		}
		return nil
	})
	w.quiet(ms)
}

// groups are the groups that Pods belong to, sorted.
func groups[V any](pods map[string]V) []string {
	var out []string
	for name := range pods {
		parts := strings.Split(name, "-")
		if group := strings.Join(parts[:2], "-"); !slices.Contains(out, group) {
			out = append(out, group)
		}
	}
	slices.Sort(out)
	return out
}

// Users of comparable controllers wait for ever: the broken groups use up maxUnavailable.
func TestBadImageInMoreGroupsThanMaxUnavailableThenAGoodOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(4).MaxUnavailable("1").Obj()
	w.create(ms)
	w.available(ms, 4)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(imageBroken)(ms)
		v := ms.Spec.RolloutStrategy.RollingUpdateConfiguration.MaxUnavailable
		v.IntVal = 3
	})
	w.eventually("three broken groups", func() error {
		broken := 0
		for _, image := range w.images(ms) {
			if image == imageBroken {
				broken++
			}
		}
		if broken != 3 {
			return fmt.Errorf("%d", broken)
		}
		return nil
	})
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonImagePullFailed, "Back-off pulling image")
	survivor := w.pods(ms)["ms-0-main-0-0"]
	watched := w.observe(ms, 1)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(imageNew)(ms)
		ms.Spec.RolloutStrategy.RollingUpdateConfiguration.MaxUnavailable.IntVal = 1
	})
	w.available(ms, 4)
	// The one good group is not given up before another is.
	if lowest := watched.stop(); lowest < 1 {
		t.Errorf("at one moment %d groups were available", lowest)
	}
	if now := w.pods(ms)["ms-0-main-0-0"]; now.UID == survivor.UID {
		t.Error("the last group was not updated")
	}
	w.quiet(ms)
}

func TestPartitionProtectsTheLowOrdinals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(3).Partition("2").RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).Obj()
	w.create(ms)
	w.available(ms, 3)
	before, old := w.pods(ms), ms.Status.CurrentRevision
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(imageNew)(ms)
		ms.Spec.Template.Roles[0].WorkerReplicas = 2
	})
	w.replaced(before["ms-2-decode-0-0"])
	w.settled(ms, 3)
	now := w.pods(ms)
	for name, pod := range before {
		if kept := now[name] != nil && now[name].UID == pod.UID; kept == strings.HasPrefix(name, "ms-2-") {
			t.Errorf("Pod %s: kept is %v", name, kept)
		}
	}
	if now["ms-2-prefill-0-2"] == nil || now["ms-0-prefill-0-2"] != nil {
		t.Error("the second worker belongs to group 2 alone")
	}

	// Scaled up, the new ordinals are new, and the old revision is kept for the protected ones.
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](5) })
	w.settled(ms, 5)
	for name, image := range w.images(ms) {
		want := imageNew
		if strings.HasPrefix(name, "ms-0-") || strings.HasPrefix(name, "ms-1-") {
			want = gangwaytesting.DefaultImage
		}
		if image != want {
			t.Errorf("Pod %s has image %s, want %s", name, image, want)
		}
	}
	w.get(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: old}})

	// A protected group that fails is rebuilt wholly from the revision that it had.
	w.kubelet.fail("ms-0-decode-0-0")
	w.replaced(before["ms-0-prefill-0-1"])
	w.settled(ms, 5)
	for name, pod := range w.pods(ms) {
		if strings.HasPrefix(name, "ms-0-") && (pod.Spec.Containers[0].Image != gangwaytesting.DefaultImage || pod.Labels[names.LabelRevision] != before[name].Labels[names.LabelRevision]) {
			t.Errorf("Pod %s has image %s, revision %s", name, pod.Spec.Containers[0].Image, pod.Labels[names.LabelRevision])
		}
	}
	if _, ok := w.pods(ms)["ms-0-prefill-0-2"]; ok {
		t.Error("the rebuilt group has a worker that its revision does not have")
	}
	w.quiet(ms)
}

// settled waits until n groups are there and available, whatever their revision.
func (w *world) settled(ms *workloadv1alpha1.ModelServing, n int32) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d groups available", n), func() error {
		w.get(ms)
		if s := ms.Status; s.ObservedGeneration != ms.Generation || s.Replicas != n || s.AvailableReplicas != n {
			return fmt.Errorf("observedGeneration %d of %d, replicas %d, availableReplicas %d", s.ObservedGeneration, ms.Generation, s.Replicas, s.AvailableReplicas)
		}
		return nil
	})
}

func TestPartitionAtOrAboveReplicasMovesNothing(t *testing.T) {
	t.Parallel()
	for _, partition := range []string{"2", "3", "7", "100%"} {
		t.Run(partition, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ms := single(2).Partition(partition).Obj()
			w.create(ms)
			w.available(ms, 2)
			before := uids(w.pods(ms))
			w.change(ms, setImage(imageNew))
			w.settled(ms, 2)
			w.quiet(ms)
			if diff := cmp.Diff(before, uids(w.allPods(ms))); diff != "" {
				t.Errorf("Pods (-want +got):\n%s", diff)
			}
			w.get(ms)
			if ms.Status.UpdateRevision == ms.Status.CurrentRevision {
				t.Error("the new revision is not in the status")
			}
			w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
				ms.Spec.RolloutStrategy.RollingUpdateConfiguration.Partition = nil
			})
			w.available(ms, 2)
		})
	}
}

func TestImageAndRoleReplicasChangedInOneUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	watched := w.observe(ms, 3)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(imageNew)(ms)
		ms.Spec.Template.Roles[1].Replicas = ptr.To[int32](3)
	})
	w.available(ms, 2)
	if lowest := watched.stop(); lowest < 1 {
		t.Error("both groups were unavailable at one moment")
	}
	images := w.images(ms)
	if len(images) != 10 {
		t.Errorf("%d Pods, want 10", len(images))
	}
	for name, image := range images {
		if image != imageNew {
			t.Errorf("Pod %s has image %s", name, image)
		}
	}
	w.quiet(ms)
}

func TestRoleRollingUpdateTouchesOnlyTheChangedRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").Rollout(workloadv1alpha1.RoleRollingUpdate).
		Role(gangwaytesting.MakeRole("prefill").Replicas(2).Workers(1).Obj()).
		Role(gangwaytesting.MakeRole("decode").Replicas(2).Obj()).
		Role(gangwaytesting.MakeRole("idle").Replicas(0).Obj()).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.hold("ms-0-decode-1")
	w.change(ms, setImage(imageNew, "decode", "idle"))
	w.eventually("availableReplicas drops while a role replica is replaced", func() error {
		w.get(ms)
		if ms.Status.AvailableReplicas != 0 {
			return fmt.Errorf("it is %d", ms.Status.AvailableReplicas)
		}
		return nil
	})
	w.kubelet.release("ms-0-decode-1")
	w.available(ms, 1)
	for name, pod := range w.pods(ms) {
		changed := strings.HasPrefix(name, "ms-0-decode-")
		if (pod.UID != before[name].UID) != changed || (pod.Spec.Containers[0].Image == imageNew) != changed {
			t.Errorf("Pod %s: image %s, replaced %v", name, pod.Spec.Containers[0].Image, pod.UID != before[name].UID)
		}
	}
	w.quiet(ms)
}

func TestRollbackUsesTheOldRevisionAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	old := ms.Status.CurrentRevision
	w.change(ms, setImage(imageNew))
	w.available(ms, 2)
	w.change(ms, setImage(gangwaytesting.DefaultImage))
	w.available(ms, 2)
	if ms.Status.CurrentRevision != old {
		t.Errorf("current revision is %s, was %s with the same template", ms.Status.CurrentRevision, old)
	}
	var revisions appsv1.ControllerRevisionList
	if err := w.client.List(context.Background(), &revisions, client.InNamespace(w.ns)); err != nil || len(revisions.Items) != 2 {
		t.Errorf("%d ControllerRevisions, error %v", len(revisions.Items), err)
	}
	w.quiet(ms)
}

func TestPausedRolloutWaitsWhileScalingGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(2).Paused(true).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := w.pods(ms)
	w.change(ms, setImage(imageNew))
	w.condition(ms, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionTrue, workloadv1alpha1.ReasonRolloutPaused)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](3) })
	w.settled(ms, 3)
	now := w.pods(ms)
	for name, pod := range before {
		if now[name] == nil || now[name].UID != pod.UID {
			t.Errorf("Pod %s was replaced", name)
		}
	}
	w.quiet(ms)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.RolloutStrategy.Paused = false })
	w.available(ms, 3)
}

// Deleted groups vanish from the cache before their successors appear in it.
func TestGroupsThatHaveVanishedCountAsUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(4).MaxUnavailable("2").Obj()
	w.create(ms)
	w.available(ms, 4)
	watched := w.observe(ms, 1)
	// New groups never come up, so the rollout must stop at two of them.
	w.change(ms, setImage(imageSlow))
	w.eventually("two new groups", func() error {
		slow := 0
		for _, image := range w.images(ms) {
			if image == imageSlow {
				slow++
			}
		}
		if slow != 2 {
			return fmt.Errorf("%d", slow)
		}
		return nil
	})
	w.quiet(ms)
	if lowest := watched.stop(); lowest != 2 {
		t.Errorf("%d groups were available at the lowest, with maxUnavailable 2 of 4", lowest)
	}
}
