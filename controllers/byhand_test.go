package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// replaced waits until the object of that name is another one than obj.
func (w *world) replaced(obj client.Object) {
	w.Helper()
	now := obj.DeepCopyObject().(client.Object)
	w.eventually(fmt.Sprintf("a new %T %s", obj, obj.GetName()), func() error {
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(obj), now); err != nil {
			return err
		}
		if now.GetUID() == obj.GetUID() {
			return fmt.Errorf("it is the old one")
		}
		return nil
	})
}

func TestServiceDeletedByHandComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := uids(w.pods(ms))
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ms-0-prefill-0-0"}}
	w.get(svc)
	w.remove(svc)
	w.replaced(svc)
	if diff := cmp.Diff(before, uids(w.pods(ms))); diff != "" {
		t.Errorf("Pods were touched (-want +got):\n%s", diff)
	}
	w.quiet(ms)
}

func TestPodGroupDeletedByHandComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := uids(w.pods(ms))
	pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ms-0"}}
	w.get(pg)
	w.remove(pg)
	w.replaced(pg)
	w.available(ms, 1)
	if diff := cmp.Diff(before, uids(w.pods(ms))); diff != "" {
		t.Errorf("Pods were touched (-want +got):\n%s", diff)
	}
	w.quiet(ms)
}

// A Pod that somebody else deletes has failed, so its role replica is recreated, and nothing else.
func TestPodDeletedByHandRecreatesItsRoleReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.remove(before["ms-0-prefill-0-1"])
	w.replaced(before["ms-0-prefill-0-1"])
	w.replaced(before["ms-0-prefill-0-0"])
	w.available(ms, 1)
	if now := w.pods(ms); now["ms-0-decode-0-0"].UID != before["ms-0-decode-0-0"].UID {
		t.Error("the other role's Pod was touched")
	}
}

func TestOnlyPodOfARoleDeletedByHandComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	before := w.pods(ms)
	w.remove(before["ms-0-decode-0-0"])
	w.replaced(before["ms-0-decode-0-0"])
	w.available(ms, 1)
	now := uids(w.pods(ms))
	want := uids(before)
	want["ms-0-decode-0-0"] = now["ms-0-decode-0-0"]
	if diff := cmp.Diff(want, now); diff != "" {
		t.Errorf("other Pods were touched (-want +got):\n%s", diff)
	}
	w.quiet(ms)
}

func TestPodGroupChangedByHandIsSetRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ms-0"}}
	w.get(pg)
	pg.Spec.MinMember = 1
	metav1.SetMetaDataAnnotation(&pg.ObjectMeta, "theirs.example/note", "keep")
	if err := w.client.Update(context.Background(), pg); err != nil {
		t.Fatal(err)
	}
	w.eventually("minMember is 3 again", func() error {
		w.get(pg)
		if pg.Spec.MinMember != 3 {
			return fmt.Errorf("it is %d", pg.Spec.MinMember)
		}
		return nil
	})
	if pg.Annotations["theirs.example/note"] != "keep" {
		t.Error("an annotation of somebody else is gone")
	}
	w.quiet(ms)
}

// collect does what the garbage collector, which does not run here, does once an owner is gone.
func (w *world) collect(ms *workloadv1alpha1.ModelServing) {
	w.Helper()
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &appsv1.ControllerRevisionList{}, &schedulingv1beta1.PodGroupList{},
	} {
		err := w.client.List(context.Background(), list, client.InNamespace(w.ns), client.MatchingLabels{names.LabelModelServing: ms.Name})
		if err != nil {
			w.Fatal(err)
		}
		for _, obj := range objects(list) {
			if metav1.IsControlledBy(obj, ms) {
				if err := client.IgnoreNotFound(w.client.Delete(context.Background(), obj)); err != nil {
					w.Fatal(err)
				}
			}
		}
	}
}

func objects(list client.ObjectList) []client.Object {
	var out []client.Object
	switch l := list.(type) {
	case *corev1.PodList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *corev1.ServiceList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *appsv1.ControllerRevisionList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *schedulingv1beta1.PodGroupList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	}
	return out
}

func TestRecreatedUnderTheSameNameWhileTheOldPodsAreGoing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := twoRoles(2).Obj()
	w.create(first)
	w.available(first, 2)
	old := uids(w.pods(first))
	w.kubelet.hold("ms-")
	w.remove(first)
	w.collect(first)
	second := twoRoles(2).Obj()
	w.create(second)
	w.pass(second)
	if diff := cmp.Diff(old, uids(w.allPods(second))); diff != "" {
		t.Errorf("the old Pods are not done yet (-want +got):\n%s", diff)
	}
	w.kubelet.release("ms-")
	w.available(second, 2)
	for name, pod := range w.pods(second) {
		if old[name] == string(pod.UID) || !metav1.IsControlledBy(pod, second) {
			t.Errorf("Pod %s is an old one", name)
		}
	}
	w.quiet(second)
}

func TestRecreatedUnderTheSameNameWithOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := twoRoles(1).Obj()
	w.create(first)
	w.available(first, 1)
	orphans := uids(w.pods(first))
	w.remove(first)
	second := twoRoles(1).Obj()
	w.create(second)
	w.condition(second, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict, "earlier ModelServing")
	if diff := cmp.Diff(orphans, uids(w.allPods(second))); diff != "" {
		t.Errorf("the orphans were touched (-want +got):\n%s", diff)
	}
	w.collect(first)
	w.available(second, 1)
	w.quiet(second)
}

func TestNothingIsMadeForAModelServingThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(1).Obj()
	ms.Finalizers = []string{"test.example/hold"}
	w.create(ms)
	w.available(ms, 1)
	w.remove(ms)
	other := gangwaytesting.MakeModelServing("other").Role(gangwaytesting.MakeRole("main").Obj()).Obj()
	w.remove(w.pods(ms)["ms-0-decode-0-0"])
	w.create(other)
	w.available(other, 1) // Long enough for ms to have been looked at.
	w.quiet(other)
	if _, ok := w.allPods(ms)["ms-0-decode-0-0"]; ok {
		t.Error("the Pod came back")
	}
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Finalizers = nil })
}

// The garbage collector patches the owner out of what is orphaned; a patch that the API server refuses
// would hold the ModelServing for ever.
func TestRevisionsCanBePatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").Role(gangwaytesting.MakeRole("main").Workers(1).Obj()).Obj()
	ms.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].Args = []string{"a && b", "<é\u2028>"}
	ms.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].LivenessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9000}}, // writes "service": null
	}
	w.create(ms)
	w.available(ms, 1)
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: ms.Status.UpdateRevision}}
	patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, ms.UID)
	if err := w.client.Patch(context.Background(), revision, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		t.Error(err)
	}
}
