package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
)

// gangAndPods are the minMember of the PodGroup that a plan writes, and the schedulers of the Pods
// that it creates.
func gangAndPods(p plan.Plan) (minMember int32, schedulers map[string]string) {
	schedulers = map[string]string{}
	for _, lane := range p.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				switch o := a.Object.(type) {
				case *schedulingv1beta1.PodGroup:
					minMember = o.Spec.MinMember
				case *corev1.Pod:
					if a.Verb == action.Create {
						schedulers[o.Name] = o.Spec.SchedulerName
					}
				}
			}
		}
	}
	return minMember, schedulers
}

func TestAGangNeedsOnlyWhatVolcanoPlaces(t *testing.T) {
	byRole := func(scheduler string) *gangwaytesting.ModelServingWrapper {
		return gangwaytesting.MakeModelServing("ms").SchedulerName(scheduler).
			Rollout(workloadv1alpha1.RoleRollingUpdate).
			Role(gangwaytesting.MakeRole("a").Replicas(2).Workers(1).Obj())
	}
	to := func(m *moment, scheduler string) {
		m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.SchedulerName = scheduler })
		p := m.compute()
		m.write(p)
	}
	t.Run("a role that rolls to Volcano", func(t *testing.T) {
		m := settled(t, byRole("default-scheduler"))
		to(m, "volcano")
		m.gone("ms-0-a-1-0", "ms-0-a-1-1")
		minMember, pods := gangAndPods(m.compute())
		want := map[string]string{"ms-0-a-1-0": "volcano", "ms-0-a-1-1": "volcano"}
		if diff := cmp.Diff(want, pods); diff != "" || minMember != 2 {
			t.Errorf("minMember %d, want 2; Pods (-want +got):\n%s", minMember, diff)
		}
	})
	t.Run("a role that rolls away from Volcano", func(t *testing.T) {
		m := settled(t, byRole("volcano"))
		to(m, "default-scheduler")
		m.gone("ms-0-a-1-0", "ms-0-a-1-1")
		minMember, pods := gangAndPods(m.compute())
		want := map[string]string{"ms-0-a-1-0": "default-scheduler", "ms-0-a-1-1": "default-scheduler"}
		if diff := cmp.Diff(want, pods); diff != "" || minMember != 2 {
			t.Errorf("minMember %d, want 2; Pods (-want +got):\n%s", minMember, diff)
		}
	})
	t.Run("a protected group that is rebuilt keeps its scheduler", func(t *testing.T) {
		m := settled(t, oneRole(1).SchedulerName("default-scheduler").Partition("1"))
		to(m, "volcano")
		m.gone("ms-0-a-0-0")
		minMember, pods := gangAndPods(m.compute())
		if diff := cmp.Diff(map[string]string{"ms-0-a-0-0": "default-scheduler"}, pods); diff != "" || minMember != 0 {
			t.Errorf("minMember %d, want no PodGroup; Pods (-want +got):\n%s", minMember, diff)
		}
	})
}
