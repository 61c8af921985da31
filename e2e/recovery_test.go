package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/plan/names"
)

// replaced waits until exactly these Pods of the ModelServing have other UIDs and all are Ready.
func replaced(t *testing.T, ms *workloadv1alpha1.ModelServing, before map[string]types.UID, want func(p corev1.Pod) bool) {
	t.Helper()
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		if len(list) != len(before) {
			return fmt.Sprintf("%d Pods, want %d", len(list), len(before))
		}
		for _, p := range list {
			if want(p) == (before[p.Name] == p.UID) {
				return fmt.Sprintf("Pod %q: replaced %t, want %t", p.Name, before[p.Name] != p.UID, want(p))
			}
			if !podReady(&p) {
				return fmt.Sprintf("Pod %q is not Ready", p.Name)
			}
		}
		return ""
	})
}

func TestRecoveryRecreatesTheUnitOfAPodThatRestarts(t *testing.T) {
	inGroup := func(p corev1.Pod) bool { return p.Labels[names.LabelGroup] == "sample-0" }
	inRole := func(p corev1.Pod) bool { return inGroup(p) && p.Labels[names.LabelRoleID] == "prefill-1" }
	for _, tt := range []struct {
		policy workloadv1alpha1.RecoveryPolicy
		unit   func(corev1.Pod) bool
	}{
		{workloadv1alpha1.RecoverRole, inRole},
		{workloadv1alpha1.RecoverServingGroup, inGroup},
		{workloadv1alpha1.RecoverNone, func(corev1.Pod) bool { return false }},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			ms := sample(t)
			ms.Spec.Replicas = ptr.To[int32](2)
			ms.Spec.RecoveryPolicy = tt.policy
			ms.Spec.Template.RestartGracePeriodSeconds = nil
			create(t, ms)
			waitReady(t, ms)
			list := mustPods(t, ms, nil)
			before := uids(list)
			for _, p := range list {
				if p.Name == "sample-0-prefill-1-1" {
					// Ready again only after a while, as a model server would be.
					annotate(t, &p, map[string]string{
						cluster.RestartsAnnotation: "1", cluster.BehaviorAnnotation: cluster.BehaviorSlowStart, cluster.DelayAnnotation: "2s",
					})
				}
			}
			if tt.policy == workloadv1alpha1.RecoverNone {
				eventually(t, timeout, func(ctx context.Context) string {
					var p corev1.Pod
					if err := k8s.Get(ctx, client.ObjectKey{Namespace: ms.Namespace, Name: "sample-0-prefill-1-1"}, &p); err != nil {
						return err.Error()
					}
					if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount == 0 {
						return "the container has not restarted yet"
					}
					return ""
				})
			}
			replaced(t, ms, before, tt.unit)
			waitReady(t, ms)
		})
	}
}

func TestARestartWithinTheGracePeriodIsForgiven(t *testing.T) {
	ms := sample(t) // restartGracePeriodSeconds is 60
	create(t, ms)
	waitReady(t, ms)
	list := mustPods(t, ms, nil)
	before := uids(list)
	annotate(t, &list[0], map[string]string{cluster.RestartsAnnotation: "1"})
	eventually(t, timeout, func(ctx context.Context) string {
		var p corev1.Pod
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(&list[0]), &p); err != nil {
			return err.Error()
		}
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount != 1 || !podReady(&p) {
			return "the container has not restarted and become Ready yet"
		}
		return ""
	})
	throughout(t, 3*time.Second, func(ctx context.Context) string {
		now, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(before, uids(now))
	})
	waitReady(t, ms)
}

