package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// relabeled are the labels that a plan's updates of Pods give back, beside what was there.
func relabeled(m *moment, p plan.Plan) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, lane := range p.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				pod, ok := a.Object.(*corev1.Pod)
				if !ok || a.Verb != action.Update {
					continue
				}
				changed := map[string]string{}
				was := m.pod(pod.Name)
				for k, v := range pod.Labels {
					if was.Labels[k] != v {
						changed[k] = v
					}
				}
				for k := range was.Labels {
					if _, is := pod.Labels[k]; !is {
						changed[k] = "gone"
					}
				}
				out[pod.Name] = changed
			}
		}
	}
	return out
}

func TestLabelsThatWereEditedAreSetBack(t *testing.T) {
	type labels = map[string]string
	type pods = map[string]labels
	plain := func() *gangwaytesting.ModelServingWrapper { return twoRoles().SchedulerName("default-scheduler") }
	edit := func(m *moment, pod string, l labels) {
		w := m.pod(pod)
		for k, v := range l {
			if w.Labels[k] = v; v == "" {
				delete(w.Labels, k)
			}
		}
	}
	// second rolls an image of role a out, as far as the revision.
	second := func(m *moment) string {
		m.image(0, "registry.example/llm:2")
		m.write(m.compute())
		m.ModelServing.Status.Removals = nil
		return m.Revisions[1].Labels[names.LabelRevision]
	}
	for name, tc := range map[string]struct {
		ms   *gangwaytesting.ModelServingWrapper
		edit func(*moment)
		// want are the labels that come back; REVISION is the first revision, HASH what it makes of role a.
		want pods
	}{
		"all that follows from the name": {
			ms: plain(),
			edit: func(m *moment) {
				edit(m, "ms-0-a-0-0", labels{names.LabelModelServing: "other", names.LabelGroup: "ms-1", names.LabelRole: "", names.LabelRoleID: "a-7", names.LabelEntry: ""})
				edit(m, "ms-0-a-0-1", labels{names.LabelEntry: "true"})
			},
			want: pods{
				"ms-0-a-0-0": {names.LabelModelServing: "ms", names.LabelGroup: "ms-0", names.LabelRole: "a", names.LabelRoleID: "a-0", names.LabelEntry: "true"},
				"ms-0-a-0-1": {names.LabelEntry: "gone"},
			},
		},
		"labels of others are no business of ours": {
			ms:   plain(),
			edit: func(m *moment) { edit(m, "ms-0-a-0-0", labels{"theirs.example/team": "x"}) },
			want: pods{},
		},
		"a Pod that goes is left as it is": {
			ms: plain().RecoveryPolicy(workloadv1alpha1.RecoverNone),
			edit: func(m *moment) {
				m.Nodes = map[string]*corev1.Node{"node-0": {}}
				edit(m, "ms-0-a-0-0", labels{names.LabelRole: "b"})
				m.pod("ms-0-a-0-0").Terminating(m.now)
			},
			want: pods{},
		},
		"and so is one that this pass deletes": {
			ms: plain(),
			edit: func(m *moment) {
				edit(m, "ms-0-a-0-0", labels{names.LabelRole: "b"})
				m.pod("ms-0-a-0-1").Failed(m.now, "Evicted", "")
			},
			want: pods{},
		},
		"the revision, which the rest of the group tells": {
			ms:   plain(),
			edit: func(m *moment) { edit(m, "ms-0-a-0-0", labels{names.LabelRevision: "wrong"}) },
			want: pods{"ms-0-a-0-0": {names.LabelRevision: "REVISION"}},
		},
		"the role's hash, which the revision tells": {
			ms:   plain(),
			edit: func(m *moment) { edit(m, "ms-0-a-0-0", labels{names.LabelRoleTemplateHash: ""}) },
			want: pods{"ms-0-a-0-0": {names.LabelRoleTemplateHash: "HASH"}},
		},
		"the revision of the only Pod, which its PodGroup tells": {
			ms:   oneRole(1),
			edit: func(m *moment) { edit(m, "ms-0-a-0-0", labels{names.LabelRevision: ""}) },
			want: pods{"ms-0-a-0-0": {names.LabelRevision: "REVISION"}},
		},
		"without a PodGroup, its content tells": {
			ms:   oneRole(1).SchedulerName("default-scheduler"),
			edit: func(m *moment) { edit(m, "ms-0-a-0-0", labels{names.LabelRevision: "wrong"}) },
			want: pods{"ms-0-a-0-0": {names.LabelRevision: "REVISION"}},
		},
		"an old revision that was given the name of the new one is still the old one": {
			ms: oneRole(1).Partition("1").SchedulerName("default-scheduler"),
			edit: func(m *moment) {
				edit(m, "ms-0-a-0-0", labels{names.LabelRevision: second(m)})
			},
			want: pods{"ms-0-a-0-0": {names.LabelRevision: "REVISION"}},
		},
		"a revision that has other roles, too, is not taken for that of the group": {
			ms: plain().Partition("1"),
			edit: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) {
					ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, gangwaytesting.MakeRole("c").Obj())
				})
				m.write(m.compute())
				// The revision of the group is gone; the new one makes the same Pods of its roles.
				m.Revisions = m.Revisions[1:]
			},
			want: pods{},
		},
		"of a Pod of which both labels are wrong nobody knows what it is": {
			ms: plain(),
			edit: func(m *moment) {
				edit(m, "ms-0-b-0-0", labels{names.LabelRevision: "wrong", names.LabelRoleTemplateHash: "wrong", names.LabelRoleID: "wrong"})
				m.ModelServing.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Paused: true}
			},
			want: pods{"ms-0-b-0-0": {names.LabelRoleID: "b-0"}},
		},
		"under RoleRollingUpdate, the role's hash is believed": {
			ms: plain().Rollout(workloadv1alpha1.RoleRollingUpdate),
			edit: func(m *moment) {
				update := second(m)
				m.ModelServing.Spec.RolloutStrategy.Paused = true
				for _, pod := range []string{"ms-0-a-0-0", "ms-0-a-0-1"} {
					edit(m, pod, labels{names.LabelRevision: update})
				}
			},
			want: pods{"ms-0-a-0-0": {names.LabelRevision: "REVISION"}, "ms-0-a-0-1": {names.LabelRevision: "REVISION"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := settled(t, tc.ms)
			m.t = t
			first := m.Revisions[0]
			tc.edit(m)
			p := m.compute()
			for _, want := range tc.want {
				for k, v := range want {
					switch v {
					case "REVISION":
						want[k] = first.Labels[names.LabelRevision]
					case "HASH":
						want[k] = roleHashOf(t, first, "a")
					}
				}
			}
			if diff := cmp.Diff(tc.want, relabeled(m, p)); diff != "" {
				t.Errorf("labels that come back (-want +got):\n%s", diff)
			}
		})
	}
}

