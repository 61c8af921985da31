package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// sample reads the ModelServing of config/samples into a test's namespace.
func sample(t *testing.T) *workloadv1alpha1.ModelServing {
	t.Helper()
	ms := &workloadv1alpha1.ModelServing{}
	readManifest(t, "config/samples/modelserving-pd.yaml", ms)
	ms.Namespace = namespace(t)
	return ms
}

func request(ms *workloadv1alpha1.ModelServing, gpus string) {
	need := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)},
		Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)},
	}
	for i := range ms.Spec.Template.Roles {
		r := &ms.Spec.Template.Roles[i]
		r.EntryTemplate.Spec.Containers[0].Resources = need
		if r.WorkerTemplate != nil {
			r.WorkerTemplate.Spec.Containers[0].Resources = need
		}
	}
}

func TestSampleIsBoundAsOneGang(t *testing.T) {
	ms := sample(t)
	create(t, ms)
	waitReady(t, ms)

	list := mustPods(t, ms, nil)
	if len(list) != 16 {
		t.Errorf("%d Pods, want 16", len(list))
	}
	for _, p := range list {
		if p.Spec.NodeName == "" {
			t.Errorf("Pod %q is not bound", p.Name)
		}
		if p.Spec.SchedulerName != names.SchedulerVolcano || p.Annotations[names.AnnotationGroupName] != "sample-0" {
			t.Errorf("Pod %q is not in the gang: scheduler %q, annotations %v", p.Name, p.Spec.SchedulerName, p.Annotations)
		}
	}

	var pg schedulingv1beta1.PodGroup
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ms.Namespace, Name: "sample-0"}, &pg); err != nil {
		t.Fatal(err)
	}
	type subGroup struct {
		Name          string
		Size, Minimum int32
	}
	var got []subGroup
	for _, s := range pg.Spec.SubGroupPolicy {
		got = append(got, subGroup{s.Name, ptr.Deref(s.SubGroupSize, 0), ptr.Deref(s.MinSubGroups, 0)})
	}
	if diff := cmp.Diff([]subGroup{{"prefill", 2, 2}, {"decode", 2, 2}}, got); diff != "" {
		t.Errorf("subGroupPolicy (-want +got):\n%s", diff)
	}
	if pg.Spec.MinMember != 8 {
		t.Errorf("minMember is %d, want 8", pg.Spec.MinMember)
	}
	for _, p := range list {
		if p.CreationTimestamp.Before(&pg.CreationTimestamp) {
			t.Errorf("Pod %q is older than its PodGroup", p.Name)
		}
	}
}

func TestGangThatDoesNotFitBindsNothingAndFollowsItsTemplate(t *testing.T) {
	ms := sample(t)
	request(ms, "8") // one Pod fills a node, so fewer than 8 fit
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonGangPending)
	waitCondition(t, ms, workloadv1alpha1.ConditionGangSchedulingReady, metav1.ConditionFalse, workloadv1alpha1.ReasonGangPending)
	throughout(t, 3*time.Second, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		for _, p := range list {
			if p.Spec.NodeName != "" {
				return fmt.Sprintf("Pod %q is bound to %s", p.Name, p.Spec.NodeName)
			}
		}
		return ""
	})
	eventually(t, timeout, func(context.Context) string {
		out := kubectl(t, "get", "ms", "-n", ms.Namespace, ms.Name)
		for _, want := range []string{"GangPending", "8 minAvailable"} {
			if !strings.Contains(out, want) {
				return fmt.Sprintf("kubectl get ms does not say %q:\n%s", want, out)
			}
		}
		return ""
	})

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { request(ms, "1") })
	waitRolledOut(t, ms)
	var pg schedulingv1beta1.PodGroup
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ms.Namespace, Name: "sample-0"}, &pg); err != nil {
		t.Fatal(err)
	}
	if got := (*pg.Spec.MinResources)["nvidia.com/gpu"]; got.Value() != 8 {
		t.Errorf("minResources asks for %s GPUs, want 8", got.String())
	}
}

func TestGangPolicyChangesInPlace(t *testing.T) {
	ms := sample(t)
	create(t, ms)
	waitReady(t, ms)
	before := uids(mustPods(t, ms, nil))
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		ms.Spec.Template.GangPolicy.MinRoleReplicas = map[string]int32{"prefill": 1, "decode": 3}
	})
	eventually(t, timeout, func(ctx context.Context) string {
		var pg schedulingv1beta1.PodGroup
		if err := k8s.Get(ctx, client.ObjectKey{Namespace: ms.Namespace, Name: "sample-0"}, &pg); err != nil {
			return err.Error()
		}
		if n := ptr.Deref(pg.Spec.SubGroupPolicy[1].MinSubGroups, 0); n != 3 {
			return fmt.Sprintf("decode needs %d, want 3", n)
		}
		return ""
	})
	if diff := cmp.Diff(before, uids(mustPods(t, ms, nil))); diff != "" {
		t.Errorf("Pods changed (-before +after):\n%s", diff)
	}
}

func TestScalingARoleTouchesNoOtherPodAndDeletingLeavesNothing(t *testing.T) {
	ms := sample(t)
	create(t, ms)
	waitReady(t, ms)
	before := uids(mustPods(t, ms, nil))

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](10) })
	waitReady(t, ms)
	after := uids(mustPods(t, ms, nil))
	if len(after) != 28 {
		t.Errorf("%d Pods, want 28", len(after))
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Pod %q was replaced", name)
		}
	}

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](4) })
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(before, uids(list))
	})

	if err := k8s.Delete(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	waitGone(t, ms.Namespace, &corev1.PodList{}, &corev1.ServiceList{}, &schedulingv1beta1.PodGroupList{}, &appsv1.ControllerRevisionList{})
}

func TestScaleToZeroAndBackAtOnce(t *testing.T) {
	ms := sample(t)
	ms.Spec.Replicas = ptr.To[int32](4)
	create(t, ms)
	waitReady(t, ms)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](0) })
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](4) })
	waitReady(t, ms)
	if n := len(mustPods(t, ms, nil)); n != 64 {
		t.Errorf("%d Pods, want 64", n)
	}

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](0) })
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, workloadv1alpha1.ReasonScaledToZero)
	waitGone(t, ms.Namespace, &corev1.PodList{}, &schedulingv1beta1.PodGroupList{})
	if ms.Status.LabelSelector == "" {
		t.Error("no labelSelector at zero groups: an HPA could not read the scale")
	}
}
