package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/plan/names"
)

// single is a ModelServing of one role; each group is one entry Pod and its workers.
func single(t *testing.T, replicas, workers int32) *workloadv1alpha1.ModelServing {
	t.Helper()
	template := func() *workloadv1alpha1.PodTemplateSpec {
		return &workloadv1alpha1.PodTemplateSpec{
			Metadata: &workloadv1alpha1.PodMetadata{},
			Spec:     corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "registry.example/llm:1"}}},
		}
	}
	return &workloadv1alpha1.ModelServing{
		ObjectMeta: metav1.ObjectMeta{Name: "single", Namespace: namespace(t)},
		Spec: workloadv1alpha1.ModelServingSpec{
			Replicas: ptr.To(replicas),
			Template: workloadv1alpha1.ServingGroup{
				Roles: []workloadv1alpha1.Role{{
					Name: "server", EntryTemplate: *template(), WorkerReplicas: workers, WorkerTemplate: template(),
				}},
			},
		},
	}
}

// setImage changes the template; behavior is what kwok makes of the new Pods.
func setImage(ms *workloadv1alpha1.ModelServing, role int, image, behavior string) {
	r := &ms.Spec.Template.Roles[role]
	for _, template := range []*workloadv1alpha1.PodTemplateSpec{&r.EntryTemplate, r.WorkerTemplate} {
		if template == nil {
			continue
		}
		template.Spec.Containers[0].Image = image
		template.Metadata = &workloadv1alpha1.PodMetadata{}
		if behavior != "" {
			template.Metadata.Annotations = map[string]string{cluster.BehaviorAnnotation: behavior}
		}
	}
}

func rollingUpdate(ms *workloadv1alpha1.ModelServing) *workloadv1alpha1.RollingUpdateConfiguration {
	if ms.Spec.RolloutStrategy == nil {
		ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{}
	}
	if ms.Spec.RolloutStrategy.RollingUpdateConfiguration == nil {
		ms.Spec.RolloutStrategy.RollingUpdateConfiguration = &workloadv1alpha1.RollingUpdateConfiguration{}
	}
	return ms.Spec.RolloutStrategy.RollingUpdateConfiguration
}

// groups watches Pods from the API server and judges after every single event.
type groups struct {
	ms    *workloadv1alpha1.ModelServing
	size  int // Pods of one group
	pods  map[string]*corev1.Pod
	least int    // fewest groups that were available at once
	mixed string // a group that held two revisions at once
}

func (g *groups) judge() {
	ready, revisions := map[string]int{}, map[string]sets.Set[string]{}
	for _, p := range g.pods {
		group := p.Labels[names.LabelGroup]
		if podReady(p) {
			ready[group]++
		}
		if p.DeletionTimestamp == nil {
			if revisions[group] == nil {
				revisions[group] = sets.New[string]()
			}
			revisions[group].Insert(p.Labels[names.LabelRevision])
		}
	}
	available := 0
	for _, n := range ready {
		if n >= g.size {
			available++
		}
	}
	g.least = min(g.least, available)
	for group, held := range revisions {
		if held.Len() > 1 {
			g.mixed = fmt.Sprintf("group %s holds %v", group, sets.List(held))
		}
	}
}

// watchGroups begins to watch and gives a function that ends it and reports.
func watchGroups(t *testing.T, ms *workloadv1alpha1.ModelServing, size int) func() *groups {
	t.Helper()
	match := []client.ListOption{client.InNamespace(ms.Namespace), client.MatchingLabels{names.LabelModelServing: ms.Name}}
	var list corev1.PodList
	if err := k8s.List(t.Context(), &list, match...); err != nil {
		t.Fatal(err)
	}
	g := &groups{ms: ms, size: size, pods: map[string]*corev1.Pod{}, least: 1 << 30}
	for _, p := range list.Items {
		g.pods[p.Name] = &p
	}
	w, err := k8s.Watch(t.Context(), &corev1.PodList{}, append(match, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})...)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			p, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if event.Type == watch.Deleted {
				delete(g.pods, p.Name)
			} else {
				g.pods[p.Name] = p
			}
			g.judge()
		}
	}()
	return func() *groups {
		w.Stop()
		<-done
		return g
	}
}

func TestRolloutKeepsItsBudgetAndMixesNoRevisions(t *testing.T) {
	for _, tt := range []struct {
		name             string
		unavailable, max intstr.IntOrString
		least            int
	}{
		{"one at a time", intstr.FromInt32(1), intstr.FromInt32(0), 3},
		{"half at a time", intstr.FromString("50%"), intstr.FromInt32(0), 2},
		{"surge without a dip", intstr.FromInt32(0), intstr.FromInt32(1), 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ms := single(t, 4, 1)
			*rollingUpdate(ms) = workloadv1alpha1.RollingUpdateConfiguration{MaxUnavailable: &tt.unavailable, MaxSurge: &tt.max}
			create(t, ms)
			waitReady(t, ms)

			stop := watchGroups(t, ms, 2)
			edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { setImage(ms, 0, "registry.example/llm:2", "") })
			waitRolledOut(t, ms)
			g := stop()
			if g.least < tt.least {
				t.Errorf("only %d groups were available at one moment, want %d", g.least, tt.least)
			}
			if g.mixed != "" {
				t.Error(g.mixed)
			}
			// Surge groups go once the rollout is done.
			eventually(t, timeout, func(ctx context.Context) string {
				list, err := pods(ctx, ms, nil)
				if err != nil {
					return err.Error()
				}
				if len(list) != 8 {
					return fmt.Sprintf("%d Pods, want 8", len(list))
				}
				return ""
			})
			for _, p := range mustPods(t, ms, nil) {
				if p.Spec.Containers[0].Image != "registry.example/llm:2" {
					t.Errorf("Pod %q runs %s", p.Name, p.Spec.Containers[0].Image)
				}
			}
		})
	}
}

