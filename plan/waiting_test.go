package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// twoReplicas has role replicas a-0 and a-1 of one Pod each in every group.
func twoReplicas(groups int32) *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").Replicas(groups).SchedulerName("default-scheduler").
		Role(gangwaytesting.MakeRole("a").Replicas(2).Obj())
}

func (m *moment) roleReplicas(n int32) {
	m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To(n) })
}

func TestAGroupMixesNoRevisionsWhileItsLastPodsTerminate(t *testing.T) {
	m := settled(t, twoReplicas(1).RecoveryPolicy(workloadv1alpha1.RecoverNone))
	m.Nodes = map[string]*corev1.Node{"node-0": {}}
	m.pod("ms-0-a-0-0").Terminating(m.now)
	m.pod("ms-0-a-1-0").Terminating(m.now)
	m.image(0, "registry.example/llm:2")
	m.roleReplicas(3)
	m.write(m.compute())
	m.expect()
	m.gone("ms-0-a-0-0", "ms-0-a-1-0")
	m.expect("ms-0/0: Create Pod ms-0-a-0-0 (Create)", "ms-0/0: Create Pod ms-0-a-1-0 (Create)", "ms-0/0: Create Pod ms-0-a-2-0 (Create)")
}

func TestNothingIsMadeInAGroupThatWaitsForItsBackOff(t *testing.T) {
	m := settled(t, twoReplicas(1).RecoveryPolicy(workloadv1alpha1.RecoverServingGroup))
	m.ModelServing = m.ModelServing.DeepCopy()
	m.ModelServing.Status.Recoveries = []workloadv1alpha1.RecoveryStatus{{
		Group: "ms-0", Count: 1, LastRecoveryTime: metav1.NewTime(m.now), Revision: m.Revisions[0].Name,
	}}
	m.gone("ms-0-a-1-0")
	m.expect()
}

func TestAGroupThatIsToBeReplacedIsNotScaledFirst(t *testing.T) {
	m := settled(t, twoReplicas(2))
	m.image(0, "registry.example/llm:2")
	m.roleReplicas(1)
	m.expect(createRevision, "ms-1/0: Delete Pod ms-1-a-0-0 (Rollout)", "ms-1/0: Delete Pod ms-1-a-1-0 (Rollout)")
}

// What a rollout has taken down comes back at the update revision, also when the rollout is paused by
// then: its old Pods are gone either way.
func TestAPauseKeepsNoGroupBackThatIsTakenDown(t *testing.T) {
	m := settled(t, twoReplicas(1))
	m.Nodes = map[string]*corev1.Node{"node-0": {}}
	m.image(0, "registry.example/llm:2")
	m.write(m.compute())
	m.spec(func(ms *workloadv1alpha1.ModelServing) {
		ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Paused: true}
	})
	m.pod("ms-0-a-0-0").Terminating(m.now)
	m.pod("ms-0-a-1-0").Terminating(m.now)
	m.write(m.compute())
	m.gone("ms-0-a-0-0", "ms-0-a-1-0")
	p := m.expect("ms-0/0: Create Pod ms-0-a-0-0 (Create)", "ms-0/0: Create Pod ms-0-a-1-0 (Create)")
	for _, a := range p.Lanes[0].Stages[0] {
		if got, want := a.Object.GetLabels()[names.LabelRevision], m.Revisions[1].Labels[names.LabelRevision]; got != want {
			t.Errorf("Pod %s is of revision %s, want %s", a.Object.GetName(), got, want)
		}
	}
}
