package e2e

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Somebody deletes the webhook's configuration, or has not applied it yet: Gangway's own Pods are in
// their gang all the same.
func TestPodsAreInTheirGangWithoutTheWebhook(t *testing.T) {
	ms := single(t, 1, 1)
	create(t, ms)
	waitReady(t, ms)
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := k8s.Get(t.Context(), client.ObjectKey{Name: "gangway-mutating"}, hook); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Delete(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hook.ObjectMeta = metav1.ObjectMeta{Name: hook.Name, Labels: hook.Labels, Annotations: hook.Annotations}
		if err := k8s.Create(context.Background(), hook); err != nil {
			t.Errorf("restore the webhook's configuration: %v", err)
		}
	})
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](2) })
	waitRest(t, ms)
	for _, p := range mustPods(t, ms, nil) {
		if got, want := p.Annotations[names.AnnotationGroupName], p.Labels[names.LabelGroup]; got != want {
			t.Errorf("Pod %q is in gang %q, want %q", p.Name, got, want)
		}
	}
}
