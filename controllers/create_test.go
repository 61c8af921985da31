package controllers_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// twoRoles is a ModelServing with a role of two Pods and a role of one.
func twoRoles(replicas int32) *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").Replicas(replicas).
		Role(gangwaytesting.MakeRole("prefill").Workers(1).Port(8000).Obj()).
		Role(gangwaytesting.MakeRole("decode").Obj())
}

// single is a ModelServing whose groups have one Pod.
func single(replicas int32) *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").Replicas(replicas).Role(gangwaytesting.MakeRole("main").Obj())
}

func TestGroupComesUpWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)

	got := slices.Sorted(maps.Keys(w.pods(ms)))
	want := []string{"ms-0-decode-0-0", "ms-0-prefill-0-0", "ms-0-prefill-0-1", "ms-1-decode-0-0", "ms-1-prefill-0-0", "ms-1-prefill-0-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
	for _, group := range []string{"ms-0", "ms-1"} {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: group}}
		w.get(pg)
		if pg.Spec.MinMember != 3 || !metav1.IsControlledBy(pg, ms) {
			t.Errorf("PodGroup %s: minMember %d, owners %v", group, pg.Spec.MinMember, pg.OwnerReferences)
		}
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: group + "-prefill-0-0"}}
		w.get(svc)
		if svc.Spec.ClusterIP != corev1.ClusterIPNone || !metav1.IsControlledBy(svc, ms) {
			t.Errorf("Service %s: clusterIP %q, owners %v", svc.Name, svc.Spec.ClusterIP, svc.OwnerReferences)
		}
	}
	wantStatus := workloadv1alpha1.ModelServingStatus{
		ObservedGeneration: ms.Generation, Replicas: 2, CurrentReplicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2,
		Roles: []workloadv1alpha1.RoleStatus{
			{Name: "prefill", Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2},
			{Name: "decode", Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2},
		},
	}
	gotStatus := ms.Status.DeepCopy()
	if gotStatus.CurrentRevision == "" || gotStatus.CurrentRevision != gotStatus.UpdateRevision {
		t.Errorf("revisions: current %q, update %q", gotStatus.CurrentRevision, gotStatus.UpdateRevision)
	}
	gotStatus.CurrentRevision, gotStatus.UpdateRevision, gotStatus.LabelSelector, gotStatus.Conditions = "", "", "", nil
	if diff := cmp.Diff(wantStatus, *gotStatus); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	w.quiet(ms)
}

// The gang must be there before the first of its Pods.
func TestPodGroupIsThereBeforeTheFirstPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(3).Obj()
	w.create(ms)
	w.available(ms, 3)
	writes := w.net.writes()
	for i, write := range writes {
		if write != "POST /api/v1/namespaces/"+w.ns+"/pods" {
			continue
		}
		group := fmt.Sprintf("POST /apis/scheduling.volcano.sh/v1beta1/namespaces/%s/podgroups", w.ns)
		if !slices.Contains(writes[:i], group) {
			t.Fatalf("a Pod was written before any PodGroup:\n%v", writes[:i+1])
		}
	}
	for name, pod := range w.pods(ms) {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: pod.Labels[names.LabelGroup]}}
		w.get(pg)
		if pod.CreationTimestamp.Before(&pg.CreationTimestamp) {
			t.Errorf("Pod %s is older than its PodGroup", name)
		}
	}
}