// A rollout must not believe that a group is outdated because somebody edited a label.
func TestALabelThatWasEditedRestartsNobody(t *testing.T) {
	for _, key := range names.ReservedLabels() {
		for _, value := range []string{"", "wrong"} {
			m := settled(t, oneRole(2))
			for _, pod := range []string{"ms-0-a-0-0", "ms-1-a-0-0"} {
				if m.pod(pod).Labels[key] = value; value == "" {
					delete(m.pod(pod).Labels, key)
				}
			}
			before := m.ModelServing.Status
			p := m.expect("ms-0/0: Update Pod ms-0-a-0-0 (Drift)", "ms-1/0: Update Pod ms-1-a-0-0 (Drift)")
			if diff := cmp.Diff(before, p.Status); diff != "" {
				t.Errorf("label %s %q: status (-before +after):\n%s", key, value, diff)
			}
		}
	}
}

// The writer's optimistic lock holds by the resourceVersion, and a copy leaves the cache alone.
func TestALabelIsSetBackInACopyOfWhatWasSeen(t *testing.T) {
	m := settled(t, oneRole(1))
	seen := m.pod("ms-0-a-0-0")
	seen.ResourceVersion = "7"
	seen.Labels[names.LabelRole] = "wrong"
	want := seen.DeepCopy()
	want.Labels[names.LabelRole] = "a"
	p := m.compute()
	got := p.Lanes[0].Stages[0][0].Object.(*corev1.Pod)
	if diff := cmp.Diff(want, got); diff != "" || seen.Labels[names.LabelRole] != "wrong" {
		t.Errorf("the Pod that is written (-want +got):\n%s", diff)
	}
}

