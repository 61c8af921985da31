package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// While a role rolls from another scheduler to Volcano, its group's gang must not ask for the Pods
// that the other one has placed.
func TestAModelServingMovesToAnotherSchedulerAndBack(t *testing.T) {
	for _, strategy := range []workloadv1alpha1.RolloutStrategyType{
		workloadv1alpha1.ServingGroupRollingUpdate, workloadv1alpha1.RoleRollingUpdate,
	} {
		t.Run(string(strategy), func(t *testing.T) {
			ms := single(t, 2, 1)
			ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: strategy}
			ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](2)
			create(t, ms)
			waitReady(t, ms)
			for _, scheduler := range []string{corev1.DefaultSchedulerName, names.SchedulerVolcano} {
				edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.SchedulerName = scheduler })
				waitRest(t, ms)
			}
		})
	}
}

// A group that the partition holds back is rebuilt as it was, its scheduler included.
func TestAProtectedGroupKeepsItsScheduler(t *testing.T) {
	ms := single(t, 2, 0)
	ms.Spec.SchedulerName = corev1.DefaultSchedulerName
	rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(1))
	create(t, ms)
	waitReady(t, ms)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.SchedulerName = names.SchedulerVolcano })
	waitRolledOut(t, ms)

	held := &corev1.Pod{}
	key := client.ObjectKey{Namespace: ms.Namespace, Name: "single-0-server-0-0"}
	if err := k8s.Get(t.Context(), key, held); err != nil {
		t.Fatal(err)
	}
	old := held.UID
	if err := k8s.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, key, held); err != nil {
			return err.Error()
		}
		if held.UID == old || !podReady(held) {
			return "the Pod has not come back"
		}
		return ""
	})
	if held.Spec.SchedulerName != corev1.DefaultSchedulerName || held.Annotations[names.AnnotationGroupName] != "" {
		t.Errorf("scheduler %q, annotations %v", held.Spec.SchedulerName, held.Annotations)
	}
	waitReady(t, ms)
}
