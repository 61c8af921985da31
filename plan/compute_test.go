package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/state"
)

// moment is a snapshot that a test changes step by step.
type moment struct {
	t testing.TB
	state.Snapshot
	now time.Time
}

// settled is a ModelServing at rest, with all of its Pods Ready for an hour.
func settled(t testing.TB, ms *gangwaytesting.ModelServingWrapper) *moment {
	t.Helper()
	s, now := comeToRest(t, state.Snapshot{ModelServing: ms.Obj(), Gang: volcano})
	return &moment{t, s, now}
}

// spec changes the spec, as a user does.
func (m *moment) spec(change func(*workloadv1alpha1.ModelServing)) {
	m.ModelServing = m.ModelServing.DeepCopy()
	change(m.ModelServing)
	m.ModelServing.Generation++
}

func (m *moment) image(role int, image string) {
	m.spec(func(ms *workloadv1alpha1.ModelServing) {
		r := &ms.Spec.Template.Roles[role]
		r.EntryTemplate.Spec.Containers[0].Image = image
		if r.WorkerTemplate != nil {
			r.WorkerTemplate.Spec.Containers[0].Image = image
		}
	})
}

func (m *moment) pod(name string) *gangwaytesting.PodWrapper {
	m.t.Helper()
	for i, p := range m.Pods {
		if p.Name == name {
			w := &gangwaytesting.PodWrapper{Pod: *p.DeepCopy()}
			m.Pods[i] = &w.Pod
			return w
		}
	}
	m.t.Fatalf("no Pod %q", name)
	return nil
}

// gone takes Pods away, as if they had vanished.
func (m *moment) gone(pods ...string) {
	m.Pods = slices.DeleteFunc(slices.Clone(m.Pods), func(p *corev1.Pod) bool { return slices.Contains(pods, p.Name) })
}

// write carries out what a plan says of the status alone: the manager is killed after that.
func (m *moment) write(p plan.Plan) {
	m.ModelServing = m.ModelServing.DeepCopy()
	m.ModelServing.Status = p.Status
	for _, a := range p.Before {
		if a.Verb == action.Create {
			m.Revisions = append(slices.Clone(m.Revisions), a.Object.(*appsv1.ControllerRevision))
		}
	}
}

func (m *moment) compute() plan.Plan { return plan.Compute(m.Snapshot, m.now) }

// writes renders a plan's writes, in order; the stages of a lane are told apart by their number.
func writes(p plan.Plan) []string {
	var out []string
	for _, a := range p.Before {
		out = append(out, fmt.Sprintf("before: %s %T (%s)", a.Verb, a.Object, a.Why))
	}
	for _, lane := range p.Lanes {
		for i, stage := range lane.Stages {
			for _, a := range stage {
				out = append(out, fmt.Sprintf("%s/%d: %s %s %s (%s)", lane.Name, i, a.Verb, kindName(a.Object), a.Object.GetName(), a.Why))
			}
		}
	}
	for _, a := range p.After {
		out = append(out, fmt.Sprintf("after: %s %s %s (%s)", a.Verb, kindName(a.Object), a.Object.GetName(), a.Why))
	}
	return out
}

func kindName(o action.Object) string {
	switch o.(type) {
	case *corev1.Pod:
		return "Pod"
	case *corev1.Service:
		return "Service"
	case *schedulingv1beta1.PodGroup:
		return "PodGroup"
	case *appsv1.ControllerRevision:
		return "ControllerRevision"
	default:
		return fmt.Sprintf("%T", o)
	}
}

func (m *moment) expect(want ...string) plan.Plan {
	m.t.Helper()
	p := m.compute()
	if diff := cmp.Diff(want, writes(p)); diff != "" {
		m.t.Errorf("writes (-want +got):\n%s", diff)
	}
	return p
}

func twoRoles() *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").
		Role(gangwaytesting.MakeRole("a").Workers(1).Obj()).
		Role(gangwaytesting.MakeRole("b").Obj())
}

func oneRole(groups int32) *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").Replicas(groups).Role(gangwaytesting.MakeRole("a").Obj())
}

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

