package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Names that others have taken are reported; freed, they are used within a minute without anybody's help.
func TestANameThatIsFreedIsUsed(t *testing.T) {
	ms := single(t, 2, 1)
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: ms.Namespace, Name: name}
	}
	pod := &corev1.Pod{ObjectMeta: named("single-0-server-0-1")}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "registry.example/other:1"}}
	strangers := []client.Object{
		pod,
		&corev1.Service{ObjectMeta: named("single-0-server-0-0"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&schedulingv1beta1.PodGroup{ObjectMeta: named("single-1"), Spec: schedulingv1beta1.PodGroupSpec{MinMember: 1}},
	}
	create(t, strangers...)
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict)
	for _, o := range strangers {
		if err := k8s.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	freed := time.Now()
	waitReady(t, ms)
	if took := time.Since(freed); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	waitRest(t, ms)
}

// A quota that is hit in the middle is reported in the server's words, and what it leaves is used
// once it is lifted.
func TestAQuotaThatIsLiftedIsUsed(t *testing.T) {
	ms := single(t, 3, 1)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ms.Namespace, Name: "few"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}
	create(t, quota)
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonCreateFailed)
	mustSay(t, kubectl(t, "-n", ms.Namespace, "get", "modelserving", ms.Name), "exceeded quota: few")

	more := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"10"}}}`))
	if err := k8s.Patch(t.Context(), quota, more); err != nil {
		t.Fatal(err)
	}
	waitRest(t, ms)
}

// A quota for one gang of three is not spread over them: a gang that lacks Pods never runs. That holds
// for the first Pods, which are created at once, and for what a gang leaves that is deleted.
func TestAQuotaForOneGangIsNotSpreadOverThree(t *testing.T) {
	ms := single(t, 3, 3)
	ms.Spec.RecoveryPolicy = workloadv1alpha1.RecoverServingGroup
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ms.Namespace, Name: "few"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("4")}
	create(t, quota)
	create(t, ms)
	before := map[types.UID]bool{}
	for range 2 {
		var serving []corev1.Pod
		eventually(t, timeout, func(ctx context.Context) string {
			list, err := pods(ctx, ms, nil)
			if err != nil {
				return err.Error()
			}
			groups := map[string]bool{}
			for i := range list {
				groups[list[i].Labels[names.LabelGroup]] = true
				if before[list[i].UID] || !podReady(&list[i]) {
					return fmt.Sprintf("Pod %q is not new and Ready", list[i].Name)
				}
			}
			if len(list) != 4 || len(groups) != 1 {
				return fmt.Sprintf("%d Pods of %d gangs, want 4 of one", len(list), len(groups))
			}
			serving = list
			return ""
		})
		for i := range serving {
			before[serving[i].UID] = true
			if err := k8s.Delete(t.Context(), &serving[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Changes that come faster than they can be carried out end as the last one.
func TestQuickChangesEndAsTheLastOne(t *testing.T) {
	ms := single(t, 3, 1)
	create(t, ms)
	waitReady(t, ms)
	var image string
	for i, replicas := range []int32{5, 1, 4, 0, 2, 3} {
		image = fmt.Sprintf("registry.example/llm:%d", i+2)
		edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
			ms.Spec.Replicas = ptr.To(replicas)
			setImage(ms, 0, image, "")
		})
	}
	waitRest(t, ms)
	for _, p := range mustPods(t, ms, nil) {
		if p.Spec.Containers[0].Image != image {
			t.Errorf("Pod %q runs %s, want %s", p.Name, p.Spec.Containers[0].Image, image)
		}
	}
}
