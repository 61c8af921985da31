package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/gang"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/state"
)

var (
	t0      = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now     = t0.Add(time.Hour)
	volcano = state.GangSupport{PodGroups: true, SubGroups: true}
)

// scene is a ModelServing of 2 groups, each with one prefill replica of an entry and a worker.
type scene struct {
	ms        *workloadv1alpha1.ModelServing
	revisions *state.Revisions
	pods      map[string]*gangwaytesting.PodWrapper
	podGroups []*schedulingv1beta1.PodGroup
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ms := gangwaytesting.MakeModelServing("ms").Replicas(2).Generation(3).
		Role(gangwaytesting.MakeRole("prefill").Workers(1).Obj()).Obj()
	update, _, _, err := revision.Resolve(ms, nil)
	if err != nil {
		t.Fatal(err)
	}
	revisions, err := state.NewRevisions(ms.Name, nil, update)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{ms: ms, revisions: revisions, pods: map[string]*gangwaytesting.PodWrapper{}}
	for g := range 2 {
		s.podGroups = append(s.podGroups, gang.Desired(ms, revisions.Update.Template, g, volcano))
		for n := range 2 {
			id := children.PodID{Group: g, Role: "prefill", Index: n}
			pod := children.Pod(ms, revisions.Update.Template, revisions.Update.Hash, id)
			s.pods[pod.Name] = gangwaytesting.WrapPod(pod, t0).Ready(t0.Add(time.Minute))
		}
	}
	return s
}

// pending takes a Pod back to before it was scheduled.
func (s *scene) pending(name string) *gangwaytesting.PodWrapper {
	w := gangwaytesting.WrapPod(s.pods[name].Obj(), t0)
	w.Spec.NodeName = ""
	w.Status = corev1.PodStatus{Phase: corev1.PodPending}
	s.pods[name] = w
	return w
}

// starting takes a Pod back to before it was Ready.
func (s *scene) starting(name string) *gangwaytesting.PodWrapper {
	w := s.pending(name).Starting(t0)
	s.pods[name] = w
	return w
}

