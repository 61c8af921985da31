package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Services, subgroups and autoscalers go by the labels of Pods, and so do rollouts.
func TestLabelsOfPodsEditedByHandAreSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	for name, edit := range map[string]map[string]string{
		"ms-0-prefill-0-0": {names.LabelRoleID: "prefill-7", names.LabelEntry: "false", names.LabelRevision: "x"},
		"ms-0-prefill-0-1": {names.LabelGroup: "ms-9", names.LabelRole: "x", names.LabelRoleTemplateHash: "x"},
		"ms-0-decode-0-0":  {names.LabelModelServing: "x", names.LabelRevision: "x"},
	} {
		pod := before[name].DeepCopy()
		for k, v := range edit {
			pod.Labels[k] = v
		}
		if err := w.client.Update(context.Background(), pod); err != nil {
			t.Fatal(err)
		}
	}
	for name, was := range before {
		w.eventually("the labels of "+name, func() error {
			now := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
			w.get(now)
			if diff := cmp.Diff(was.Labels, now.Labels); diff != "" || now.UID != was.UID {
				return fmt.Errorf("UID %s, was %s; labels (-were +are):\n%s", now.UID, was.UID, diff)
			}
			return nil
		})
	}
	w.quiet(ms)
}

// The hash of a revision is on its Pods: another one would replace them all, for an edit of a label.
func TestRevisionSpoiledByHandRestartsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := uids(w.pods(ms))
	untouched := func(what string) {
		t.Helper()
		if diff := cmp.Diff(before, uids(w.pods(ms))); diff != "" {
			t.Errorf("%s: Pods were touched (-want +got):\n%s", what, diff)
		}
	}
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: ms.Status.UpdateRevision}}
	w.get(revision)
	was := revision.DeepCopy()

	delete(revision.Labels, names.LabelModelServing)
	if err := w.client.Update(context.Background(), revision); err != nil {
		t.Fatal(err)
	}
	w.eventually("the label of the revision", func() error {
		w.get(revision)
		if diff := cmp.Diff(was.Labels, revision.Labels); diff != "" {
			return fmt.Errorf("labels (-were +are):\n%s", diff)
		}
		return nil
	})
	w.quiet(ms)
	untouched("a label was taken away")

	w.remove(revision)
	w.replaced(revision)
	w.quiet(ms)
	untouched("the revision was deleted")

	w.get(revision)
	revision.OwnerReferences = nil
	if err := w.client.Update(context.Background(), revision); err != nil {
		t.Fatal(err)
	}
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict, revision.Name, "nothing controls it; delete")
	untouched("the owner was taken away")
	// What is broken is repaired all the same.
	w.remove(w.pods(ms)["ms-1-decode-0-0"])
	w.eventually("a new Pod", func() error {
		if uid := uids(w.pods(ms))["ms-1-decode-0-0"]; uid == "" || uid == before["ms-1-decode-0-0"] {
			return fmt.Errorf("UID %q", uid)
		}
		return nil
	})
	before["ms-1-decode-0-0"] = uids(w.pods(ms))["ms-1-decode-0-0"]

	w.remove(revision)
	w.available(ms, 2)
	w.quiet(ms)
	untouched("the way out was taken")
}
