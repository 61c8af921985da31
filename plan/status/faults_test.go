package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
)

func TestAFaultThatTurnsAConditionBackMovesNoTime(t *testing.T) {
	s := newScene(t)
	s.ms.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "CreateFailed", LastTransitionTime: metav1.NewTime(t0)}}
	planned := Report(s.input()).Status
	if got := lineOf(planned, "Ready").Status; got != metav1.ConditionTrue {
		t.Fatalf("planned Ready is %s", got)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ms-2-prefill-0-0"}}
	faults := []action.Fault{{Action: action.Action{Verb: action.Create, Object: pod}, Kind: action.QuotaExceeded, Message: "exceeded quota"}}
	st, events := Settle(s.ms, planned, faults, route.Output{}, now)
	want := metav1.Condition{Type: "Ready", Status: "False", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(t0), Reason: "CreateFailed", Message: "exceeded quota"}
	if diff := cmp.Diff(want, *meta.FindStatusCondition(st.Conditions, "Ready")); diff != "" {
		t.Errorf("Ready (-want +got):\n%s", diff)
	}
	if len(events) > 0 {
		t.Errorf("Events %v", events)
	}
}

func TestSettle(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ms-0-prefill-0-0"}}
	fault := func(verb action.Verb, o action.Object, kind action.FaultKind, message string) action.Fault {
		return action.Fault{Action: action.Action{Verb: verb, Object: o}, Kind: kind, Message: message}
	}
	quota := fault(action.Create, pod, action.QuotaExceeded, "exceeded quota: gpus")
	type answer struct {
		Ready      line
		Events     []string
		Collisions int32
	}
	well := line{"False", "GroupsCreating", "planned"}
	for name, tc := range map[string]struct {
		faults []action.Fault
		before string
		want   answer
	}{
		"no faults": {want: answer{Ready: well}},
		"a quota": {
			faults: []action.Fault{quota},
			want:   answer{line{"False", "CreateFailed", "exceeded quota: gpus"}, []string{"CreateFailed"}, 0},
		},
		"the same quota again is no news": {
			faults: []action.Fault{quota}, before: "CreateFailed",
			want: answer{Ready: line{"False", "CreateFailed", "exceeded quota: gpus"}},
		},
		"several are counted": {
			faults: []action.Fault{quota, quota, quota},
			want:   answer{line{"False", "CreateFailed", "exceeded quota: gpus (and 2 more)"}, []string{"CreateFailed"}, 0},
		},
		"a taken name goes before a quota": {
			faults: []action.Fault{quota, fault(action.Create, pod, action.NameConflict, "is not ours")},
			want:   answer{line{"False", "NameConflict", "is not ours"}, []string{"NameConflict"}, 0},
		},
		"a webhook that is down is told of": {
			faults: []action.Fault{fault(action.Create, pod, action.Transient, "failed calling webhook")},
			want:   answer{line{"False", "CreateFailed", "failed calling webhook"}, []string{"CreateFailed"}, 0},
		},
		"a conflict is tried again without a word": {
			faults: []action.Fault{fault(action.Update, &schedulingv1beta1.PodGroup{}, action.Transient, "the object has been modified")},
			want:   answer{Ready: well},
		},
		"a hash collision makes another hash": {
			faults: []action.Fault{fault(action.Create, &appsv1.ControllerRevision{}, action.HashCollision, "is ours, with other content")},
			want:   answer{Ready: well, Collisions: 1},
		},
		"so does a revision's name that is taken before there are Pods of it": {
			faults: []action.Fault{fault(action.Create, &appsv1.ControllerRevision{}, action.NameConflict, "is not ours")},
			want:   answer{Ready: well, Collisions: 1},
		},
		"once there are Pods of it, it is a taken name like others": {
			faults: []action.Fault{{Action: action.Action{Verb: action.Create, Object: &appsv1.ControllerRevision{}, Optional: true}, Kind: action.NameConflict, Message: "is not ours"}},
			want:   answer{line{"False", "NameConflict", "is not ours"}, []string{"NameConflict"}, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.ms.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: tc.before, LastTransitionTime: metav1.NewTime(t0)}}
			planned := *s.ms.Status.DeepCopy()
			set(&planned, 3, now, condition("Ready", false, "GroupsCreating", "planned"))
			st, events := Settle(s.ms, planned, tc.faults, route.Output{}, now)
			got := answer{Ready: lineOf(st, "Ready"), Collisions: ptr.Deref(st.CollisionCount, 0)}
			for _, e := range events {
				got.Events = append(got.Events, e.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Settle (-want +got):\n%s", diff)
			}
			if at := meta.FindStatusCondition(st.Conditions, "Ready").LastTransitionTime; !at.Time.Equal(t0) {
				t.Errorf("Ready stayed False, but its time moved to %s", at)
			}
		})
	}
}
