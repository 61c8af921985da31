package apply_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/revision"
)

func template(b *bench) revision.Template { return revision.Of(b.ms) }

func TestStatusIsWrittenOnlyWhenItDiffersAndAtTheObservedVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	available := func(n int32) func(*workloadv1alpha1.ModelServing) {
		return func(ms *workloadv1alpha1.ModelServing) { ms.Status.AvailableReplicas = n }
	}
	now, wrote, err := apply.Status(context.Background(), b.client, b.ms, available(3))
	if err != nil || !wrote || now.Status.AvailableReplicas != 3 {
		t.Fatalf("wrote %v, error %v", wrote, err)
	}
	if b.ms.Status.AvailableReplicas != 0 {
		t.Error("the observed object was changed")
	}
	again, wrote, err := apply.Status(context.Background(), b.client, now, available(3))
	if err != nil || wrote || again.ResourceVersion != now.ResourceVersion {
		t.Errorf("an equal status: wrote %v, error %v", wrote, err)
	}
	if _, _, err = apply.Status(context.Background(), b.client, b.ms, available(4)); !apierrors.IsConflict(err) {
		t.Errorf("a stale object: error %v, want a conflict", err)
	}
}

func TestWebhookThatIsDownIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "down-" + b.ms.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "down.test.example",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/validate")},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: b.ms.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	b.must(b.client.Create(context.Background(), hook))
	t.Cleanup(func() { b.must(b.client.Delete(context.Background(), hook)) })

	// The API server takes up a new configuration a moment later.
	for group := range 1000 {
		got := b.do(lane(create(b.pod(group, 0))))
		if got == nil {
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], "Transient ") || !strings.Contains(got[0], "down.test.example") {
			t.Errorf("faults: %v", got)
		}
		return
	}
	t.Error("the webhook was never called")
}

func TestLongMessagesFitAnEvent(t *testing.T) {
	t.Parallel()
	r := &recorded{}
	w := &apply.Writer{Client: server.Client, Recorder: r}
	w.Emit(&corev1.Pod{}, "Create", action.Event{Type: "Warning", Reason: "CreateFailed", Message: strings.Repeat("ä", 2000)})
	note := strings.TrimPrefix(r.events[0], "Warning CreateFailed: ")
	if len(note) > 1024 || len(note) < 1000 || !utf8.ValidString(note) || !strings.HasSuffix(note, "...") {
		t.Errorf("the note has %d bytes, valid: %v", len(note), utf8.ValidString(note))
	}
}