func TestARecoveryOutlivesTheManager(t *testing.T) {
	for _, policy := range []workloadv1alpha1.RecoveryPolicy{workloadv1alpha1.RecoverServingGroup, workloadv1alpha1.RecoverRole} {
		t.Run(string(policy), func(t *testing.T) {
			m := settled(t, gangwaytesting.MakeModelServing("ms").SchedulerName("default-scheduler").RecoveryPolicy(policy).
				Role(gangwaytesting.MakeRole("a").Workers(2).Obj()))
			m.t = t
			m.Nodes = map[string]*corev1.Node{"node-0": {}}
			m.pod("ms-0-a-0-1").Terminating(m.now)
			p := m.expect("ms-0/0: Delete Pod ms-0-a-0-0 (Recovery)", "ms-0/0: Delete Pod ms-0-a-0-2 (Recovery)")
			if !p.StatusFirst || len(p.Status.Recoveries) != 1 || len(p.Status.Removals) != 1 {
				t.Fatalf("StatusFirst %v, recoveries %v, removals %v", p.StatusFirst, p.Status.Recoveries, p.Status.Removals)
			}
			m.write(p)

			// Killed after the first deletion: the next manager finishes, and counts nothing twice.
			m.now = m.now.Add(time.Minute)
			m.pod("ms-0-a-0-0").Terminating(m.now)
			again := m.expect("ms-0/0: Delete Pod ms-0-a-0-2 (FinishRemoval)")
			if diff := cmp.Diff(p.Status.Recoveries, again.Status.Recoveries); diff != "" || len(again.Events) > 0 {
				t.Errorf("recoveries (-before +after):\n%s\nEvents %v", diff, again.Events)
			}

			// The unit is made again when all of it is gone.
			m.pod("ms-0-a-0-2").Terminating(m.now)
			m.gone("ms-0-a-0-0", "ms-0-a-0-1")
			m.expect()
			m.gone("ms-0-a-0-2")
			last := m.expect("ms-0/0: Create Pod ms-0-a-0-0 (Create)", "ms-0/0: Create Pod ms-0-a-0-1 (Create)", "ms-0/0: Create Pod ms-0-a-0-2 (Create)")
			if len(last.Status.Removals) > 0 || !last.StatusFirst {
				t.Errorf("StatusFirst %v, removals %v", last.StatusFirst, last.Status.Removals)
			}
		})
	}
}

func TestAPodThatVanishedIsToldFromOneThatWasNeverMade(t *testing.T) {
	m := settled(t, gangwaytesting.MakeModelServing("ms").SchedulerName("default-scheduler").
		Role(gangwaytesting.MakeRole("a").Workers(1).Obj()))
	m.gone("ms-0-a-0-1")
	p := m.expect("ms-0/0: Delete Pod ms-0-a-0-0 (Recovery)")
	if got := p.Events; len(got) != 1 || got[0].Reason != workloadv1alpha1.EventRoleRecreating {
		t.Errorf("Events %v", got)
	}

	t.Run("never made", func(t *testing.T) {
		m.t = t
		m.ModelServing = m.ModelServing.DeepCopy()
		m.ModelServing.Status.Roles = []workloadv1alpha1.RoleStatus{{Name: "a"}}
		m.expect("ms-0/0: Create Pod ms-0-a-0-1 (Create)")
	})
}

func TestARolloutsOwnDeletionsAreNoFailures(t *testing.T) {
	m := settled(t, oneRole(2))
	m.Nodes = map[string]*corev1.Node{"node-0": {}}
	m.image(0, "registry.example/llm:2")
	p := m.expect(createRevision, "ms-1/0: Delete Pod ms-1-a-0-0 (Rollout)", "ms-1/1: Delete PodGroup ms-1 (Rollout)")
	m.write(p)
	m.pod("ms-1-a-0-0").Terminating(m.now)
	again := m.expect("ms-1/0: Delete PodGroup ms-1 (FinishRemoval)")
	if len(again.Status.Recoveries) > 0 {
		t.Errorf("recoveries %v", again.Status.Recoveries)
	}

	t.Run("when the cache does not show them yet, no second group is taken", func(t *testing.T) {
		stale := settled(t, oneRole(2))
		stale.image(0, "registry.example/llm:2")
		stale.write(stale.compute())
		// The user changes the mind: the last group would be the only outdated one.
		stale.image(0, gangwaytesting.DefaultImage)
		stale.expect("before: Update *v1.ControllerRevision (Revision)",
			"ms-1/0: Delete Pod ms-1-a-0-0 (FinishRemoval)", "ms-1/1: Delete PodGroup ms-1 (FinishRemoval)")
	})
}

