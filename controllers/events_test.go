package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// The recorder takes Events of one reason in one pass for repetitions of the first, unless they tell
// of different parts of the object.
func TestEachRoleIsToldOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	want := []string{
		"RoleCreating spec.template.roles{decode}: creating 2 replicas of role decode",
		"RoleCreating spec.template.roles{prefill}: creating 2 replicas of role prefill",
		"RoleRunning spec.template.roles{decode}: all 2 replicas of role decode are Ready",
		"RoleRunning spec.template.roles{prefill}: all 2 replicas of role prefill are Ready",
	}
	w.eventually("two Events of each role", func() error {
		var list eventsv1.EventList
		if err := w.client.List(context.Background(), &list, client.InNamespace(w.ns)); err != nil {
			return err
		}
		var told []string
		for _, e := range list.Items {
			if e.Regarding.UID == ms.UID && e.Regarding.Kind == workloadv1alpha1.ModelServingKind && e.Series == nil {
				told = append(told, fmt.Sprintf("%s %s: %s", e.Reason, e.Regarding.FieldPath, e.Note))
			}
		}
		slices.Sort(told)
		if diff := cmp.Diff(want, told); diff != "" {
			return fmt.Errorf("Events (-want +got):\n%s", diff)
		}
		return nil
	})
}
