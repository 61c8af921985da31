package e2e

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/plan/names"
)

// waitAbsent waits until an object is not there any more.
func waitAbsent(t *testing.T, o client.Object) {
	t.Helper()
	now := o.DeepCopyObject().(client.Object)
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), now); !apierrors.IsNotFound(err) {
			return o.GetName() + " is still there"
		}
		return ""
	})
}

// The namespace controller deletes Pods before what owns them. That is no failure to recover from.
func TestANamespaceIsDeletedInPeace(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	create(t, ns)
	ms := single(t, 2, 1)
	ms.Namespace = ns.Name
	ms.Finalizers = []string{"test.gangway.dev/hold"} // so that its last status can be read
	create(t, ms)
	waitReady(t, ms)
	for _, p := range mustPods(t, ms, nil) {
		annotate(t, &p, map[string]string{cluster.StopDelayAnnotation: "1s"})
	}
	before := ms.Status.DeepCopy()
	if err := k8s.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	waitGone(t, ms.Namespace, &corev1.PodList{})
	if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(ms), ms); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*before, ms.Status); diff != "" {
		t.Errorf("the status was written (-before +after):\n%s", diff)
	}
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Finalizers = nil })
	waitAbsent(t, ns)
}

// kubectl delete --cascade=orphan lets the Pods run on. The next ModelServing of the name does not
// take them over, says so, and goes on once they are gone.
func TestOrphansAreReportedAndLeftAlone(t *testing.T) {
	ms := single(t, 2, 1)
	create(t, ms)
	waitReady(t, ms)
	orphans := uids(mustPods(t, ms, nil))
	if err := k8s.Delete(t.Context(), ms, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	waitAbsent(t, ms)

	next := ms.DeepCopy()
	next.ObjectMeta = metav1.ObjectMeta{Namespace: ms.Namespace, Name: ms.Name}
	next.Status = workloadv1alpha1.ModelServingStatus{}
	create(t, next)
	waitCondition(t, next, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict)
	if diff := cmp.Diff(orphans, uids(mustPods(t, ms, nil))); diff != "" {
		t.Errorf("the orphans were touched (-before +after):\n%s", diff)
	}
	match := []client.ListOption{client.InNamespace(ms.Namespace), client.MatchingLabels{names.LabelModelServing: ms.Name}}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &schedulingv1beta1.PodGroupList{}, &appsv1.ControllerRevisionList{}} {
		if err := k8s.List(t.Context(), list, match...); err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, list) {
			if len(o.GetOwnerReferences()) > 0 {
				continue
			}
			if err := k8s.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	waitRest(t, next)
}