func TestForeignObjectsWithNamesThatWeNeed(t *testing.T) {
	t.Parallel()
	theirs := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "theirs", UID: "1234", Controller: ptr.To(true)}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{theirs}}
	}
	for name, foreign := range map[string]client.Object{
		"Pod": &corev1.Pod{ObjectMeta: meta("ms-0-prefill-0-1"), Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: gangwaytesting.DefaultImage}},
		}},
		"Service":  &corev1.Service{ObjectMeta: meta("ms-0-prefill-0-0"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		"PodGroup": &schedulingv1beta1.PodGroup{ObjectMeta: meta("ms-0"), Spec: schedulingv1beta1.PodGroupSpec{MinMember: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(foreign)
			w.get(foreign)
			before := foreign.DeepCopyObject().(client.Object)
			ms := twoRoles(2).Obj()
			w.create(ms)
			w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict, foreign.GetName(), "theirs")
			w.eventually("the other group is available", func() error {
				w.get(ms)
				if ms.Status.AvailableReplicas != 1 {
					return fmt.Errorf("availableReplicas is %d", ms.Status.AvailableReplicas)
				}
				return nil
			})
			w.eventEmitted(ms, workloadv1alpha1.ReasonNameConflict)
			w.get(foreign)
			if name != "Pod" && foreign.GetResourceVersion() != before.GetResourceVersion() || foreign.GetDeletionTimestamp() != nil {
				t.Errorf("the foreign %s was touched", name)
			}
			w.remove(foreign)
			w.available(ms, 2)
			w.quiet(ms)
		})
	}
}

func TestQuotaIsReportedInTheServersWordsAndWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	w.create(quota)
	raise := func(hard string) {
		w.get(quota)
		quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse(hard)
		if err := w.client.Update(context.Background(), quota); err != nil {
			t.Fatal(err)
		}
		// No quota controller runs here; admission counts on from what the status says.
		quota.Status.Hard = quota.Spec.Hard
		if quota.Status.Used == nil {
			quota.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		}
		if err := w.client.Status().Update(context.Background(), quota); err != nil {
			t.Fatal(err)
		}
	}
	raise("2")
	ms := single(4).Obj()
	w.create(ms)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonCreateFailed, "exceeded quota: few")
	w.eventEmitted(ms, workloadv1alpha1.ReasonCreateFailed)
	if got := len(w.pods(ms)); got != 2 {
		t.Errorf("%d Pods, the quota has room for 2", got)
	}
	raise("10")
	w.available(ms, 4)
	w.quiet(ms)
}

func TestReplicasZeroAtCreationAndAtRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(0).Obj()
	w.create(ms)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, workloadv1alpha1.ReasonScaledToZero)
	if _, err := labels.Parse(ms.Status.LabelSelector); err != nil || ms.Status.LabelSelector == "" {
		t.Errorf("labelSelector %q: %v", ms.Status.LabelSelector, err)
	}
	w.quiet(ms)
	w.stop()
	w.start()
	w.quiet(ms)
	if got := len(w.allPods(ms)); got != 0 {
		t.Errorf("%d Pods at 0 replicas", got)
	}
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](1) })
	w.available(ms, 1)
}

func TestFourToZeroToFourAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(4).Obj()
	w.create(ms)
	w.available(ms, 4)
	for range 3 {
		for _, n := range []int32{0, 4} {
			w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To(n) })
		}
	}
	w.available(ms, 4)
	w.quiet(ms)
	if got := len(w.allPods(ms)); got != 12 {
		t.Errorf("%d Pods, want 12", got)
	}
}

func TestScaleDownTakesTheLastAndItsPodGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(3).Obj()
	w.create(ms)
	w.available(ms, 3)
	before := uids(w.pods(ms))
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](1) })
	w.available(ms, 1)
	maps.DeleteFunc(before, func(name, _ string) bool { return name[:5] != "ms-0-" })
	w.eventually("the Pods, PodGroups and Services of the others are gone", func() error {
		if diff := cmp.Diff(before, uids(w.allPods(ms))); diff != "" {
			return fmt.Errorf("Pods (-want +got):\n%s", diff)
		}
		var groups schedulingv1beta1.PodGroupList
		var services corev1.ServiceList
		for _, list := range []client.ObjectList{&groups, &services} {
			if err := w.client.List(context.Background(), list, client.InNamespace(w.ns)); err != nil {
				return err
			}
		}
		if len(groups.Items) != 1 || len(services.Items) != 1 {
			return fmt.Errorf("%d PodGroups, %d Services", len(groups.Items), len(services.Items))
		}
		return nil
	})
	w.quiet(ms)
}