// The hash of a revision is on its Pods, so that another one would replace them all.
func TestARevisionThatIsNotSeenRestartsNobody(t *testing.T) {
	seen := func(m *moment) *appsv1.ControllerRevision { return m.Revisions[0] }
	t.Run("it lost its label or its owner, or was deleted", func(t *testing.T) {
		m := settled(t, oneRole(2))
		rev := seen(m)
		m.Revisions = nil
		p := m.expect(createRevision)
		a := p.Before[0]
		if a.Object.GetName() != rev.Name || !a.Optional || p.Status.CollisionCount != nil {
			t.Errorf("creates %s, optional %v, collisionCount %v; want %s", a.Object.GetName(), a.Optional, p.Status.CollisionCount, rev.Name)
		}
		fault := action.Fault{Action: a, Kind: action.NameConflict, Message: "is not ours"}
		st, events := p.Settle(m.Snapshot, []action.Fault{fault}, m.now)
		c := meta.FindStatusCondition(st.Conditions, workloadv1alpha1.ConditionReady)
		if st.CollisionCount != nil || c.Reason != workloadv1alpha1.ReasonNameConflict || len(events) != 1 {
			t.Errorf("collisionCount %v, Ready %+v, Events %v", st.CollisionCount, c, events)
		}
		fault.Kind = action.HashCollision
		if st, _ := p.Settle(m.Snapshot, []action.Fault{fault}, m.now); ptr.Deref(st.CollisionCount, 0) != 1 {
			t.Errorf("collisionCount %v after a collision with one of ours, want 1", st.CollisionCount)
		}
	})
	t.Run("it is being deleted", func(t *testing.T) {
		m := settled(t, oneRole(2))
		rev := seen(m).DeepCopy()
		rev.DeletionTimestamp = ptr.To(metav1.NewTime(m.now))
		m.Revisions = []*appsv1.ControllerRevision{rev}
		m.expect()
	})
	t.Run("before there are Pods of it, the name may be left to others", func(t *testing.T) {
		m := settled(t, oneRole(2))
		m.image(0, "registry.example/llm:2")
		p := m.compute()
		if p.Before[0].Optional {
			t.Fatal("groups are taken down for a revision that nothing keeps")
		}
		st, events := p.Settle(m.Snapshot, []action.Fault{{Action: p.Before[0], Kind: action.NameConflict}}, m.now)
		told := func(e action.Event) bool { return e.Reason == workloadv1alpha1.ReasonNameConflict }
		if ptr.Deref(st.CollisionCount, 0) != 1 || slices.ContainsFunc(events, told) {
			t.Errorf("collisionCount %v, Events %v", st.CollisionCount, events)
		}
	})
	t.Run("its number of role replicas was damaged by hand", func(t *testing.T) {
		m := settled(t, oneRole(2).Partition("2"))
		m.image(0, "registry.example/llm:2")
		m.write(m.compute())
		rev := seen(m).DeepCopy()
		rev.Annotations = map[string]string{"gangway.dev/role-replicas": "many"}
		m.Revisions[0] = rev
		m.gone("ms-0-a-0-0")
		m.ModelServing.Status.Roles = nil
		p := m.expect("ms-0/0: Create Pod ms-0-a-0-0 (Create)")
		if got := p.Lanes[0].Stages[0][0].Object.GetLabels()[names.LabelRevision]; got != rev.Labels[names.LabelRevision] {
			t.Errorf("of revision %s, want %s", got, rev.Labels[names.LabelRevision])
		}
	})
}

// A PodGroup whose revision was edited tells nothing: the Pods do.
func TestAPodGroupsRevisionIsSetBackToThatOfItsPods(t *testing.T) {
	m := settled(t, oneRole(1).Partition("1"))
	m.image(0, "registry.example/llm:2")
	m.write(m.compute())
	pg := m.PodGroups[0].DeepCopy()
	pg.Labels[names.LabelRevision] = m.Revisions[1].Labels[names.LabelRevision]
	m.PodGroups = []*schedulingv1beta1.PodGroup{pg}
	p := m.expect("ms-0/0: Update PodGroup ms-0 (Drift)")
	i := slices.IndexFunc(p.Lanes, func(l action.Lane) bool { return l.Name == "ms-0" })
	if got, want := p.Lanes[i].Stages[0][0].Object.GetLabels()[names.LabelRevision], m.Revisions[0].Labels[names.LabelRevision]; got != want {
		t.Errorf("revision %s, want %s", got, want)
	}
}
