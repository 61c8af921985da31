package plan_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/plan/state"
)

// BenchmarkCompute is a pass over a large ModelServing at rest: 1,000 groups of 8 Pods. It is to
// take less than 50 ms.
func BenchmarkCompute(b *testing.B) {
	s, now := atRest(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		plan.Compute(s, now)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/pass")
}

// BenchmarkComputeCreate is the first pass over it: everything is to be created.
func BenchmarkComputeCreate(b *testing.B) {
	s := state.Snapshot{ModelServing: large(1000), Gang: volcano}
	b.ReportAllocs()
	for b.Loop() {
		plan.Compute(s, benchmarkStart)
	}
}

var (
	benchmarkStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	volcano        = state.GangSupport{PodGroups: true, SubGroups: true}
)

// large has groups of 8 Pods: 2 prefill replicas with a worker each, and 2 decode replicas likewise.
func large(groups int32) *workloadv1alpha1.ModelServing {
	return gangwaytesting.MakeModelServing("large").Replicas(groups).
		Role(gangwaytesting.MakeRole("prefill").Replicas(2).Workers(1).Request(corev1.ResourceCPU, "4").Obj()).
		Role(gangwaytesting.MakeRole("decode").Replicas(2).Workers(1).Request(corev1.ResourceCPU, "4").Obj()).
		Obj()
}

// atRest lets a large ModelServing of so many groups come to rest.
func atRest(tb testing.TB, groups int32) (state.Snapshot, time.Time) {
	tb.Helper()
	return comeToRest(tb, state.Snapshot{ModelServing: large(groups), Gang: volcano})
}

// comeToRest makes all that a ModelServing wants, with nothing failing on the way.
func comeToRest(tb testing.TB, s state.Snapshot) (state.Snapshot, time.Time) {
	tb.Helper()
	now := benchmarkStart
	s.Route = route.ForModelServing(s.ModelServing)
	for range 5 {
		p := plan.Compute(s, now)
		if len(p.Before)+len(p.Lanes)+len(p.After) == 0 && equality.Semantic.DeepEqual(p.Status, s.ModelServing.Status) {
			return s, now
		}
		s.ModelServing = s.ModelServing.DeepCopy()
		s.ModelServing.Status = p.Status
		written := p.Before
		for _, lane := range p.Lanes {
			for _, stage := range lane.Stages {
				written = append(written, stage...)
			}
		}
		for _, a := range written {
			if a.Verb != action.Create {
				tb.Fatalf("%s %s (%s)", a.Verb, a.Object.GetName(), a.Why)
			}
			a.Object.SetCreationTimestamp(metav1.NewTime(now))
			switch o := a.Object.(type) {
			case *corev1.Pod:
				s.Pods = append(s.Pods, gangwaytesting.WrapPod(o, now).Ready(now.Add(time.Minute)).Obj())
			case *corev1.Service:
				s.Services = append(s.Services, o)
			case *schedulingv1beta1.PodGroup:
				s.PodGroups = append(s.PodGroups, o)
			case *appsv1.ControllerRevision:
				s.Revisions = append(s.Revisions, o)
			}
		}
		now = now.Add(time.Hour)
	}
	tb.Fatal("no rest")
	return s, now
}

// TestALargeModelServingComesToRest holds that the benchmark measures what it says.
func TestALargeModelServingComesToRest(t *testing.T) {
	s, now := atRest(t, 10)
	if len(s.Pods) != 80 || len(s.PodGroups) != 10 || len(s.Services) != 40 {
		t.Errorf("%d Pods, %d PodGroups, %d Services", len(s.Pods), len(s.PodGroups), len(s.Services))
	}
	if p := plan.Compute(s, now); p.Status.AvailableReplicas != 10 || p.StatusFirst || len(p.Events) > 0 {
		t.Errorf("at rest: %d available, StatusFirst %v, %d Events", p.Status.AvailableReplicas, p.StatusFirst, len(p.Events))
	}
}