func TestRoleReplicasFromNineToTenToNine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").Role(gangwaytesting.MakeRole("main").Replicas(9).Obj()).Obj()
	w.create(ms)
	w.available(ms, 1)
	nine := uids(w.pods(ms))
	for _, n := range []int32{10, 9} {
		w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To(n) })
		w.available(ms, 1)
		w.eventually("the Pods", func() error {
			if got := len(w.allPods(ms)); got != int(n) {
				return fmt.Errorf("%d Pods", got)
			}
			return nil
		})
	}
	if diff := cmp.Diff(nine, uids(w.allPods(ms))); diff != "" {
		t.Errorf("other Pods were touched (-want +got):\n%s", diff)
	}
	var revisions appsv1.ControllerRevisionList
	if err := w.client.List(context.Background(), &revisions, client.InNamespace(w.ns)); err != nil || len(revisions.Items) != 1 {
		t.Errorf("%d ControllerRevisions (%v); scaling a role is no new revision", len(revisions.Items), err)
	}
}

func TestScaleSubresourceForAnHPA(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(0).Obj()
	w.create(ms)
	w.eventually("the selector at zero groups", func() error {
		w.get(ms)
		if ms.Status.LabelSelector == "" {
			return fmt.Errorf("none")
		}
		return nil
	})
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	if err := w.client.SubResource("scale").Update(context.Background(), ms, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	w.available(ms, 3)
	if err := w.client.SubResource("scale").Get(context.Background(), ms, scale); err != nil {
		t.Fatal(err)
	}
	selector, err := labels.Parse(scale.Status.Selector)
	if err != nil {
		t.Fatal(err)
	}
	var selected []string
	for name, pod := range w.pods(ms) {
		if selector.Matches(labels.Set(pod.Labels)) {
			selected = append(selected, name)
		}
	}
	slices.Sort(selected)
	if diff := cmp.Diff([]string{"ms-0-prefill-0-0", "ms-1-prefill-0-0", "ms-2-prefill-0-0"}, selected); diff != "" || scale.Status.Replicas != 3 {
		t.Errorf("replicas %d; Pods that the HPA averages over (-want +got):\n%s", scale.Status.Replicas, diff)
	}
}

func TestTemplateLabelsDoNotOverrideOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	role := gangwaytesting.MakeRole("main").Entry(func(tpl *workloadv1alpha1.PodTemplateSpec) {
		tpl.Metadata = &workloadv1alpha1.PodMetadata{Labels: map[string]string{
			names.LabelModelServing: "other", names.LabelGroup: "other", names.LabelRevision: "other", "team": "nlp",
		}}
	}).Obj()
	ms := gangwaytesting.MakeModelServing("ms").Role(role).Obj()
	w.create(ms)
	w.available(ms, 1)
	for name, pod := range w.pods(ms) {
		if pod.Labels[names.LabelGroup] != "ms-0" || pod.Labels[names.LabelRevision] == "other" || pod.Labels["team"] != "nlp" {
			t.Errorf("Pod %s has labels %v", name, pod.Labels)
		}
	}
	w.quiet(ms)
}

func TestAnotherSchedulerHasNoPodGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).SchedulerName("default-scheduler").Obj()
	w.create(ms)
	w.available(ms, 2)
	w.condition(ms, workloadv1alpha1.ConditionGangSchedulingReady, metav1.ConditionFalse, workloadv1alpha1.ReasonSchedulerHasNoGangs)
	var groups schedulingv1beta1.PodGroupList
	if err := w.client.List(context.Background(), &groups, client.InNamespace(w.ns)); err != nil || len(groups.Items) != 0 {
		t.Errorf("%d PodGroups, error %v", len(groups.Items), err)
	}
	w.quiet(ms)
}
