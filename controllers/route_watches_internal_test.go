package controllers

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gangway-serving/gangway/controllers/gather"
)

// The cache of a manager that serves some namespaces refuses to list any other; to ask it would log an
// error for each Namespace of the cluster.
func TestANamespaceThatIsNotServedIsNotLookedInto(t *testing.T) {
	served := []string{"team"}
	r := &routes{Routes: &gather.Routes{Watched: func(ns string) bool { return slices.Contains(served, ns) }}}
	other := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "kube-public"}}
	if got := r.ofNamespace(routedModelServings)(t.Context(), other); len(got) > 0 {
		t.Errorf("requests %v, want none", got)
	}
}
