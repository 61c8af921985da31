package webhooks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// groupPod is a Pod of a ModelServing's first group, as anything might create it.
func groupPod(ms *workloadv1alpha1.ModelServing, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: ms.Namespace,
			Labels: map[string]string{
				names.LabelModelServing: ms.Name, names.LabelGroup: names.Group(ms.Name, 0), names.LabelRole: "prefill",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: workloadv1alpha1.GroupVersion.String(), Kind: workloadv1alpha1.ModelServingKind,
				Name: ms.Name, UID: ms.UID, Controller: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "a"}}},
	}
}

func plainPod(ns, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "a"}}},
	}
}

func TestPodsJoinTheirGang(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	ms := in(ns, quiet("sample"))
	if err := b.Client.Create(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	pod := groupPod(ms, "sample-0-prefill-0-0")
	pod.Annotations = map[string]string{"a": "b", names.AnnotationGroupName: "sample-7"}
	dry := pod.DeepCopy()
	if err := b.Client.Create(t.Context(), dry, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if err := b.Client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "b", "scheduling.k8s.io/group-name": "sample-0", "volcano.sh/task-spec": "prefill"}
	for _, p := range []*corev1.Pod{dry, pod} {
		if diff := cmp.Diff(want, p.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		if p.Spec.SchedulerName != "volcano" {
			t.Errorf("scheduler %q", p.Spec.SchedulerName)
		}
	}
}

// TestPodsOfAModelServingThatIsNewToTheCache has Pods follow their owner faster than any watch.
func TestPodsOfAModelServingThatIsNewToTheCache(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	b.freeze(t)
	for i := range 3 {
		ms := in(ns, quiet("sample"))
		ms.Spec.SchedulerName = numbered("scheduler-", i)
		if err := b.Client.Create(t.Context(), ms); err != nil {
			t.Fatal(err)
		}
		pod := groupPod(ms, numbered("sample-0-prefill-0-", i))
		if err := b.Client.Create(t.Context(), pod); err != nil {
			t.Fatalf("Pod %d: %v", i, err)
		}
		if pod.Spec.SchedulerName != ms.Spec.SchedulerName || len(pod.Annotations) > 0 {
			t.Errorf("Pod %d: scheduler %q, annotations %v", i, pod.Spec.SchedulerName, pod.Annotations)
		}
		if err := b.Client.Delete(t.Context(), ms); err != nil { // the next one has another UID
			t.Fatal(err)
		}
	}
}

func TestStrangersJoinNoGang(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	ms, other := in(ns, quiet("sample")), in(ns, quiet("other"))
	for _, obj := range []client.Object{ms, other} {
		if err := b.Client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
	}{
		{"nobody's", func(p *corev1.Pod) { p.OwnerReferences = nil }, "must be controlled by its ModelServing"},
		{"a forged UID", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "forged" }, `with UID "forged"`},
		{"an owner that does not exist", func(p *corev1.Pod) { p.OwnerReferences[0].Name = "nothing" }, "there is no ModelServing"},
		{"another kind of owner", func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "apps/v1", "ReplicaSet"
		}, "must be controlled by its ModelServing"},
		{"another ModelServing's group", func(p *corev1.Pod) { p.Labels[names.LabelGroup] = "other-0" }, `write for example "sample-0"`},
		{"the other's Pod with this one's labels", func(p *corev1.Pod) {
			p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = other.Name, other.UID
		}, `write "other"`},
		{"no role", func(p *corev1.Pod) { delete(p.Labels, names.LabelRole) }, "add the role"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := groupPod(ms, "stranger")
			tc.change(pod)
			err := b.Client.Create(t.Context(), pod)
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want a refusal with %q, got: %v", tc.want, err)
			}
		})
	}
}

// TestOutage holds what a webhook that is down holds up, and what not.
func TestOutage(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	ms := in(ns, quiet("sample"))
	dying := in(ns, quiet("dying"))
	dying.Finalizers = []string{"example.com/keep"}
	for _, obj := range []client.Object{ms, dying} {
		if err := b.Client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gangway-system"}}
	if err := b.Client.Create(t.Context(), system); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	if err := b.halt(); err != nil {
		t.Fatal(err)
	}
	up := func() {
		if b.manager == nil {
			if err := b.start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer up()

	t.Run("other Pods are created as usual", func(t *testing.T) {
		labelled := plainPod(ns, "one-label")
		labelled.Labels = map[string]string{names.LabelModelServing: "sample"}
		for _, pod := range []*corev1.Pod{plainPod(ns, "plain"), labelled} {
			if err := b.Client.Create(t.Context(), pod); err != nil {
				t.Errorf("create %s: %v", pod.Name, err)
			}
		}
	})
	t.Run("exempt namespaces come up, whatever their Pods carry", func(t *testing.T) {
		for _, exempt := range []string{"kube-system", "gangway-system"} {
			pod := groupPod(ms, "system")
			pod.Namespace = exempt
			if err := b.Client.Create(t.Context(), pod); err != nil {
				t.Errorf("create a Pod in %s: %v", exempt, err)
			}
		}
	})
	t.Run("a namespace and a service account come up", func(t *testing.T) {
		fresh := b.Namespace(t, nil)
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: fresh}}
		if err := b.Client.Create(t.Context(), account); client.IgnoreAlreadyExists(err) != nil {
			t.Error(err)
		}
	})
	t.Run("status and scaling down go on, what is being deleted goes", func(t *testing.T) {
		ms.Status.Replicas = 2
		if err := b.Client.Status().Update(t.Context(), ms); err != nil {
			t.Errorf("write a status: %v", err)
		}
		if err := b.Client.Delete(t.Context(), dying); err != nil {
			t.Errorf("delete: %v", err)
		}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := b.Client.Patch(t.Context(), dying, patch); err != nil {
			t.Errorf("remove a finalizer: %v", err)
		}
		for _, replicas := range []int{1, 0} {
			scaleDown := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
			if err := b.Client.SubResource("scale").Patch(t.Context(), ms.DeepCopy(), scaleDown); err != nil {
				t.Errorf("scale down to %d: %v", replicas, err)
			}
		}
	})

	pod := groupPod(ms, "sample-0-prefill-0-0")
	if err := b.Client.Create(t.Context(), pod.DeepCopy()); !apierrors.IsInternalError(err) {
		t.Errorf("a group's Pod does not wait: %v", err)
	}
	if err := b.Client.Create(t.Context(), in(ns, quiet("late"))); !apierrors.IsInternalError(err) {
		t.Errorf("a ModelServing does not wait: %v", err)
	}
	up()
	eventually(t, func(ctx context.Context) error { return b.Client.Create(ctx, pod.DeepCopy()) })
	stored := &corev1.Pod{}
	if err := b.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), stored); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(stored.Spec.SchedulerName, stored.Annotations[names.AnnotationGroupName]); got != "volcanosample-0" {
		t.Errorf("the Pod that waited is not in its gang: %s", got)
	}
}
