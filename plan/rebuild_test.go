package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

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
		pod := m.pod("ms-1-a-0-0")
		pod.Labels[names.LabelRevision] = second
		pod.Labels[names.LabelRoleTemplateHash] = roleHashOf(t, m.Revisions[1], "a")
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

func TestAProtectedGroupWhoseRevisionIsGoneIsLeftAsItIs(t *testing.T) {
	m := settled(t, oneRole(1).Partition("1").SchedulerName("default-scheduler"))
	m.image(0, "registry.example/llm:2")
	m.write(m.compute())
	old := m.Revisions[0].Name
	m.Revisions = m.Revisions[1:]
	m.expect()
	m.pod("ms-0-a-0-0").NotReady(m.now)
	p := m.expect()
	want := `ServingGroup "ms-0": its ControllerRevision ` + old + ` is gone or damaged, so it cannot be completed; let the rollout replace it (partition, paused)`
	c := meta.FindStatusCondition(p.Status.Conditions, workloadv1alpha1.ConditionReady)
	if c == nil || c.Message != want {
		t.Errorf("Ready is %+v, want the message %q", c, want)
	}
}

// How many role replicas a group is to have is no part of its revision, and how many Pods a role
// replica has its own Pods know.
func TestAGroupWhoseRevisionIsGoneIsAvailableOnlyWhenWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		gone []string
		want int32
	}{
		"all is there":                             {nil, 2},
		"a role replica is gone":                   {[]string{"ms-0-a-1-0", "ms-0-a-1-1"}, 1},
		"all of a role is gone":                    {[]string{"ms-0-b-0-0"}, 1},
		"a worker is gone":                         {[]string{"ms-0-a-0-1"}, 1},
		"a role that the spec has no more is gone": {[]string{"ms-0-c-0-0"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := settled(t, gangwaytesting.MakeModelServing("ms").Replicas(2).Partition("1").SchedulerName("default-scheduler").
				Role(gangwaytesting.MakeRole("a").Replicas(2).Workers(1).Obj()).
				Role(gangwaytesting.MakeRole("b").Obj()).
				Role(gangwaytesting.MakeRole("c").Obj()))
			m.image(0, "registry.example/llm:2")
			m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles = ms.Spec.Template.Roles[:2] })
			m.write(m.compute())
			old, update := m.Revisions[0], m.Revisions[1].Labels[names.LabelRevision]
			m.gone("ms-1-c-0-0")
			for i, p := range m.Pods {
				if p.Labels[names.LabelGroup] == "ms-1" {
					p = p.DeepCopy()
					p.Labels[names.LabelRevision] = update
					p.Labels[names.LabelRoleTemplateHash] = roleHashOf(t, m.Revisions[1], p.Labels[names.LabelRole])
					m.Pods[i] = p
				}
			}
			m.ModelServing.Status.Removals = nil
			m.Revisions = m.Revisions[1:]
			m.gone(tc.gone...)
			p := m.compute()
			if p.Status.AvailableReplicas != tc.want {
				t.Errorf("%d groups are available without revision %s, want %d", p.Status.AvailableReplicas, old.Name, tc.want)
			}
		})
	}
}
