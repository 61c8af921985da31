package controllers_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// atWork waits until the manager looks after a ModelServing that wants nothing: its caches are filled.
func (w *world) atWork() *workloadv1alpha1.ModelServing {
	w.Helper()
	ready := gangwaytesting.MakeModelServing("ready").Replicas(0).Role(gangwaytesting.MakeRole("main").Obj()).Obj()
	w.create(ready)
	w.available(ready, 0)
	return ready
}

// Pods that the manager has made and does not see yet keep their PodGroup, whatever is asked for
// meanwhile; and once they are seen, all of them go.
func TestPodsThatTheCacheDoesNotShowKeepTheirPodGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ready := w.atWork()
	release := w.net.hold("pods")
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.eventually("all Pods", func() error {
		if got := len(w.allPods(ms)); got != 6 {
			return fmt.Errorf("%d Pods", got)
		}
		return nil
	})
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](0) })
	// By the time that it has looked again and again at another one, the manager has seen the change, too.
	for range 3 {
		w.pass(ready)
	}

	for g := range 2 {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: fmt.Sprintf("ms-%d", g)}}
		w.get(pg)
		if pg.DeletionTimestamp != nil {
			t.Errorf("PodGroup %s is being deleted while its Pods live", pg.Name)
		}
	}
	if got := len(w.pods(ms)); got != 6 {
		t.Errorf("%d Pods, want 6", got)
	}
	release()
	w.available(ms, 0)
	w.eventually("nothing left", func() error {
		var podGroups schedulingv1beta1.PodGroupList
		if err := w.client.List(t.Context(), &podGroups, client.InNamespace(w.ns)); err != nil {
			return err
		}
		if got := len(w.allPods(ms)) + len(podGroups.Items); got > 0 {
			return fmt.Errorf("%d Pods and PodGroups", got)
		}
		return nil
	})
	w.quiet(ms)
}

// A Pod that was made and was gone before the cache showed it is not waited for.
func TestPodThatWasGoneBeforeTheCacheShowedItComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.atWork()
	release := w.net.hold("pods")
	defer release()
	ms := single(1).Obj()
	w.create(ms)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ms-0-main-0-0"}}
	w.eventually("the Pod", func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod) })
	first := pod.DeepCopy()
	w.remove(pod, client.GracePeriodSeconds(0))
	w.eventually("the Pod again", func() error {
		pod := &corev1.Pod{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: first.Name}, pod); err != nil {
			return err
		}
		if pod.UID == first.UID {
			return fmt.Errorf("it is still the first one")
		}
		return nil
	})
}

// What lost the label that the cache goes by, before it was ever shown, is not waited for: it is told of.
func TestServiceThatIsNotOursAnyMoreHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.atWork()
	release := w.net.hold("services")
	ms := twoRoles(1).Obj()
	w.create(ms)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ms-0-prefill-0-0"}}
	w.eventually("the Service", func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(service), service) })
	service.Labels[names.LabelManagedBy] = "somebody-else"
	if err := w.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	release()
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict, service.Name, names.LabelManagedBy)
}

// A Pod that was force deleted stays for as long as somebody's finalizer holds it. The other groups
// are looked after meanwhile.
func TestFinalizerOfALostPodHoldsUpItsOwnGroupAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	held := w.pods(ms)["ms-1-main-0-0"]
	held.Finalizers = []string{"test.example/hold"}
	if err := w.client.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	w.kubelet.hold(held.Name)
	w.remove(held)
	w.remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubelet.node}})
	w.later(time.Minute, ms)
	w.eventually("the Pod force deleted", func() error {
		w.get(held)
		if ptr.Deref(held.DeletionGracePeriodSeconds, 1) != 0 {
			return fmt.Errorf("its grace period is %d", *held.DeletionGracePeriodSeconds)
		}
		return nil
	})
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](3) })
	w.eventually("another group", func() error {
		if w.pods(ms)["ms-2-main-0-0"] == nil {
			return fmt.Errorf("it has no Pod")
		}
		return nil
	})
	held.Finalizers = nil
	if err := w.client.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	w.eventually("the Pod's successor", func() error {
		if now := w.pods(ms)[held.Name]; now == nil || now.UID == held.UID {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
}
