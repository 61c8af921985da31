package plan_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/state"
)

const createRevision = "before: Create *v1.ControllerRevision (Revision)"

func TestAGroupIsMadeInOrder(t *testing.T) {
	m := &moment{t, state.Snapshot{ModelServing: twoRoles().Obj(), Gang: volcano}, benchmarkStart}
	p := m.expect(createRevision,
		"ms-0/0: Create PodGroup ms-0 (Create)",
		"ms-0/1: Create Service ms-0-a-0-0 (Create)",
		"ms-0/2: Create Pod ms-0-a-0-0 (Create)",
		"ms-0/2: Create Pod ms-0-a-0-1 (Create)",
		"ms-0/2: Create Pod ms-0-b-0-0 (Create)",
	)
	if p.StatusFirst {
		t.Error("the status is to be written first, but there is nothing to remember")
	}
}

func TestGroupsThatExist(t *testing.T) {
	for name, tc := range map[string]struct {
		ms     *gangwaytesting.ModelServingWrapper
		change func(*moment)
		want   []string
	}{
		"at rest nothing is written": {ms: twoRoles(), change: func(*moment) {}},
		"one that is being deleted is left to the garbage collector": {
			ms: twoRoles(),
			change: func(m *moment) {
				m.Pods = nil
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.DeletionTimestamp = ptr.To(metav1.NewTime(m.now)) })
			},
		},
		"a spec that admission would have refused is left alone": {
			ms: twoRoles(),
			change: func(m *moment) {
				m.Pods = nil
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].WorkerTemplate = nil })
			},
		},
		"one of more Pods than a cluster can have is left alone, before anything is made for it": {
			ms: twoRoles(),
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](math.MaxInt32) })
			},
		},
		"a Service that was deleted by hand comes back": {
			ms: twoRoles(), change: func(m *moment) { m.Services = nil },
			want: []string{"ms-0/0: Create Service ms-0-a-0-0 (Create)"},
		},
		"a Service whose selector was changed is corrected": {
			ms: twoRoles(),
			change: func(m *moment) {
				s := m.Services[0].DeepCopy()
				delete(s.Spec.Selector, names.LabelEntry)
				m.Services = []*corev1.Service{s}
			},
			want: []string{"ms-0/0: Update Service ms-0-a-0-0 (Drift)"},
		},
		"a PodGroup that was deleted by hand comes back, and its Pods stay": {
			ms: twoRoles(), change: func(m *moment) { m.PodGroups = nil },
			want: []string{"ms-0/0: Create PodGroup ms-0 (Create)"},
		},
		"a PodGroup follows the gang policy in place": {
			ms: twoRoles(),
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) {
					ms.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{"a": 1}}
				})
			},
			want: []string{"ms-0/0: Update PodGroup ms-0 (Drift)"},
		},
		"Volcano comes later: the gangs are made, nothing else": {
			ms: twoRoles(), change: func(m *moment) { m.PodGroups = nil },
			want: []string{"ms-0/0: Create PodGroup ms-0 (Create)"},
		},
		"Volcano goes: nothing is done": {
			ms: twoRoles(), change: func(m *moment) { m.PodGroups, m.Gang = nil, state.GangSupport{} },
		},
		"a role that grows gets its Pods, and the gang first": {
			ms: twoRoles(),
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](2) })
			},
			want: []string{
				"before: Update *v1.ControllerRevision (Revision)",
				"ms-0/0: Update PodGroup ms-0 (Drift)",
				"ms-0/1: Create Service ms-0-a-1-0 (Create)",
				"ms-0/2: Create Pod ms-0-a-1-0 (Create)",
				"ms-0/2: Create Pod ms-0-a-1-1 (Create)",
			},
		},
		"a role that shrinks loses the last replica, with its Service": {
			ms: gangwaytesting.MakeModelServing("ms").Role(gangwaytesting.MakeRole("a").Replicas(2).Workers(1).Obj()),
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](1) })
			},
			want: []string{
				"before: Update *v1.ControllerRevision (Revision)",
				"ms-0/0: Delete Service ms-0-a-1-0 (Unwanted)",
				"ms-0/0: Delete Pod ms-0-a-1-0 (ScaleDown)",
				"ms-0/0: Delete Pod ms-0-a-1-1 (ScaleDown)",
				"ms-0/1: Update PodGroup ms-0 (Drift)",
			},
		},
		"a group that goes takes its Services and, after its Pods, its PodGroup": {
			ms: gangwaytesting.MakeModelServing("ms").Replicas(2).Role(gangwaytesting.MakeRole("a").Workers(1).Obj()),
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](1) })
			},
			want: []string{
				"ms-1/0: Delete Pod ms-1-a-0-0 (ScaleDown)",
				"ms-1/0: Delete Pod ms-1-a-0-1 (ScaleDown)",
				"ms-1/0: Delete Service ms-1-a-0-0 (ScaleDown)",
				"ms-1/1: Delete PodGroup ms-1 (ScaleDown)",
			},
		},
		"the group whose Pods cost least goes": {
			ms: oneRole(3),
			change: func(m *moment) {
				m.pod("ms-1-a-0-0").DeletionCost("-10")
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](2) })
			},
			want: []string{
				"ms-1/0: Delete Pod ms-1-a-0-0 (ScaleDown)",
				"ms-1/1: Delete PodGroup ms-1 (ScaleDown)",
			},
		},
		"replica 0, by which an autoscaler counts, stays even when it is not Ready": {
			ms: gangwaytesting.MakeModelServing("ms").SchedulerName("default-scheduler").Role(gangwaytesting.MakeRole("a").Replicas(2).Obj()),
			change: func(m *moment) {
				m.pod("ms-0-a-0-0").NotReady(m.now)
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](1) })
			},
			want: []string{
				"before: Update *v1.ControllerRevision (Revision)",
				"ms-0/0: Delete Pod ms-0-a-1-0 (ScaleDown)",
			},
		},
		"a name that is still terminating is waited for": {
			ms: oneRole(1).RecoveryPolicy(workloadv1alpha1.RecoverNone),
			change: func(m *moment) {
				m.pod("ms-0-a-0-0").Terminating(m.now)
			},
		},
		"no gang is made while all that there is of the group terminates": {
			ms: oneRole(1).RecoveryPolicy(workloadv1alpha1.RecoverNone),
			change: func(m *moment) {
				m.PodGroups = nil
				m.pod("ms-0-a-0-0").Terminating(m.now)
			},
		},
		"a Pod that nobody wants goes": {
			ms: oneRole(1),
			change: func(m *moment) {
				stray := m.Pods[0].DeepCopy()
				stray.Name, stray.UID = "ms-copy", "copy"
				m.Pods = append(slices.Clone(m.Pods), stray)
			},
			want: []string{"strays/0: Delete Pod ms-copy (Unwanted)"},
		},
		"with another scheduler there are no PodGroups, and what is left of them goes": {
			ms: oneRole(1).SchedulerName("default-scheduler"),
			change: func(m *moment) {
				pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "ms-0"}}
				m.PodGroups = append(m.PodGroups, pg)
			},
			want: []string{"ms-0/0: Delete PodGroup ms-0 (Unwanted)"},
		},
		"a Pod that hangs on a node which is gone is force deleted": {
			ms: oneRole(1).RecoveryPolicy(workloadv1alpha1.RecoverNone),
			change: func(m *moment) {
				m.pod("ms-0-a-0-0").Terminating(m.now.Add(-time.Minute))
			},
			want: []string{"ms-0/0: ForceDelete Pod ms-0-a-0-0 (StuckTerminating)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := settled(t, tc.ms)
			m.t = t
			m.Nodes = map[string]*corev1.Node{}
			if name != "a Pod that hangs on a node which is gone is force deleted" {
				m.Nodes["node-0"] = &corev1.Node{}
			}
			tc.change(m)
			m.expect(tc.want...)
		})
	}
}

