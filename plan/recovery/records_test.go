package recovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWait(t *testing.T) {
	var got []time.Duration
	for count := range int32(9) {
		got = append(got, wait(count))
	}
	want := []time.Duration{
		0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second,
		5 * time.Minute, 5 * time.Minute, 5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wait of 0, 1, ... recoveries (-want +got):\n%s", diff)
	}
	if wait(1<<30) != longWait {
		t.Error("many recoveries wait longer than the longest wait")
	}
}

func TestLost(t *testing.T) {
	touched, taken, missing, empty := Incomplete{Touched: true}, Incomplete{Touched: true, Taken: true}, Incomplete{}, Incomplete{Empty: true}
	for name, tc := range map[string]struct {
		had, has int
		units    []Incomplete
		want     []int
	}{
		"nothing was complete yet, so nothing is lost":                    {0, 0, []Incomplete{touched, missing}, nil},
		"all that were complete still are":                                {2, 2, []Incomplete{touched}, nil},
		"more are complete than were":                                     {1, 3, []Incomplete{touched}, nil},
		"the only incomplete one is lost":                                 {3, 2, []Incomplete{touched}, []int{0}},
		"one that was seen to terminate accounts for the difference":      {3, 2, []Incomplete{taken, touched}, nil},
		"one of which something is left is lost before one that is empty": {3, 2, []Incomplete{missing, touched}, []int{1}},
		"one that is gone is lost before one whose group is":              {3, 2, []Incomplete{empty, missing}, []int{1}},
		"one that was not asked for before is lost last":                  {3, 2, []Incomplete{{New: true}, empty}, []int{1}},
		"two are lost":                         {3, 1, []Incomplete{missing, touched, empty}, []int{0, 1}},
		"more are missing than are wanted now": {5, 1, []Incomplete{touched}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Lost(tc.had, tc.has, tc.units)); diff != "" {
				t.Errorf("Lost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStuck(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taint *corev1.Taint) map[string]*corev1.Node {
		n := &corev1.Node{}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(ago(time.Hour))}}
		if taint != nil {
			n.Spec.Taints = []corev1.Taint{*taint}
		}
		return map[string]*corev1.Node{"node-0": n}
	}
	unreachable := func(since time.Time) *corev1.Taint {
		return &corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: ptr.To(metav1.NewTime(since))}
	}
	going := healthy("a").Scheduled(t0, "node-0").Terminating(ago(time.Minute)).Obj()
	over := going.DeletionTimestamp.Time
	forced := going.DeepCopy()
	forced.DeletionGracePeriodSeconds = ptr.To[int64](0)
	type answer struct {
		At    time.Time
		Stuck bool
	}
	for name, tc := range map[string]struct {
		pod   *corev1.Pod
		nodes map[string]*corev1.Node
		want  answer
	}{
		"a Pod that is not terminating":                                  {healthy("a").Obj(), nil, answer{}},
		"a Pod without a node":                                           {newPod("a").Terminating(ago(time.Minute)).Obj(), nil, answer{}},
		"its node is gone: once its own grace period is over":            {going, nil, answer{over, true}},
		"it was force deleted, and a finalizer holds it":                 {forced, nil, answer{}},
		"its node is well":                                               {going, node(corev1.ConditionTrue, nil), answer{}},
		"its node is Ready again and the taint is about to go":           {going, node(corev1.ConditionTrue, unreachable(ago(time.Hour))), answer{}},
		"its node is not Ready but says so itself":                       {going, node(corev1.ConditionFalse, nil), answer{}},
		"its node is unreachable for long":                               {going, node(corev1.ConditionUnknown, unreachable(ago(time.Hour))), answer{over, true}},
		"its node is unreachable for a minute: in four":                  {going, node(corev1.ConditionUnknown, unreachable(ago(time.Minute))), answer{now.Add(4 * time.Minute), true}},
		"the taint has no time: since the node's condition last changed": {going, node(corev1.ConditionUnknown, &corev1.Taint{Key: corev1.TaintNodeUnreachable}), answer{over, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var got answer
			got.At, got.Stuck = Stuck(tc.pod, tc.nodes)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Stuck (-want +got):\n%s", diff)
			}
		})
	}
}
