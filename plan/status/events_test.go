package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

func TestGangSchedulingReady(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*scene)
		input  func(*Input)
		reason string
		event  bool
	}{
		"scheduled": {reason: "GangScheduled"},
		"another scheduler": {
			change: func(s *scene) { s.ms.Spec.SchedulerName = "default-scheduler" },
			reason: "SchedulerHasNoGangs",
		},
		"no Volcano": {
			input:  func(in *Input) { in.GangInstalled = false },
			reason: "VolcanoNotInstalled",
		},
		"the scheduler has not spoken": {
			change: func(s *scene) {
				s.pending("ms-0-prefill-0-1").CreationTimestamp = metav1.NewTime(now.Add(-29 * time.Second))
			},
			reason: "GroupsCreating",
		},
		"the scheduler has said nothing for long": {
			change: func(s *scene) { s.pending("ms-0-prefill-0-1") },
			reason: "GangPending", event: true,
		},
		"the scheduler says no": {
			change: func(s *scene) { s.pending("ms-0-prefill-0-1").Unschedulable(t0, "0/1 nodes are available") },
			reason: "GangPending", event: true,
		},
		"the scheduler says no to a part of a gang that is being made": {
			change: func(s *scene) {
				s.pending("ms-0-prefill-0-1").Unschedulable(t0, "pod group is not ready").CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Second))
			},
			reason: "GroupsCreating",
		},
		"the scheduler says no to a gang that lacks a Pod": {
			change: func(s *scene) {
				s.pending("ms-0-prefill-0-1").Unschedulable(t0, "pod group is not ready")
				delete(s.pods, "ms-0-prefill-0-0")
			},
			reason: "GroupsCreating",
		},
		"the scheduler said no before": {
			change: func(s *scene) {
				s.pending("ms-0-prefill-0-1").Unschedulable(t0, "0/2 nodes are available")
				s.ms.Status.Conditions = []metav1.Condition{{Type: "GangSchedulingReady", Status: "False", Reason: "GangPending"}}
			},
			reason: "GangPending",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if tc.change != nil {
				tc.change(s)
			}
			in := s.input()
			if tc.input != nil {
				tc.input(&in)
			}
			out := Report(in)
			if got := lineOf(out.Status, workloadv1alpha1.ConditionGangSchedulingReady).Reason; got != tc.reason {
				t.Errorf("reason %q, want %q", got, tc.reason)
			}
			told := false
			for _, e := range out.Events {
				told = told || e.Reason == "GangPending"
			}
			if told != tc.event {
				t.Errorf("Event GangPending: %v, want %v", told, tc.event)
			}
		})
	}
}

func TestRolloutIsToldOf(t *testing.T) {
	rolling := metav1.Condition{Type: "UpdateInProgress", Status: "True", Reason: "RollingUpdate", LastTransitionTime: metav1.NewTime(t0)}
	wait := func(in *Input) {
		in.Groups[0].Outdated, in.Groups[0].Waiting, in.Groups[0].Updated = true, true, false
	}
	type told struct {
		Reason string
		Events []string
		Next   time.Time
	}
	for name, tc := range map[string]struct {
		change func(*scene)
		input  func(*Input)
		want   told
	}{
		"it starts": {
			input: wait,
			want:  told{"RollingUpdate", []string{"RolloutStarted"}, now.Add(30 * time.Minute)},
		},
		"it goes on": {
			change: func(s *scene) {
				s.ms.Status.Conditions = []metav1.Condition{rolling}
				s.ms.Status.UpdateRevision = s.revisions.Update.Name
				s.pods["ms-1-prefill-0-0"].CreationTimestamp = metav1.NewTime(now.Add(-10 * time.Minute))
			},
			input: wait,
			want:  told{"RollingUpdate", nil, now.Add(20 * time.Minute)},
		},
		"it is turned to another revision": {
			change: func(s *scene) {
				s.ms.Status.Conditions = []metav1.Condition{rolling}
				s.ms.Status.UpdateRevision = "ms-other"
			},
			input: wait,
			want:  told{"RollingUpdate", []string{"RolloutStarted"}, now.Add(30 * time.Minute)},
		},
		"it stands still for longer than the deadline": {
			change: func(s *scene) {
				s.ms.Status.Conditions = []metav1.Condition{rolling}
				s.ms.Status.UpdateRevision = s.revisions.Update.Name
			},
			input: wait,
			want:  told{"RolloutStalled", []string{"RolloutStalled"}, time.Time{}},
		},
		"paused it does not stand still": {
			change: func(s *scene) {
				s.ms.Status.Conditions = []metav1.Condition{rolling}
				s.ms.Status.UpdateRevision = s.revisions.Update.Name
			},
			input: func(in *Input) { wait(in); in.Paused = true },
			want:  told{"RolloutPaused", nil, time.Time{}},
		},
		"the last group is not available yet": {
			change: func(s *scene) {
				s.ms.Status.Conditions = []metav1.Condition{rolling}
				s.ms.Status.UpdateRevision = s.revisions.Update.Name
				s.starting("ms-0-prefill-0-0").CreationTimestamp = metav1.NewTime(now)
			},
			want: told{"RollingUpdate", nil, now.Add(30 * time.Minute)},
		},
		"it is done": {
			change: func(s *scene) {
				s.ms.Status.Conditions = []metav1.Condition{rolling}
				s.ms.Status.UpdateRevision = s.revisions.Update.Name
			},
			want: told{"UpToDate", []string{"RolloutCompleted"}, time.Time{}},
		},
		"a group that blips when no rollout is on starts none": {
			change: func(s *scene) { s.pods["ms-0-prefill-0-0"].NotReady(now) },
			want:   told{"UpToDate", nil, time.Time{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.ms.Status.Roles = []workloadv1alpha1.RoleStatus{{Name: "prefill", ReadyReplicas: 2}}
			if tc.change != nil {
				tc.change(s)
			}
			in := s.input()
			if tc.input != nil {
				tc.input(&in)
			}
			out := Report(in)
			got := told{Reason: lineOf(out.Status, workloadv1alpha1.ConditionUpdateInProgress).Reason, Next: out.Next}
			for _, e := range out.Events {
				got.Events = append(got.Events, e.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
