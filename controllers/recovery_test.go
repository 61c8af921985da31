package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// unchanged fails the test unless the Pods are still those.
func (w *world) unchanged(ms *workloadv1alpha1.ModelServing, before map[string]*corev1.Pod) {
	w.Helper()
	if diff := cmp.Diff(uids(before), uids(w.allPods(ms))); diff != "" {
		w.Errorf("Pods (-want +got):\n%s", diff)
	}
}

// untouched fails the test when one of the Pods whose name has that prefix is another one now.
func (w *world) untouched(ms *workloadv1alpha1.ModelServing, before map[string]*corev1.Pod, prefix string) {
	w.Helper()
	now := w.allPods(ms)
	for name, pod := range before {
		if strings.HasPrefix(name, prefix) && (now[name] == nil || now[name].UID != pod.UID) {
			w.Errorf("Pod %s was touched", name)
		}
	}
}

func TestCrashRecreatesTheRoleReplicaOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := w.pods(ms)
	w.kubelet.crash("ms-0-prefill-0-1")
	w.replaced(before["ms-0-prefill-0-0"])
	w.replaced(before["ms-0-prefill-0-1"])
	w.available(ms, 2)
	w.untouched(ms, before, "ms-0-decode")
	w.untouched(ms, before, "ms-1")
	w.eventEmitted(ms, workloadv1alpha1.EventRoleRecreating)
	w.quiet(ms)
}

func TestCrashRecreatesTheWholeGroupUnderServingGroupRecreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := w.pods(ms)
	w.kubelet.crash("ms-0-prefill-0-1")
	for name, pod := range before {
		if strings.HasPrefix(name, "ms-0-") {
			w.replaced(pod)
		}
	}
	w.available(ms, 2)
	w.untouched(ms, before, "ms-1")
	w.eventEmitted(ms, workloadv1alpha1.EventGroupRecreating)
	w.quiet(ms)
}

func TestPodThatEndsForGoodIsReplacedUnderEveryPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []workloadv1alpha1.RecoveryPolicy{
		workloadv1alpha1.RecoverServingGroup, workloadv1alpha1.RecoverRole, workloadv1alpha1.RecoverNone,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ms := twoRoles(1).RecoveryPolicy(policy).Obj()
			w.create(ms)
			w.available(ms, 1)
			before := w.pods(ms)
			w.kubelet.fail("ms-0-prefill-0-1")
			w.replaced(before["ms-0-prefill-0-1"])
			w.available(ms, 1)
			if policy == workloadv1alpha1.RecoverNone {
				w.untouched(ms, before, "ms-0-prefill-0-0")
			} else {
				w.replaced(before["ms-0-prefill-0-0"])
			}
			if policy != workloadv1alpha1.RecoverServingGroup {
				w.untouched(ms, before, "ms-0-decode")
			}
			w.quiet(ms)
		})
	}
}

func TestNoneLeavesCrashesToTheKubeletAndBringsDeletedPodsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).RecoveryPolicy(workloadv1alpha1.RecoverNone).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	for range 3 {
		w.kubelet.crash("ms-0-prefill-0-1")
		w.pass(ms)
	}
	w.later(time.Hour, ms)
	w.unchanged(ms, before)
	w.kubelet.ready("ms-0-prefill-0-1", true)
	w.available(ms, 1)
	w.remove(before["ms-0-prefill-0-0"])
	w.replaced(before["ms-0-prefill-0-0"])
	w.available(ms, 1)
	w.untouched(ms, before, "ms-0-prefill-0-1")
	w.untouched(ms, before, "ms-0-decode")
}

func TestInitContainerThatFailsForEverCausesNoStorm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failing := func(tpl *workloadv1alpha1.PodTemplateSpec) {
		tpl.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: imageFailing}}
	}
	ms := gangwaytesting.MakeModelServing("ms").Role(gangwaytesting.MakeRole("main").Workers(1).Entry(failing).Obj()).Obj()
	w.create(ms)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonInitContainerFailed, "ms-0-main-0-0", "fetch", "back-off 40s")
	before := w.pods(ms)
	for i := range 5 {
		w.kubelet.update("ms-0-main-0-0", func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses[0].RestartCount = int32(4 + i)
		})
		w.later(20*time.Minute, ms)
	}
	w.unchanged(ms, before)
	w.get(ms)
	if len(ms.Status.Recoveries) != 0 {
		t.Errorf("recoveries: %v", ms.Status.Recoveries)
	}
	w.quiet(ms)
}

func TestSlowImagePullIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(2).Obj()
	setImage(imageSlow)(ms)
	w.create(ms)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonPodsNotReady)
	before := w.pods(ms)
	for range 4 {
		w.later(6*time.Hour, ms)
	}
	w.unchanged(ms, before)
	w.quiet(ms)
}

func TestGracePeriodForgivesWhoComesBackInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).GraceSeconds(60).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.crash("ms-0-decode-0-0")
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonCrashLooping, "ms-0-decode-0-0", "exit code 137")
	w.later(50*time.Second, ms)
	w.kubelet.ready("ms-0-decode-0-0", true)
	w.available(ms, 1)
	w.later(time.Hour, ms)
	w.unchanged(ms, before)
	w.quiet(ms)
}

