package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/state"
)

func TestWritesThatASnapshotShows(t *testing.T) {
	there := func(uid types.UID, version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: uid, ResourceVersion: version}}
	}
	going := there("1", "50")
	going.DeletionTimestamp, going.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(0, 0)}, ptr.To[int64](30)
	ended := there("1", "50")
	ended.DeletionTimestamp, ended.DeletionGracePeriodSeconds = going.DeletionTimestamp, ptr.To[int64](0)
	for name, c := range map[string]struct {
		verb action.Verb
		kind string
		pod  *corev1.Pod
		want bool
	}{
		"a Pod that was made is not there yet":                 {verb: action.Create},
		"a Pod that was made is there":                         {verb: action.Create, pod: there("1", "100"), want: true},
		"a Pod that was made has changed since":                {verb: action.Create, pod: there("1", "1000"), want: true},
		"of a Pod that was made its predecessor is shown":      {verb: action.Create, pod: there("0", "99")},
		"a Pod that was made was replaced since":               {verb: action.Create, pod: there("2", "101"), want: true},
		"a Pod that was changed is shown as it was":            {verb: action.Update, pod: there("1", "99")},
		"a Pod that was changed is shown so":                   {verb: action.Update, pod: there("1", "100"), want: true},
		"a Pod that was changed is gone":                       {verb: action.Update, want: true},
		"a Pod that was changed was replaced":                  {verb: action.Update, pod: there("2", "99"), want: true},
		"a Pod that was deleted is shown alive":                {verb: action.Delete, pod: there("1", "50")},
		"a Pod that was deleted is shown terminating":          {verb: action.Delete, pod: going, want: true},
		"a Pod that was deleted is gone":                       {verb: action.Delete, want: true},
		"a Pod that was deleted was replaced":                  {verb: action.Delete, pod: there("2", "50"), want: true},
		"a Pod that was force deleted is shown terminating":    {verb: action.ForceDelete, pod: going},
		"a Pod that was force deleted is held by a finalizer":  {verb: action.ForceDelete, pod: ended, want: true},
		"a Pod that was force deleted is gone":                 {verb: action.ForceDelete, want: true},
		"what is no part of a snapshot is never waited for":    {verb: action.Create, kind: "HTTPRoute", want: true},
		"a Service is not shown by a Pod that has its name":    {verb: action.Create, kind: kindService, pod: there("1", "100")},
		"a version that is no number is not known to be older": {verb: action.Create, pod: there("1", "x"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindPod
			if c.kind != "" {
				kind = c.kind
			}
			ms := &workloadv1alpha1.ModelServing{ObjectMeta: metav1.ObjectMeta{Name: "ms", UID: "ms"}}
			own := newOwnWrites()
			own.note(ms, []apply.Written{{
				GroupVersionKind: schema.GroupVersionKind{Kind: kind}, Verb: c.verb, Name: "pod", UID: "1", ResourceVersion: "100",
			}})
			s := state.Snapshot{ModelServing: ms}
			if c.pod != nil {
				s.Pods = []*corev1.Pod{c.pod}
			}
			for range 2 { // What was not shown is still waited for.
				if unseen := own.behind(s); (unseen == nil) != c.want {
					t.Errorf("unseen: %+v", unseen)
				}
			}
			if c.want && len(own.of) > 0 {
				t.Errorf("what was shown is still remembered: %+v", own.of)
			}
		})
	}
}

func TestStatusThatASnapshotShows(t *testing.T) {
	at := func(uid types.UID, version string) *workloadv1alpha1.ModelServing {
		return &workloadv1alpha1.ModelServing{ObjectMeta: metav1.ObjectMeta{Name: "ms", UID: uid, ResourceVersion: version}}
	}
	for name, c := range map[string]struct {
		shown *workloadv1alpha1.ModelServing
		want  bool
	}{
		"as it was before":     {shown: at("1", "99")},
		"as it was written":    {shown: at("1", "100"), want: true},
		"changed since":        {shown: at("1", "101"), want: true},
		"another of that name": {shown: at("2", "50"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			own := newOwnWrites()
			own.noteStatus(at("1", "100"))
			if unseen := own.behind(state.Snapshot{ModelServing: c.shown}); (unseen == nil) != c.want {
				t.Errorf("unseen: %+v", unseen)
			}
		})
	}
}
