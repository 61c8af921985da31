package plan_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// Three groups of two Pods under a quota for four: the first pass made one Pod of each of them before
// it met the quota.
func TestAQuotaIsNotSpreadOverGroupsThatCannotRun(t *testing.T) {
	const (
		create0 = "ms-0/0: Create Pod ms-0-a-0-1 (Create)"
		create1 = "ms-1/0: Create Pod ms-1-a-0-1 (Create)"
		create2 = "ms-2/0: Create Pod ms-2-a-0-1 (Create)"
		delete1 = "ms-1/0: Delete Pod ms-1-a-0-0 (Quota)"
		delete2 = "ms-2/0: Delete Pod ms-2-a-0-0 (Quota)"
	)
	// second stores the revision of another image.
	second := func(m *moment) *appsv1.ControllerRevision {
		m.image(0, "registry.example/llm:2")
		m.write(plan.Plan{Before: m.compute().Before, Status: m.ModelServing.Status})
		return m.Revisions[1]
	}
	for name, tc := range map[string]struct {
		change func(*moment)
		want   []string
	}{
		"the highest gives back, and the lowest alone is completed": {
			change: func(*moment) {},
			want:   []string{create0, delete2},
		},
		"one after the other": {
			change: func(m *moment) { m.gone("ms-2-a-0-0") },
			want:   []string{create0, delete1},
		},
		"none does for a group that is complete": {
			change: func(m *moment) {
				m.gone("ms-2-a-0-0")
				pod := m.pod("ms-1-a-0-0")
				pod.Name, pod.Labels[names.LabelGroup] = "ms-0-a-0-1", "ms-0"
				delete(pod.Labels, names.LabelEntry)
			},
			want: []string{"ms-1/0: Create Pod ms-1-a-0-0 (Create)", create1},
		},
		"one that has served does not": {
			change: func(m *moment) {
				m.pod("ms-2-a-0-0").Ready(m.now)
				m.pod("ms-1-a-0-0").Ready(m.now).NotReady(m.now.Add(time.Second))
			},
			want: []string{create0},
		},
		"without a quota all are completed": {
			change: func(m *moment) { m.ModelServing.Status.Conditions = nil },
			want:   []string{create0, create1, create2},
		},
		"one of an old revision, which nobody might know when it is gone, does not": {
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) {
					ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Paused: true}
				})
				second(m)
			},
			want: []string{create0},
		},
		"nor does one below the partition that would come back at the current one": {
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) {
					ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{
						RollingUpdateConfiguration: &workloadv1alpha1.RollingUpdateConfiguration{Partition: ptr.To(intstr.FromInt32(3))},
					}
				})
				first := m.ModelServing.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].Image
				m.ModelServing.Status.CurrentRevision = second(m).Name
				m.image(0, first)
				m.Revisions[0] = m.Revisions[0].DeepCopy()
				m.Revisions[0].Revision = 9
			},
			want: []string{create0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := settled(t, gangwaytesting.MakeModelServing("ms").Replicas(3).SchedulerName("default-scheduler").
				Role(gangwaytesting.MakeRole("a").Workers(1).Obj()))
			m.t = t
			m.gone("ms-0-a-0-1", "ms-1-a-0-1", "ms-2-a-0-1")
			for _, pod := range []string{"ms-0-a-0-0", "ms-1-a-0-0", "ms-2-a-0-0"} {
				m.pod(pod).Status = corev1.PodStatus{Phase: corev1.PodPending}
			}
			m.ModelServing = m.ModelServing.DeepCopy()
			m.ModelServing.Status.Roles = nil
			meta.SetStatusCondition(&m.ModelServing.Status.Conditions, metav1.Condition{
				Type: workloadv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: workloadv1alpha1.ReasonQuotaExceeded,
			})
			tc.change(m)
			p := m.expect(tc.want...)
			if len(p.Status.Recoveries) > 0 {
				t.Errorf("recoveries %v", p.Status.Recoveries)
			}
		})
	}
}

// The reason is what the next pass goes by.
func TestAQuotaIsNamedInTheReasonOfProgressing(t *testing.T) {
	m := &moment{t: t, Snapshot: settled(t, oneRole(1)).Snapshot, now: benchmarkStart}
	fault := action.Fault{Action: action.Action{Verb: action.Create, Object: m.Pods[0]}, Kind: action.QuotaExceeded, Message: "exceeded quota"}
	st, _ := m.compute().Settle(m.Snapshot, []action.Fault{fault}, m.now)
	reasons := map[string]string{}
	for _, c := range st.Conditions {
		reasons[c.Type] = c.Reason
	}
	if reasons[workloadv1alpha1.ConditionProgressing] != workloadv1alpha1.ReasonQuotaExceeded ||
		reasons[workloadv1alpha1.ConditionReady] != workloadv1alpha1.ReasonCreateFailed {
		t.Errorf("reasons %v", reasons)
	}
}
