package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// This needs a cluster of its own: CRDs are everybody's.
func TestNoVolcanoAtStartAndVolcanoArrivingLater(t *testing.T) {
	t.Parallel()
	server, err := gangwaytesting.StartAPIServer(gangwaytesting.APIServerOptions{
		Without: []gangwaytesting.Optional{gangwaytesting.Volcano, gangwaytesting.GatewayAPI},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := newWorldOn(t, server)
	w.start()
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.condition(ms, workloadv1alpha1.ConditionGangSchedulingReady, metav1.ConditionFalse, workloadv1alpha1.ReasonVolcanoNotInstalled)
	w.settled(ms, 2)
	w.quiet(ms)
	before := w.pods(ms)

	server.InstallCRDs(t, gangwaytesting.Volcano)
	podGroup := func(name string) *schedulingv1beta1.PodGroup {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
		w.eventually("PodGroup "+name, func() error {
			return w.client.Get(context.Background(), client.ObjectKeyFromObject(pg), pg)
		})
		return pg
	}
	podGroup("ms-0")
	podGroup("ms-1")
	w.available(ms, 2)
	w.unchanged(ms, before)
	w.quiet(ms)

	// PodGroups are watched from now on.
	pg := podGroup("ms-0")
	w.remove(pg)
	w.replaced(pg)
	if n := len(podGroup("ms-0").Spec.SubGroupPolicy); n != 2 {
		t.Errorf("%d entries of subGroupPolicy, want 2", n)
	}

	// A Volcano before 1.14 knows no subgroups; it is upgraded while we run.
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: string(controllers.PodGroups)}}
	subGroups := func(schema *apiextensionsv1.JSONSchemaProps) {
		w.get(crd)
		for i := range crd.Spec.Versions {
			spec := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
			if schema == nil {
				delete(spec.Properties, "subGroupPolicy")
			} else {
				spec.Properties["subGroupPolicy"] = *schema
			}
		}
		if err := w.client.Update(context.Background(), crd); err != nil {
			t.Fatal(err)
		}
	}
	// The API server goes on for a while to serve a watch by the schema that the CRD had before.
	rest := func() {
		w.eventually("passes that write nothing", func() error {
			before := len(w.net.writes())
			w.pass(ms)
			if wrote := w.net.writes()[before:]; len(wrote) > 0 {
				return fmt.Errorf("wrote %v", wrote)
			}
			return nil
		})
	}
	w.get(crd)
	known := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["subGroupPolicy"]
	subGroups(nil)
	w.eventually("minTaskMember instead of subgroups", func() error {
		now := podGroup("ms-0")
		if diff := cmp.Diff(map[string]int32{"prefill": 2, "decode": 1}, now.Spec.MinTaskMember); diff != "" {
			return fmt.Errorf("minTaskMember (-want +got):\n%s", diff)
		}
		return nil
	})
	rest()
	subGroups(&known)
	w.eventually("subgroups again", func() error {
		if now := podGroup("ms-0"); len(now.Spec.SubGroupPolicy) != 2 || len(now.Spec.MinTaskMember) != 0 {
			return fmt.Errorf("subGroupPolicy %v, minTaskMember %v", now.Spec.SubGroupPolicy, now.Spec.MinTaskMember)
		}
		return nil
	})
	w.unchanged(ms, before)
	rest()
}
