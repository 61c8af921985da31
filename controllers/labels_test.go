package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