func TestRoleRollingUpdateTouchesOnlyTheRoleThatChanged(t *testing.T) {
	m := settled(t, twoRoles().Rollout(workloadv1alpha1.RoleRollingUpdate).SchedulerName("default-scheduler"))
	m.image(1, "registry.example/llm:2")
	p := m.expect(createRevision, "ms-0/0: Delete Pod ms-0-b-0-0 (Rollout)")
	if p.Status.AvailableReplicas != 0 {
		t.Errorf("%d groups are available while a role of the only one is rolling", p.Status.AvailableReplicas)
	}
}

func TestChangingTheTypeOfTheRolloutRestartsNobody(t *testing.T) {
	m := settled(t, twoRoles().Rollout(workloadv1alpha1.RoleRollingUpdate).SchedulerName("default-scheduler"))
	m.image(1, "registry.example/llm:2")
	m.write(m.compute())
	m.ModelServing.Status.Removals = nil
	update := m.Revisions[1]
	p := m.pod("ms-0-b-0-0")
	p.Labels[names.LabelRevision] = update.Labels[names.LabelRevision]
	p.Labels[names.LabelRoleTemplateHash] = roleHashOf(t, update, "b")
	m.expect()
	m.spec(func(ms *workloadv1alpha1.ModelServing) {
		ms.Spec.RolloutStrategy.Type = workloadv1alpha1.ServingGroupRollingUpdate
	})
	m.expect()
}

func TestRevisionHistory(t *testing.T) {
	m := settled(t, oneRole(1).RevisionHistoryLimit(1))
	for i := range 3 {
		old := m.Revisions[0].DeepCopy()
		old.Name, old.UID = fmt.Sprintf("ms-old%d", i), types.UID(fmt.Sprint(i))
		old.Labels = map[string]string{names.LabelRevision: fmt.Sprintf("old%d", i)}
		old.Revision = int64(-3 + i)
		old.Data.Raw = fmt.Appendf(nil, `{"roles":[{"name":"a","entryTemplate":{"spec":{"containers":[{"name":"x%d"}]}}}]}`, i)
		m.Revisions = append(m.Revisions, old)
	}
	m.expect("after: Delete ControllerRevision ms-old0 (RevisionHistory)", "after: Delete ControllerRevision ms-old1 (RevisionHistory)")
}

func TestAnInvalidSpecIsExplained(t *testing.T) {
	m := settled(t, twoRoles())
	m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].WorkerTemplate = nil })
	p := m.compute()
	c := meta.FindStatusCondition(p.Status.Conditions, workloadv1alpha1.ConditionReady)
	want := "spec.template.roles[a].workerTemplate: required when workerReplicas is above 0; add it or set workerReplicas to 0"
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != workloadv1alpha1.ReasonInvalidSpec || c.Message != want {
		t.Errorf("Ready is %+v", c)
	}
	if len(p.Events) != 1 || p.Events[0].Reason != workloadv1alpha1.ReasonInvalidSpec {
		t.Errorf("Events %v", p.Events)
	}
	m.write(p)
	if p := m.compute(); len(p.Events) > 0 {
		t.Errorf("Events again: %v", p.Events)
	}
}
