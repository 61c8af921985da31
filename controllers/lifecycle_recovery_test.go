package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// A unit is rebuilt when all of it is gone, so that an old Pod never talks to a new one.
func TestUnitIsRebuiltWhenAllOfItIsGone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy workloadv1alpha1.RecoveryPolicy
		unit   string
	}{
		{workloadv1alpha1.RecoverRole, "ms-0-prefill-"},
		{workloadv1alpha1.RecoverServingGroup, "ms-0-"},
	} {
		t.Run(string(tc.policy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ms := twoRoles(2).RecoveryPolicy(tc.policy).Obj()
			w.create(ms)
			w.available(ms, 2)
			before := w.pods(ms)
			w.kubelet.hold("ms-0-prefill-0-0")
			w.kubelet.crash("ms-0-prefill-0-1")
			want := map[string]string{}
			for name, uid := range uids(before) {
				if !strings.HasPrefix(name, tc.unit) || name == "ms-0-prefill-0-0" {
					want[name] = uid
				}
			}
			w.eventually("one Pod of the unit is left", func() error {
				if diff := cmp.Diff(want, uids(w.allPods(ms))); diff != "" {
					return fmt.Errorf("Pods (-want +got):\n%s", diff)
				}
				return nil
			})
			w.quiet(ms)
			if diff := cmp.Diff(want, uids(w.allPods(ms))); diff != "" {
				t.Errorf("Pods (-want +got):\n%s", diff)
			}
			w.kubelet.release("ms-0-prefill-0-0")
			w.available(ms, 2)
			w.untouched(ms, before, "ms-1-")
			if r := ms.Status.Recoveries; len(r) != 1 || r[0].Count != 1 {
				t.Errorf("one crash became: %+v", r)
			}
		})
	}
}

// A node that is there and does not answer is given five minutes; its Pods are then let go, so that
// the gang can form elsewhere.
func TestPodThatHangsOnANodeThatDoesNotAnswerIsForceDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.kubelet.hold("ms-0-decode")
	w.remove(before["ms-0-decode-0-0"])

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubelet.node}}
	w.get(node)
	since := metav1.NewTime(w.clock.time())
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &since}}
	if err := w.client.Update(context.Background(), node); err != nil {
		t.Fatal(err)
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", LastTransitionTime: since,
	}}
	if err := w.client.Status().Update(context.Background(), node); err != nil {
		t.Fatal(err)
	}
	w.later(4*time.Minute, ms)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonPodTerminating, "hangs in Terminating", w.kubelet.node)
	w.untouched(ms, before, "ms-0-decode")
	w.later(2*time.Minute, ms)
	w.replaced(before["ms-0-decode-0-0"])
	w.available(ms, 1)
	w.untouched(ms, before, "ms-0-prefill")
}

// Somebody's ControllerRevision has the name that the hash asks for: another hash is taken, and the
// stranger is left alone.
func TestRevisionWhoseNameIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := twoRoles(1).Obj()
	w.create(first)
	w.available(first, 1)
	taken := first.Status.UpdateRevision
	w.remove(first)
	w.collect(first)
	w.eventually("nothing left", func() error {
		if got := len(w.allPods(first)); got > 0 {
			return fmt.Errorf("%d Pods", got)
		}
		return nil
	})
	stranger := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: taken}, Data: runtime.RawExtension{Raw: []byte(`{"theirs":true}`)}, Revision: 7,
	}
	w.create(stranger)
	w.get(stranger)
	version := stranger.ResourceVersion

	second := twoRoles(1).Obj()
	w.create(second)
	w.available(second, 1)
	if second.Status.UpdateRevision == taken || second.Status.CollisionCount == nil {
		t.Errorf("the update revision is %s, collisionCount %v", second.Status.UpdateRevision, second.Status.CollisionCount)
	}
	w.get(stranger)
	if stranger.ResourceVersion != version || stranger.DeletionTimestamp != nil {
		t.Error("the stranger's ControllerRevision was touched")
	}
	w.quiet(second)
	w.change(second, setImage(imageNew))
	w.available(second, 1)
	w.quiet(second)
}
