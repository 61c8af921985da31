package controllers_test

import (
	"runtime"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/state"
)

// allocated is how many bytes a call allocates. Nothing else may run meanwhile.
func allocated(call func()) float64 {
	const calls = 3
	var before, after runtime.MemStats
	call()
	runtime.ReadMemStats(&before)
	for range calls {
		call()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / calls
}

// Ten times as many groups take ten times as much memory, in the first pass and at rest: nothing is
// copied for every group that holds something of every group.
func TestAPassAllocatesInProportionToTheGroups(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cost := func(groups int32) (first, rest float64) {
		s := state.Snapshot{
			ModelServing: gangwaytesting.MakeModelServing("ms").Replicas(groups).
				Role(gangwaytesting.MakeRole("prefill").Replicas(2).Workers(1).Obj()).
				Role(gangwaytesting.MakeRole("decode").Replicas(2).Workers(1).Obj()).Obj(),
			Gang: state.GangSupport{PodGroups: true, SubGroups: true},
		}
		first = allocated(func() { plan.Compute(s, began) })
		p := plan.Compute(s, began)
		written := p.Before
		for _, lane := range p.Lanes {
			for _, stage := range lane.Stages {
				written = append(written, stage...)
			}
		}
		for _, a := range written {
			if a.Verb != action.Create {
				t.Fatalf("the first pass does not only create: %s %s", a.Verb, a.Object.GetName())
			}
			a.Object.SetCreationTimestamp(metav1.NewTime(began))
			switch o := a.Object.(type) {
			case *corev1.Pod:
				s.Pods = append(s.Pods, gangwaytesting.WrapPod(o, began).Ready(began.Add(time.Minute)).Obj())
			case *corev1.Service:
				s.Services = append(s.Services, o)
			case *schedulingv1beta1.PodGroup:
				s.PodGroups = append(s.PodGroups, o)
			case *appsv1.ControllerRevision:
				s.Revisions = append(s.Revisions, o)
			}
		}
		now := began.Add(time.Hour)
		s.ModelServing = s.ModelServing.DeepCopy()
		s.ModelServing.Status = plan.Compute(s, now).Status
		if p := plan.Compute(s, now); len(p.Lanes) > 0 || p.Status.AvailableReplicas != groups {
			t.Fatalf("%d groups are not at rest: %d lanes, %d available", groups, len(p.Lanes), p.Status.AvailableReplicas)
		}
		return first, allocated(func() { plan.Compute(s, now) })
	}
	first, rest := cost(100)
	firstOfMany, restOfMany := cost(1000)
	const limit = 12 // Longer ordinals make longer names.
	if ratio := firstOfMany / first; ratio > limit {
		t.Errorf("a first pass over 1,000 groups allocates %.0f bytes, %.1f times as many as one over 100", firstOfMany, ratio)
	}
	if ratio := restOfMany / rest; ratio > limit {
		t.Errorf("a pass at rest over 1,000 groups allocates %.0f bytes, %.1f times as many as one over 100", restOfMany, ratio)
	}
	t.Logf("bytes for 100 and 1,000 groups: %.0f and %.0f at first, %.0f and %.0f at rest", first, firstOfMany, rest, restOfMany)
}