// breakGroups rolls an image out that cannot be pulled, and waits until that stops at n broken groups.
func breakGroups(t *testing.T, ms *workloadv1alpha1.ModelServing, n int32) {
	t.Helper()
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(ms, 0, "registry.example/no-such:1", cluster.BehaviorImagePullFailure)
	})
	eventually(t, timeout, func(ctx context.Context) string {
		if missing := condition(ctx, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonImagePullFailed); missing != "" {
			return missing
		}
		if left := *ms.Spec.Replicas - n; ms.Status.UpdatedReplicas != n || ms.Status.AvailableReplicas != left {
			return fmt.Sprintf("%d updated and %d available, want %d and %d", ms.Status.UpdatedReplicas, ms.Status.AvailableReplicas, n, left)
		}
		return ""
	})
}

func TestFixedImageHealsBrokenGroupsFirst(t *testing.T) {
	ms := single(t, 4, 0)
	rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromInt32(2))
	create(t, ms)
	waitReady(t, ms)
	breakGroups(t, ms, 2)

	stop := watchGroups(t, ms, 1)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { setImage(ms, 0, "registry.example/llm:2", "") })
	waitRolledOut(t, ms)
	if g := stop(); g.least < 2 {
		t.Errorf("only %d groups were available at one moment, want 2", g.least)
	}
}

func TestPartitionProtectsItsGroups(t *testing.T) {
	ms := single(t, 4, 0)
	rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(2))
	create(t, ms)
	waitReady(t, ms)
	before := uids(mustPods(t, ms, nil))

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { setImage(ms, 0, "registry.example/llm:2", "") })
	eventually(t, timeout, func(ctx context.Context) string {
		if missing := condition(ctx, ms, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, ""); missing != "" {
			return missing
		}
		if ms.Status.UpdatedReplicas != 2 {
			return fmt.Sprintf("%d groups updated, want 2", ms.Status.UpdatedReplicas)
		}
		return ""
	})
	image := func(group string) string {
		list := mustPods(t, ms, map[string]string{names.LabelGroup: group})
		if len(list) != 1 {
			t.Fatalf("%d Pods in %s, want 1", len(list), group)
		}
		return list[0].Spec.Containers[0].Image
	}
	after := uids(mustPods(t, ms, nil))
	for _, protected := range []string{"single-0-server-0-0", "single-1-server-0-0"} {
		if before[protected] != after[protected] {
			t.Errorf("Pod %q is protected, and was replaced", protected)
		}
	}

	// A protected group that must be rebuilt is rebuilt from the revision that it had.
	victim := mustPods(t, ms, map[string]string{names.LabelGroup: "single-0"})[0]
	if err := k8s.Delete(t.Context(), &victim); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, map[string]string{names.LabelGroup: "single-0"})
		if err != nil {
			return err.Error()
		}
		if len(list) != 1 || list[0].UID == victim.UID || !podReady(&list[0]) {
			return "group single-0 is not rebuilt"
		}
		return ""
	})
	if got := image("single-0"); got != "registry.example/llm:1" {
		t.Errorf("the protected group was rebuilt with %s", got)
	}

	// New ordinals are new, old ones stay as they are.
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](6) })
	waitReady(t, ms)
	for group, want := range map[string]string{"single-1": "registry.example/llm:1", "single-4": "registry.example/llm:2", "single-5": "registry.example/llm:2"} {
		if got := image(group); got != want {
			t.Errorf("group %s runs %s, want %s", group, got, want)
		}
	}
}

func TestRoleRollingUpdateLeavesOtherRolesAlone(t *testing.T) {
	ms := sample(t)
	ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: workloadv1alpha1.RoleRollingUpdate}
	create(t, ms)
	waitReady(t, ms)
	decode := map[string]string{names.LabelRole: "decode"}
	before := uids(mustPods(t, ms, decode))

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { setImage(ms, 0, "registry.example/llm:2", "") })
	waitRolledOut(t, ms)
	if diff := cmp.Diff(before, uids(mustPods(t, ms, decode))); diff != "" {
		t.Errorf("decode was touched (-before +after):\n%s", diff)
	}
	for _, p := range mustPods(t, ms, map[string]string{names.LabelRole: "prefill"}) {
		if p.Spec.Containers[0].Image != "registry.example/llm:2" {
			t.Errorf("Pod %q runs %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
}

func TestPausedRolloutStandsStillAndSaysSo(t *testing.T) {
	ms := single(t, 2, 0)
	create(t, ms)
	waitReady(t, ms)
	before := uids(mustPods(t, ms, nil))
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		rollingUpdate(ms)
		ms.Spec.RolloutStrategy.Paused = true
		setImage(ms, 0, "registry.example/llm:2", "")
	})
	waitCondition(t, ms, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionTrue, workloadv1alpha1.ReasonRolloutPaused)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](3) })
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		if len(list) != 3 {
			return fmt.Sprintf("%d Pods, want 3: scaling goes on while a rollout is paused", len(list))
		}
		return ""
	})
	after := uids(mustPods(t, ms, nil))
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Pod %q was replaced by a paused rollout", name)
		}
	}
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.RolloutStrategy.Paused = false })
	waitRolledOut(t, ms)
	for _, p := range mustPods(t, ms, nil) {
		if !strings.HasSuffix(p.Spec.Containers[0].Image, ":2") {
			t.Errorf("Pod %q runs %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
}
