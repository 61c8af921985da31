package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/plan/names"
)

func inGroup(group string) func(corev1.Pod) bool {
	return func(p corev1.Pod) bool { return p.Labels[names.LabelGroup] == group }
}

func called(name string) func(corev1.Pod) bool {
	return func(p corev1.Pod) bool { return p.Name == name }
}

func podGroup(t *testing.T, ms *workloadv1alpha1.ModelServing, group string) *schedulingv1beta1.PodGroup {
	t.Helper()
	pg := &schedulingv1beta1.PodGroup{}
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ms.Namespace, Name: group}, pg); err != nil {
		t.Fatal(err)
	}
	return pg
}

// manifest writes a ModelServing into a file as a user has it; once it was read from the API server,
// with its defaults.
func manifest(t *testing.T, ms *workloadv1alpha1.ModelServing) string {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{
		"apiVersion": workloadv1alpha1.GroupVersion.String(), "kind": workloadv1alpha1.ModelServingKind,
		"metadata": map[string]any{"name": ms.Name, "namespace": ms.Namespace}, "spec": ms.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// grown waits until the Pods are old enough for a restart to count: a Pod's times have whole seconds,
// and one that was Ready for less may never have been.
func grown(t *testing.T, list []corev1.Pod) {
	t.Helper()
	eventually(t, timeout, func(context.Context) string {
		for _, p := range list {
			if time.Since(p.CreationTimestamp.Time) < 3*time.Second {
				return fmt.Sprintf("Pod %q is too young", p.Name)
			}
		}
		return ""
	})
}

// crash restarts the first container of a Pod, which is never Ready again.
func crash(t *testing.T, p corev1.Pod) {
	t.Helper()
	annotate(t, &p, map[string]string{cluster.RestartsAnnotation: "1", cluster.BehaviorAnnotation: cluster.BehaviorNeverReady})
	eventually(t, timeout, func(ctx context.Context) string {
		var now corev1.Pod
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(&p), &now); err == nil && now.UID == p.UID && podReady(&now) {
			return "the container has not restarted yet"
		}
		return ""
	})
}

func TestAPodThatIsDeletedComesBackAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		policy workloadv1alpha1.RecoveryPolicy
		victim string
	}{
		{"the only Pod of a role", workloadv1alpha1.RecoverRole, "single-0-router-0-0"},
		{"any Pod under None", workloadv1alpha1.RecoverNone, "single-0-server-0-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ms := single(t, 1, 1)
			router := *ms.Spec.Template.Roles[0].DeepCopy()
			router.Name, router.WorkerReplicas, router.WorkerTemplate = "router", 0, nil
			ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, router)
			ms.Spec.RecoveryPolicy = tt.policy
			create(t, ms)
			waitReady(t, ms)
			before := uids(mustPods(t, ms, nil))
			if err := k8s.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ms.Namespace, Name: tt.victim}}); err != nil {
				t.Fatal(err)
			}
			replaced(t, ms, before, called(tt.victim))
			waitReady(t, ms)
		})
	}
}

// Deadlines are read from Pods and status, so the next manager acts when the first would have: no
// sooner, no later, and it counts on. It finds nothing to do for a ModelServing of no groups.
func TestGraceAndBackOffOutliveTheManager(t *testing.T) {
	const grace = 25 * time.Second // longer than a killed manager's Lease
	zero, waiting, failing := single(t, 0, 0), single(t, 1, 1), single(t, 1, 1)
	waiting.Spec.Template.RestartGracePeriodSeconds = ptr.To(int64(grace.Seconds()))
	create(t, zero, waiting, failing)
	waitReady(t, zero)
	waitReady(t, waiting)
	waitReady(t, failing)
	list := mustPods(t, failing, nil)
	grown(t, list)
	crash(t, list[0])
	replaced(t, failing, uids(list), inGroup("single-0"))
	waitReady(t, failing)
	if r := failing.Status.Recoveries; len(r) != 1 || r[0].Count != 1 {
		t.Fatalf("recoveries: %+v", r)
	}
	first := failing.Status.Recoveries[0].LastRecoveryTime.Time

	forgiven, again := mustPods(t, waiting, nil), mustPods(t, failing, nil)
	grown(t, append(slices.Clone(again), forgiven...))
	before, began := versions(t, zero), time.Now()
	crash(t, forgiven[0])
	crash(t, again[0])
	restartManager(t)
	replaced(t, failing, uids(again), inGroup("single-0"))
	waitReady(t, failing)
	r := failing.Status.Recoveries
	if len(r) != 1 || r[0].Count != 2 {
		t.Fatalf("recoveries: %+v", r)
	}
	if waited := r[0].LastRecoveryTime.Sub(first); waited < 10*time.Second {
		t.Errorf("the second recovery came %s after the first, want 10 s", waited)
	}
	replaced(t, waiting, uids(forgiven), inGroup("single-0"))
	if took := time.Since(began); took < grace || took > grace+grace/2 {
		t.Errorf("replaced after %s, want the grace period of %s", took, grace)
	}
	waitReady(t, waiting)
	if diff := cmp.Diff(before, versions(t, zero)); diff != "" {
		t.Errorf("a restart wrote for no groups (-before +after):\n%s", diff)
	}
}