func TestWhatIsDeletedByHandComesBack(t *testing.T) {
	ms := sample(t)
	ms.Spec.RecoveryPolicy = workloadv1alpha1.RecoverRole
	ms.Spec.Template.RestartGracePeriodSeconds = nil
	create(t, ms)
	waitReady(t, ms)

	t.Run("a worker Pod takes its role replica along", func(t *testing.T) {
		before := uids(mustPods(t, ms, nil))
		victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ms.Namespace, Name: "sample-0-decode-2-1"}}
		if err := k8s.Delete(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		replaced(t, ms, before, func(p corev1.Pod) bool { return p.Labels[names.LabelRoleID] == "decode-2" })
	})
	before := uids(mustPods(t, ms, nil))
	for _, o := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ms.Namespace, Name: "sample-0-prefill-0-0"}},
		&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: ms.Namespace, Name: "sample-0"}},
	} {
		t.Run(fmt.Sprintf("%T", o), func(t *testing.T) {
			if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
			old := o.GetUID()
			if err := k8s.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			eventually(t, timeout, func(ctx context.Context) string {
				if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
					return err.Error()
				}
				if o.GetUID() == old {
					return "it is still the old one"
				}
				return ""
			})
			if diff := cmp.Diff(before, uids(mustPods(t, ms, nil))); diff != "" {
				t.Errorf("Pods changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestAnInitContainerThatFailsForEverCausesNoStorm(t *testing.T) {
	ms := single(t, 1, 0)
	ms.Spec.Template.Roles[0].EntryTemplate.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "registry.example/fetch:1"}}
	setImage(ms, 0, "registry.example/llm:1", cluster.BehaviorInitFailure)
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonInitContainerFailed)
	before := uids(mustPods(t, ms, nil))
	throughout(t, 5*time.Second, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(before, uids(list))
	})
}

func TestAPodOnANodeThatIsGoneIsForceDeleted(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "doomed",
			Labels: map[string]string{"type": "kwok", "doomed": "true"},
		},
		Status: corev1.NodeStatus{},
	}
	var model corev1.Node
	if err := k8s.Get(t.Context(), client.ObjectKey{Name: cluster.NodeName(0)}, &model); err != nil {
		t.Fatal(err)
	}
	node.Status.Capacity, node.Status.Allocatable = model.Status.Capacity, model.Status.Allocatable
	for k, v := range model.Annotations {
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations[k] = v
	}
	create(t, node)
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), node) })
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return err.Error()
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				return ""
			}
		}
		return "the node is not ready"
	})

	ms := single(t, 1, 0)
	ms.Spec.Template.Roles[0].EntryTemplate.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: "doomed", Operator: corev1.NodeSelectorOpExists,
			}}},
		}},
	}}
	create(t, ms)
	waitReady(t, ms)
	old := mustPods(t, ms, nil)[0]
	if old.Spec.NodeName != node.Name {
		t.Fatalf("the Pod is on %q, want %q", old.Spec.NodeName, node.Name)
	}

	// The kubelet is lost first, so nobody finishes the Pod's termination.
	if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
		t.Fatal(err)
	}
	annotate(t, node, map[string]string{cluster.LostAnnotation: "true"})
	if err := k8s.Delete(t.Context(), &old); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		if len(list) != 1 || list[0].UID == old.UID || !podReady(&list[0]) {
			return "the Pod has not come back on another node"
		}
		return ""
	})
}

// A container that begins to crash for ever, after its Pod was Ready, is no start-up trouble.
func TestACrashLoopAfterReadyRecreatesTheGroup(t *testing.T) {
	ms := single(t, 1, 1)
	ms.Spec.RecoveryPolicy = workloadv1alpha1.RecoverServingGroup
	create(t, ms)
	waitReady(t, ms)
	list := mustPods(t, ms, nil)
	before := uids(list)
	// A Pod's times have seconds: one that was Ready for less may never have been.
	eventually(t, timeout, func(context.Context) string {
		if time.Since(list[1].CreationTimestamp.Time) < 3*time.Second {
			return "the Pod is too young"
		}
		return ""
	})
	annotate(t, &list[1], map[string]string{cluster.BehaviorAnnotation: cluster.BehaviorCrashLoop})
	replaced(t, ms, before, func(corev1.Pod) bool { return true })
	waitReady(t, ms)
}