func TestGracePeriodEndsAcrossARestartOfTheManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).GraceSeconds(60).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.crash("ms-0-decode-0-0")
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonCrashLooping, "ms-0-decode-0-0", "exit code 137")
	w.later(40*time.Second, ms)
	w.stop()
	w.start()
	w.pass(ms)
	w.unchanged(ms, before)
	w.later(25*time.Second, ms) // 65 s after the crash, 25 s after the restart.
	w.replaced(before["ms-0-decode-0-0"])
	w.available(ms, 1)
	w.untouched(ms, before, "ms-0-prefill")
}

func TestReplacementIsNotKilledByTheOldDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).GraceSeconds(60).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.crash("ms-0-decode-0-0")
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonCrashLooping, "ms-0-decode-0-0", "exit code 137")
	w.later(30*time.Second, ms)
	w.remove(w.pods(ms)["ms-0-decode-0-0"])
	w.replaced(before["ms-0-decode-0-0"])
	w.available(ms, 1)
	replacement := w.pods(ms)
	w.later(5*time.Minute, ms)
	w.unchanged(ms, replacement)
	w.quiet(ms)
}

func TestPodRestartedYesterdayWhoseReadinessBlips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).GraceSeconds(60).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.crash("ms-0-decode-0-0")
	w.later(10*time.Second, ms)
	w.kubelet.ready("ms-0-decode-0-0", true)
	w.available(ms, 1)
	w.later(24*time.Hour, ms)
	w.kubelet.ready("ms-0-decode-0-0", false)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonPodsNotReady)
	w.later(2*time.Minute, ms)
	w.unchanged(ms, before)
	w.kubelet.ready("ms-0-decode-0-0", true)
	w.available(ms, 1)
	w.quiet(ms)
}

// The first recovery is immediate, the second waits 10 s from the first, and a restart of the
// manager forgets neither.
func TestBackOffAcrossARestartOfTheManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	first := w.pods(ms)["ms-0-decode-0-0"]
	w.kubelet.crash(first.Name)
	w.replaced(first)
	w.available(ms, 1)

	w.get(ms)
	if r := ms.Status.Recoveries; len(r) != 1 || r[0].Group != "ms-0" || r[0].RoleID != "decode-0" || r[0].Count != 1 {
		t.Fatalf("recoveries: %+v", r)
	}
	// Times are whole seconds, so this is safely inside the 10 s.
	second := w.pods(ms)["ms-0-decode-0-0"]
	w.kubelet.crash(second.Name)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonCrashLooping, "ms-0-decode-0-0", "exit code 137")
	w.stop()
	w.start()
	w.pass(ms)
	if now := w.pods(ms)[second.Name]; now == nil || now.UID != second.UID {
		t.Fatal("the second recovery did not wait")
	}
	w.later(11*time.Second, ms)
	w.replaced(second)
	w.available(ms, 1)
	if r := ms.Status.Recoveries; len(r) != 1 || r[0].Count != 2 {
		t.Errorf("recoveries: %+v", r)
	}
	w.later(11*time.Minute, ms) // Ready for 10 min: forgotten.
	w.eventually("the recoveries are forgotten", func() error {
		w.get(ms)
		if len(ms.Status.Recoveries) != 0 {
			return fmt.Errorf("%+v", ms.Status.Recoveries)
		}
		return nil
	})
	w.quiet(ms)
}

func TestRoleThatDoesNotComeBackEscalatesToTheGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).ProgressDeadlineSeconds(600).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.hold("ms-0-decode-0-0")
	w.kubelet.crash("ms-0-decode-0-0")
	w.eventually("the role replica is going", func() error {
		if pod := w.allPods(ms)["ms-0-decode-0-0"]; pod == nil || pod.DeletionTimestamp == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	w.later(5*time.Minute, ms)
	w.untouched(ms, before, "ms-0-prefill")
	w.later(6*time.Minute, ms)
	w.eventually("the other role goes too", func() error {
		if now := w.pods(ms)["ms-0-prefill-0-0"]; now != nil && now.UID == before["ms-0-prefill-0-0"].UID {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
	w.eventEmitted(ms, workloadv1alpha1.EventRecoveryEscalated)
	w.kubelet.release("ms-0-decode-0-0")
	w.available(ms, 1)
}

func TestPodThatHangsOnANodeThatIsGoneIsForceDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.hold("ms-0-decode")
	w.kubelet.crash("ms-0-decode-0-0")
	w.eventually("it terminates", func() error {
		if pod := w.allPods(ms)["ms-0-decode-0-0"]; pod == nil || pod.DeletionTimestamp == nil {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	w.later(10*time.Minute, ms)
	w.untouched(ms, before, "ms-0-decode") // The node is there, so its kubelet is waited for.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubelet.node}}
	if err := w.client.Delete(context.Background(), node); err != nil {
		t.Fatal(err)
	}
	w.replaced(before["ms-0-decode-0-0"])
	w.available(ms, 1)
	w.untouched(ms, before, "ms-0-prefill")
}