func TestAProtectedGroupIsRebuiltAsItWas(t *testing.T) {
	revisionOf := func(p plan.Plan) (hashes []string) {
		for _, lane := range p.Lanes {
			for _, stage := range lane.Stages {
				for _, a := range stage {
					if pod, ok := a.Object.(*corev1.Pod); ok && a.Verb == action.Create {
						hashes = append(hashes, pod.Labels[names.LabelRevision])
					}
				}
			}
		}
		return hashes
	}
	// Groups 0 and 1 have revisions of their own, and the spec a third.
	scene := func(t *testing.T) (m *moment, first, second string) {
		m = settled(t, oneRole(2).Partition("2").RecoveryPolicy(workloadv1alpha1.RecoverServingGroup))
		first = m.Pods[0].Labels[names.LabelRevision]
		m.image(0, "registry.example/llm:2")
		m.write(m.compute())
		second = m.Revisions[1].Labels[names.LabelRevision]
		m.pod("ms-1-a-0-0").Labels[names.LabelRevision] = second
		for i := range m.PodGroups {
			if m.PodGroups[i].Name == "ms-1" {
				m.PodGroups[i] = m.PodGroups[i].DeepCopy()
				m.PodGroups[i].Labels[names.LabelRevision] = second
			}
		}
		m.image(0, "registry.example/llm:3")
		m.write(m.compute())
		m.expect()
		return m, first, second
	}
	t.Run("its PodGroup tells when all of its Pods are gone", func(t *testing.T) {
		m, _, second := scene(t)
		m.ModelServing.Status.Roles = nil
		m.gone("ms-1-a-0-0")
		if diff := cmp.Diff([]string{second}, revisionOf(m.compute())); diff != "" {
			t.Errorf("revision (-want +got):\n%s", diff)
		}
	})
	t.Run("its recovery tells when the PodGroup is gone, too", func(t *testing.T) {
		m, _, second := scene(t)
		m.pod("ms-1-a-0-0").Terminating(m.now)
		m.write(m.compute())
		m.gone("ms-1-a-0-0")
		m.PodGroups = slices.DeleteFunc(slices.Clone(m.PodGroups), func(pg *schedulingv1beta1.PodGroup) bool { return pg.Name == "ms-1" })
		if diff := cmp.Diff([]string{second}, revisionOf(m.compute())); diff != "" {
			t.Errorf("revision (-want +got):\n%s", diff)
		}
	})
	t.Run("the current revision is the last resort", func(t *testing.T) {
		m, first, _ := scene(t)
		m.gone("ms-1-a-0-0")
		m.ModelServing.Status.Roles = nil
		m.PodGroups = slices.DeleteFunc(slices.Clone(m.PodGroups), func(pg *schedulingv1beta1.PodGroup) bool { return pg.Name == "ms-1" })
		if diff := cmp.Diff([]string{first}, revisionOf(m.compute())); diff != "" {
			t.Errorf("revision (-want +got):\n%s", diff)
		}
	})
	t.Run("a role that the spec has no more is part of it", func(t *testing.T) {
		m := settled(t, twoRoles().Partition("1").SchedulerName("default-scheduler"))
		m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles = ms.Spec.Template.Roles[:1] })
		m.write(m.compute())
		m.ModelServing.Status.Roles = nil
		m.gone("ms-0-b-0-0")
		m.expect("ms-0/0: Create Pod ms-0-b-0-0 (Create)")
	})
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

func roleHashOf(t *testing.T, rev *appsv1.ControllerRevision, role string) string {
	t.Helper()
	template, err := revision.Decode(rev)
	if err != nil {
		t.Fatal(err)
	}
	return template.RoleHashes[role]
}
