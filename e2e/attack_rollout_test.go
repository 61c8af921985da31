package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/plan/names"
)

// slowly has the Pods of the first role run image, and take a moment to start and to stop.
func slowly(ms *workloadv1alpha1.ModelServing, image int) {
	r := &ms.Spec.Template.Roles[0]
	for _, template := range []*workloadv1alpha1.PodTemplateSpec{&r.EntryTemplate, r.WorkerTemplate} {
		template.Spec.Containers[0].Image = imageOf(image)
		template.Metadata = &workloadv1alpha1.PodMetadata{Annotations: map[string]string{
			cluster.BehaviorAnnotation:  cluster.BehaviorSlowStart,
			cluster.DelayAnnotation:     "500ms",
			cluster.StopDelayAnnotation: "300ms",
		}}
	}
}

func imageOf(n int) string { return fmt.Sprintf("registry.example/llm:%d", n) }

// watchGangs samples for Pods of Volcano's whose PodGroup is not there, until the function that it
// gives is called, which reports them.
func watchGangs(t *testing.T, ms *workloadv1alpha1.ModelServing) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	match := []client.ListOption{client.InNamespace(ms.Namespace), client.MatchingLabels{names.LabelModelServing: ms.Name}}
	gangs := func() (sets.Set[string], error) {
		var list schedulingv1beta1.PodGroupList
		err := k8s.List(ctx, &list, match...)
		s := sets.New[string]()
		for i := range list.Items {
			s.Insert(list.Items[i].Name)
		}
		return s, err
	}
	found := sets.New[string]()
	look := func(context.Context) {
		before, err := gangs()
		var list corev1.PodList
		if err != nil || k8s.List(ctx, &list, match...) != nil {
			return
		}
		// One that was made in between, or was there until then, is no fault.
		after, err := gangs()
		if err != nil {
			return
		}
		for i := range list.Items {
			p := &list.Items[i]
			group := p.Labels[names.LabelGroup]
			if p.DeletionTimestamp == nil && p.Spec.SchedulerName == names.SchedulerVolcano && !before.Has(group) && !after.Has(group) {
				found.Insert(p.Name)
			}
		}
	}
	var done sync.WaitGroup
	done.Go(func() { wait.UntilWithContext(ctx, look, tick) })
	return func() {
		t.Helper()
		cancel()
		done.Wait()
		if found.Len() > 0 {
			t.Errorf("Pods without their PodGroup: %v", sets.List(found))
		}
	}
}

// besieged creates a ModelServing of one role with a worker and watches it. The function that it gives
// judges: no group was ever mixed, no Pod without its gang, and never were fewer than least available.
func besieged(t *testing.T, replicas int32, change func(*workloadv1alpha1.ModelServing)) (ms *workloadv1alpha1.ModelServing, judge func(least int)) {
	t.Helper()
	ms = single(t, replicas, 1)
	slowly(ms, 1)
	change(ms)
	create(t, ms)
	waitReady(t, ms)
	stopGroups, stopGangs := watchGroups(t, ms, 2), watchGangs(t, ms)
	return ms, func(least int) {
		t.Helper()
		stopGangs()
		g := stopGroups()
		if g.mixed != "" {
			t.Error(g.mixed)
		}
		if g.least < least {
			t.Errorf("%d groups were available at the worst moment, want at least %d", g.least, least)
		}
	}
}

// waitPod waits until there is a Pod like that.
func waitPod(t *testing.T, ms *workloadv1alpha1.ModelServing, what string, like func(*corev1.Pod) bool) {
	t.Helper()
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		switch {
		case err != nil:
			return err.Error()
		case slices.ContainsFunc(list, func(p corev1.Pod) bool { return like(&p) }):
			return ""
		default:
			return "no Pod " + what
		}
	})
}

// A patch may change all at once that a rollout goes by.
func TestAttackOnePatchOfEverything(t *testing.T) {
	t.Parallel()
	ms, judge := besieged(t, 4, func(*workloadv1alpha1.ModelServing) {})
	before := uids(mustPods(t, ms, map[string]string{names.LabelGroup: names.Group(ms.Name, 0)}))
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		slowly(ms, 2)
		ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](2)
		rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(1))
		rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromInt32(2))
	})
	waitRest(t, ms)
	judge(2)
	after := uids(mustPods(t, ms, nil))
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Pod %q, which the partition protects, was replaced", name)
		}
	}
}

// A rollout that is sent back before it has come far keeps to its budget as every other one.
func TestAttackFlippingImage(t *testing.T) {
	t.Parallel()
	ms, judge := besieged(t, 3, func(*workloadv1alpha1.ModelServing) {})
	for i := range 3 {
		image, before := 2-i%2, uids(mustPods(t, ms, nil))
		edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { slowly(ms, image) })
		waitPod(t, ms, "that is new and runs "+imageOf(image), func(p *corev1.Pod) bool {
			return p.Spec.Containers[0].Image == imageOf(image) && before[p.Name] != p.UID
		})
	}
	waitRest(t, ms)
	judge(2)
}

// While a rollout surges, the number of groups goes down and up again.
func TestAttackScalingDuringASurge(t *testing.T) {
	t.Parallel()
	ms, judge := besieged(t, 5, func(ms *workloadv1alpha1.ModelServing) {
		rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromInt32(0))
		rollingUpdate(ms).MaxSurge = ptr.To(intstr.FromString("40%"))
	})
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { slowly(ms, 2) })
	waitPod(t, ms, "of the last surge group", func(p *corev1.Pod) bool { return strings.HasPrefix(p.Name, "single-6-") })
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](3) })
	waitPod(t, ms, "of the first wanted group with the new image", func(p *corev1.Pod) bool {
		return p.Labels[names.LabelGroup] == names.Group(ms.Name, 2) && p.Spec.Containers[0].Image == imageOf(2)
	})
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](4) })
	waitRest(t, ms)
	judge(3)
}