// input is what the planner says when it keeps all groups.
func (s *scene) input(change ...func(*Input)) Input {
	snapshot := state.Snapshot{ModelServing: s.ms, PodGroups: s.podGroups, Gang: volcano}
	for _, w := range s.pods {
		snapshot.Pods = append(snapshot.Pods, w.Obj())
	}
	in := Input{
		ModelServing: s.ms, Now: now, Update: s.revisions.Update, CurrentRevision: s.revisions.Update.Name,
		Replicas: 2, ProgressDeadline: 30 * time.Minute, GangInstalled: true,
	}
	for _, g := range state.Observe(snapshot, s.revisions).Groups {
		available := true
		for _, r := range g.Replicas {
			available = available && r.Available
		}
		in.Groups = append(in.Groups, Group{
			Group: g, Kept: true, Own: s.revisions.Update.Name, Updated: true, Available: available, Wanted: 1,
			Doomed: func(*state.Replica) bool { return false },
		})
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

// line is what a person reads of a condition.
type line struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

func lineOf(st workloadv1alpha1.ModelServingStatus, conditionType string) line {
	c := meta.FindStatusCondition(st.Conditions, conditionType)
	if c == nil {
		return line{}
	}
	return line{c.Status, c.Reason, c.Message}
}

func TestTheWholeStatus(t *testing.T) {
	s := newScene(t)
	s.starting("ms-1-prefill-0-1")
	update := s.revisions.Update.Name
	got := Report(s.input())
	condition := func(t string, s metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: t, Status: s, ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: message}
	}
	const wrong = `Pod "ms-1-prefill-0-1": its containers are not Ready yet`
	want := Output{Status: workloadv1alpha1.ModelServingStatus{
		ObservedGeneration: 3, Replicas: 2, CurrentReplicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1,
		CurrentRevision: update, UpdateRevision: update,
		LabelSelector: "modelserving.volcano.sh/entry=true,modelserving.volcano.sh/name=ms,modelserving.volcano.sh/role-id=prefill-0",
		Roles:         []workloadv1alpha1.RoleStatus{{Name: "prefill", Replicas: 2, ReadyReplicas: 1, UpdatedReplicas: 2}},
		Conditions: []metav1.Condition{
			condition("UpdateInProgress", "False", "UpToDate", "no ServingGroup waits for revision "+update),
			condition("Available", "False", "PodsNotReady", "1 of 2 ServingGroups are available: "+wrong),
			condition("Progressing", "True", "PodsNotReady", wrong),
			condition("GangSchedulingReady", "True", "GangScheduled", "the gangs of all ServingGroups are scheduled"),
			condition("Ready", "False", "PodsNotReady", wrong),
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Report (-want +got):\n%s", diff)
	}

	t.Run("an hour later nothing has moved", func(t *testing.T) {
		s.ms.Status = got.Status
		again := Report(s.input(func(in *Input) { in.Now = now.Add(time.Hour) }))
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("Report (-before +after):\n%s", diff)
		}
	})
	t.Run("only what changes its status gets a new time", func(t *testing.T) {
		s.pods["ms-1-prefill-0-1"].Ready(now)
		later := now.Add(time.Hour)
		out := Report(s.input(func(in *Input) { in.Now = later }))
		moved := map[string]bool{}
		for _, c := range out.Status.Conditions {
			moved[c.Type] = c.LastTransitionTime.Time.Equal(later)
		}
		want := map[string]bool{"UpdateInProgress": false, "Available": true, "Progressing": true, "GangSchedulingReady": false, "Ready": true}
		if diff := cmp.Diff(want, moved); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		events := []action.Event{{Type: "Normal", Reason: "RoleRunning", Message: "all 2 replicas of role prefill are Ready", Field: "spec.template.roles{prefill}"}}
		if diff := cmp.Diff(events, out.Events); diff != "" {
			t.Errorf("Events (-want +got):\n%s", diff)
		}
	})
}

func TestOnlyWholeRoleReplicasAreCounted(t *testing.T) {
	s := newScene(t)
	delete(s.pods, "ms-1-prefill-0-1")
	out := Report(s.input(func(in *Input) {
		in.Groups[0].Doomed = func(*state.Replica) bool { return true }
	}))
	want := []workloadv1alpha1.RoleStatus{{Name: "prefill"}}
	if diff := cmp.Diff(want, out.Status.Roles); diff != "" {
		t.Errorf("roles, of which one lacks a Pod and one is deleted (-want +got):\n%s", diff)
	}
}

func TestWholeSince(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(t0.Add(time.Duration(minute) * time.Minute)) }
	conditions := func(available string, since int, update string, sinceUpdate int) []metav1.Condition {
		return []metav1.Condition{
			{Type: "Available", Status: metav1.ConditionStatus(available), LastTransitionTime: at(since)},
			{Type: "UpdateInProgress", Status: metav1.ConditionStatus(update), LastTransitionTime: at(sinceUpdate)},
		}
	}
	for name, tc := range map[string]struct {
		status workloadv1alpha1.ModelServingStatus
		want   time.Time
	}{
		"all are available":                     {workloadv1alpha1.ModelServingStatus{Conditions: conditions("True", 5, "False", 1)}, at(5).Time},
		"a rollout has ended since":             {workloadv1alpha1.ModelServingStatus{Conditions: conditions("True", 5, "False", 7)}, at(7).Time},
		"a group is not available":              {workloadv1alpha1.ModelServingStatus{Conditions: conditions("False", 5, "False", 1)}, time.Time{}},
		"a rollout is on":                       {workloadv1alpha1.ModelServingStatus{Conditions: conditions("True", 5, "True", 1)}, time.Time{}},
		"there are more groups than are wanted": {workloadv1alpha1.ModelServingStatus{Conditions: conditions("True", 5, "False", 1), SurgeReplicas: 1}, time.Time{}},
		"nothing was ever written":              {workloadv1alpha1.ModelServingStatus{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WholeSince(&tc.status); !got.Equal(tc.want) {
				t.Errorf("WholeSince is %s, want %s", got, tc.want)
			}
		})
	}
}
