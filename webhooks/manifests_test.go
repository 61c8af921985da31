package webhooks

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/gangway-serving/gangway/plan/names"
)

// TestManifests holds the promises of config/webhook that keep a cluster safe: nobody else waits for
// these webhooks, and every path that is called is served.
func TestManifests(t *testing.T) {
	file, err := os.ReadFile("../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	validating, mutating, ok := bytes.Cut(file, []byte("\n---\n"))
	if !ok {
		t.Fatal("want two documents")
	}
	var v admissionregistrationv1.ValidatingWebhookConfiguration
	var m admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(validating, &v); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(mutating, &m); err != nil {
		t.Fatal(err)
	}
	if v.Name != "gangway-validating" || m.Name != "gangway-mutating" {
		t.Errorf("names %q and %q", v.Name, m.Name)
	}

	called := sets.New[string]()
	for _, w := range v.Webhooks {
		called.Insert(*w.ClientConfig.Service.Path)
		expectSafe(t, w.Name, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds, w.NamespaceSelector)
	}
	for _, w := range m.Webhooks {
		called.Insert(*w.ClientConfig.Service.Path)
		expectSafe(t, w.Name, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds, w.NamespaceSelector)
		if *w.ReinvocationPolicy != admissionregistrationv1.IfNeededReinvocationPolicy {
			t.Errorf("%s: reinvocationPolicy %s", w.Name, *w.ReinvocationPolicy)
		}
		want := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: names.LabelModelServing, Operator: metav1.LabelSelectorOpExists},
			{Key: names.LabelGroup, Operator: metav1.LabelSelectorOpExists},
		}}
		if diff := cmp.Diff(want, w.ObjectSelector); diff != "" {
			t.Errorf("%s: objectSelector (-want +got):\n%s", w.Name, diff)
		}
	}
	served := sets.New(PathModelServing, PathVLLMService, PathScale, PathPod)
	if diff := cmp.Diff(sets.List(served), sets.List(called)); diff != "" {
		t.Errorf("paths (-served +called):\n%s", diff)
	}
}

func expectSafe(t *testing.T, name string, failure *admissionregistrationv1.FailurePolicyType, match *admissionregistrationv1.MatchPolicyType,
	effects *admissionregistrationv1.SideEffectClass, timeout *int32, namespaces *metav1.LabelSelector,
) {
	t.Helper()
	if *failure != admissionregistrationv1.Fail || *match != admissionregistrationv1.Equivalent || *effects != admissionregistrationv1.SideEffectClassNone {
		t.Errorf("%s: failurePolicy %s, matchPolicy %s, sideEffects %s", name, *failure, *match, *effects)
	}
	if in := time.Duration(*timeout) * time.Second; in != 5*time.Second || in <= answerWithin {
		t.Errorf("%s: timeout %v, while an answer takes up to %v", name, in, answerWithin)
	}
	want := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kube-system", "gangway-system"}},
	}}
	if diff := cmp.Diff(want, namespaces); diff != "" {
		t.Errorf("%s: namespaceSelector (-want +got):\n%s", name, diff)
	}
}