// A deadline belongs to the Pod that failed, not to the one that has its name now.
func TestAReplacementOutlivesTheOldDeadline(t *testing.T) {
	t.Parallel()
	ms := single(t, 1, 0)
	ms.Spec.Template.RestartGracePeriodSeconds = ptr.To[int64](8)
	create(t, ms)
	waitReady(t, ms)
	list := mustPods(t, ms, nil)
	grown(t, list)
	deadline := time.Now().Add(8 * time.Second)
	crash(t, list[0])
	if err := k8s.Delete(t.Context(), &list[0]); err != nil {
		t.Fatal(err)
	}
	replaced(t, ms, uids(list), inGroup("single-0"))
	replacement := uids(mustPods(t, ms, nil))
	throughout(t, time.Until(deadline)+3*time.Second, func(ctx context.Context) string {
		now, err := pods(ctx, ms, nil)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(replacement, uids(now))
	})
	waitReady(t, ms)
}

// A model that takes its time is not a failure, and neither is what it does before it first serves.
func TestASlowStartIsNoFailure(t *testing.T) {
	t.Parallel()
	ms := single(t, 1, 1)
	ms.Spec.RecoveryPolicy = workloadv1alpha1.RecoverServingGroup
	setImage(ms, 0, "registry.example/llm:1", cluster.BehaviorSlowStart)
	for _, template := range []*workloadv1alpha1.PodTemplateSpec{&ms.Spec.Template.Roles[0].EntryTemplate, ms.Spec.Template.Roles[0].WorkerTemplate} {
		template.Metadata.Annotations[cluster.DelayAnnotation] = "6s"
	}
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonPodsNotReady)
	before := uids(mustPods(t, ms, nil))
	waitReady(t, ms)
	if diff := cmp.Diff(before, uids(mustPods(t, ms, nil))); diff != "" {
		t.Errorf("Pods (-before +after):\n%s", diff)
	}
	if len(ms.Status.Recoveries) > 0 {
		t.Errorf("recoveries: %+v", ms.Status.Recoveries)
	}
}

// The garbage collector is still at work on the first one's Pods when the second one comes.
func TestAModelServingThatIsDeletedAndMadeAgainAtOnce(t *testing.T) {
	t.Parallel()
	ms := single(t, 2, 1)
	create(t, ms)
	waitReady(t, ms)
	list := mustPods(t, ms, nil)
	before := uids(list)
	for _, p := range list {
		annotate(t, &p, map[string]string{cluster.StopDelayAnnotation: "2s"})
	}
	next := ms.DeepCopy()
	next.ObjectMeta = metav1.ObjectMeta{Namespace: ms.Namespace, Name: ms.Name}
	next.Status = workloadv1alpha1.ModelServingStatus{}
	if err := k8s.Delete(t.Context(), ms, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	waitAbsent(t, ms)
	create(t, next)
	waitRest(t, next)
	for _, p := range mustPods(t, next, nil) {
		if before[p.Name] == p.UID || !metav1.IsControlledBy(&p, next) {
			t.Errorf("Pod %q is one of the first ModelServing's", p.Name)
		}
	}
	if len(next.Status.Recoveries) > 0 {
		t.Errorf("recoveries: %+v", next.Status.Recoveries)
	}
}

// While a role rolls, the group serves with less than was asked for, and the status says so; none of
// it is a failure.
func TestARollingRoleMakesItsGroupUnavailable(t *testing.T) {
	t.Parallel()
	ms := single(t, 1, 0)
	ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: workloadv1alpha1.RoleRollingUpdate}
	ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](2)
	create(t, ms)
	waitReady(t, ms)
	for _, p := range mustPods(t, ms, nil) {
		annotate(t, &p, map[string]string{cluster.StopDelayAnnotation: "1500ms"})
	}
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { setImage(ms, 0, "registry.example/llm:2", "") })
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(ms), ms); err != nil {
			return err.Error()
		}
		if ms.Status.AvailableReplicas != 0 {
			return fmt.Sprintf("%d groups are available", ms.Status.AvailableReplicas)
		}
		return ""
	})
	waitRolledOut(t, ms)
	if ms.Status.AvailableReplicas != 1 || len(ms.Status.Recoveries) > 0 {
		t.Errorf("%d groups are available, recoveries %+v", ms.Status.AvailableReplicas, ms.Status.Recoveries)
	}
	out := kubectl(t, "-n", ms.Namespace, "describe", "modelserving", ms.Name)
	mustSay(t, out, workloadv1alpha1.EventRolloutStarted, workloadv1alpha1.EventRolloutCompleted, workloadv1alpha1.EventRoleDeleting)
	for _, reason := range []string{workloadv1alpha1.EventRoleRecreating, workloadv1alpha1.EventGroupRecreating} {
		if strings.Contains(out, reason) {
			t.Errorf("the rollout is told of as a failure, %s:\n%s", reason, out)
		}
	}
}
