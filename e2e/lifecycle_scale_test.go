package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// A ModelServing that begins at zero is what an autoscaler finds after a night: it reads the scale,
// and writes it through the webhook of the subresource.
func TestZeroGroupsFromTheStartAreScaledByTheSubresource(t *testing.T) {
	t.Parallel()
	ms := single(t, 0, 1)
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, workloadv1alpha1.ReasonScaledToZero)
	scale := &autoscalingv1.Scale{}
	if err := k8s.SubResource("scale").Get(t.Context(), ms, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Status.Selector == "" {
		t.Error("no selector at zero groups")
	}
	scale.Spec.Replicas = 3
	if err := k8s.SubResource("scale").Update(t.Context(), ms, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	edit(t, ms, func(*workloadv1alpha1.ModelServing) {}) // reads the new spec
	waitRest(t, ms)
	if err := k8s.SubResource("scale").Get(t.Context(), ms, scale); err != nil {
		t.Fatal(err)
	}
	selector, err := labels.Parse(scale.Status.Selector)
	if err != nil {
		t.Fatal(err)
	}
	var counted []string
	for _, p := range mustPods(t, ms, nil) {
		if selector.Matches(labels.Set(p.Labels)) {
			counted = append(counted, p.Name)
		}
	}
	if diff := cmp.Diff([]string{"single-0-server-0-0", "single-1-server-0-0", "single-2-server-0-0"}, counted); diff != "" || scale.Status.Replicas != 3 {
		t.Errorf("replicas %d; Pods that are counted (-want +got):\n%s", scale.Status.Replicas, diff)
	}
}

// Admission lets all of these pass, and their rollouts end.
func TestLimitsThatRoundToNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		replicas int32
		change   func(*workloadv1alpha1.ModelServing)
		// stays says that nothing may move.
		stays bool
	}{
		{"a percentage of no group", 0, func(ms *workloadv1alpha1.ModelServing) {
			rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromString("34%"))
		}, false},
		{"a percentage of one group", 1, func(ms *workloadv1alpha1.ModelServing) {
			rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromString("1%"))
		}, false},
		{"a percentage of three groups", 3, func(ms *workloadv1alpha1.ModelServing) {
			rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromString("34%"))
		}, false},
		{"a partition that is the number of groups", 2, func(ms *workloadv1alpha1.ModelServing) {
			rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(2))
		}, true},
		{"a partition above the number of groups", 2, func(ms *workloadv1alpha1.ModelServing) {
			rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(7))
		}, true},
		{"a role of no replicas that is to roll", 1, func(ms *workloadv1alpha1.ModelServing) {
			ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: workloadv1alpha1.RoleRollingUpdate}
			idle := *ms.Spec.Template.Roles[0].DeepCopy()
			idle.Name, idle.Replicas = "idle", ptr.To[int32](0)
			ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, idle)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ms := single(t, tt.replicas, 0)
			tt.change(ms)
			create(t, ms)
			waitReady(t, ms)
			before := uids(mustPods(t, ms, nil))
			edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
				for role := range ms.Spec.Template.Roles {
					setImage(ms, role, "registry.example/llm:2", "")
				}
			})
			waitRolledOut(t, ms)
			list := mustPods(t, ms, nil)
			if len(list) != int(tt.replicas) {
				t.Errorf("%d Pods, want %d", len(list), tt.replicas)
			}
			for _, p := range list {
				if stayed := p.UID == before[p.Name]; stayed != tt.stays {
					t.Errorf("Pod %q stayed: %t, want %t", p.Name, stayed, tt.stays)
				}
			}
		})
	}
}

func TestImageAndRoleReplicasInOneUpdate(t *testing.T) {
	t.Parallel()
	ms := single(t, 2, 0)
	create(t, ms)
	waitReady(t, ms)
	stop := watchGroups(t, ms, 1)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(ms, 0, "registry.example/llm:2", "")
		ms.Spec.Template.Roles[0].Replicas = ptr.To[int32](3)
	})
	waitRest(t, ms)
	if g := stop(); g.mixed != "" {
		t.Error(g.mixed)
	}
	for _, p := range mustPods(t, ms, nil) {
		if p.Spec.Containers[0].Image != "registry.example/llm:2" {
			t.Errorf("Pod %q runs %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
}

// The gang of a group is as large as the group's own revision says, above the partition and below it.
func TestWorkersChangedUnderAPartition(t *testing.T) {
	t.Parallel()
	ms := single(t, 2, 1)
	ms.Spec.RecoveryPolicy = workloadv1alpha1.RecoverServingGroup
	rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(1))
	create(t, ms)
	waitReady(t, ms)
	old := ms.Status.CurrentRevision
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Template.Roles[0].WorkerReplicas = 2 })
	waitRolledOut(t, ms)
	gangs := func() {
		t.Helper()
		for group, want := range map[string]int32{"single-0": 2, "single-1": 3} {
			if pg := podGroup(t, ms, group); pg.Spec.MinMember != want {
				t.Errorf("PodGroup %q has minMember %d, want %d", group, pg.Spec.MinMember, want)
			}
			if list := mustPods(t, ms, map[string]string{names.LabelGroup: group}); len(list) != int(want) {
				t.Errorf("%d Pods in %q, want %d", len(list), group, want)
			}
		}
	}
	gangs()

	// The protected group is rebuilt wholly as it was, gang and all.
	before := mustPods(t, ms, nil)
	if err := k8s.Delete(t.Context(), &before[0]); err != nil {
		t.Fatal(err)
	}
	replaced(t, ms, uids(before), inGroup("single-0"))
	waitReady(t, ms)
	gangs()
	for _, p := range mustPods(t, ms, map[string]string{names.LabelGroup: "single-0"}) {
		if !strings.HasSuffix(old, p.Labels[names.LabelRevision]) {
			t.Errorf("Pod %q is of revision %s, want %s", p.Name, p.Labels[names.LabelRevision], old)
		}
	}
	revisions := kubectl(t, "-n", ms.Namespace, "get", "controllerrevisions", "-o", "name")
	if !strings.Contains(revisions, old) {
		t.Errorf("the old ControllerRevision %s is gone; there are:\n%s", old, revisions)
	}
}

// The name that is exactly as long as it may be runs; one character more is refused, with the number
// of characters to remove.
func TestTheLongestNameThatFits(t *testing.T) {
	t.Parallel()
	ms := single(t, 1, 1)
	ms.Name = strings.Repeat("m", 63-len("-0-server-0-1"))
	create(t, ms)
	waitRest(t, ms)

	long := single(t, 1, 1)
	long.Name = ms.Name + "m"
	mustSay(t, refused(t, long), "metadata.name", "remove 1 character")
}

func TestATemplateMustNotSetOurLabels(t *testing.T) {
	t.Parallel()
	ms := single(t, 1, 0)
	ms.Spec.Template.Roles[0].EntryTemplate.Metadata.Labels = map[string]string{names.LabelGroup: "another-0"}
	mustSay(t, refused(t, ms), "spec.template.roles[0].entryTemplate.metadata.labels", names.LabelGroup)
}

// A GitOps tool applies its manifest every few minutes, and another one with the defaults that it read
// from the API server.
func TestAManifestAppliedAgainWritesNothing(t *testing.T) {
	t.Parallel()
	ms := single(t, 2, 1)
	path := manifest(t, ms)
	apply := func(path string, how ...string) {
		t.Helper()
		if out, err := kubectlErr(t, append([]string{"apply", "-f", path}, how...)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	apply(path)
	if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(ms), ms); err != nil {
		t.Fatal(err)
	}
	waitRest(t, ms)
	before := versions(t, ms)
	apply(path)
	if diff := cmp.Diff(before, versions(t, ms)); diff != "" {
		t.Errorf("applied again (-before +after):\n%s", diff)
	}

	// With all defaults written out the ModelServing has other owners of its fields, and nothing else.
	apply(manifest(t, ms), "--server-side", "--force-conflicts")
	waitRest(t, ms)
	after := versions(t, ms)
	for _, m := range []map[string]string{before, after} {
		for key := range m {
			if strings.HasPrefix(key, "*v1alpha1.ModelServing ") {
				delete(m, key)
			}
		}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("applied with its defaults (-before +after):\n%s", diff)
	}
	revisions := strings.Fields(kubectl(t, "-n", ms.Namespace, "get", "controllerrevisions", "-o", "name"))
	if len(revisions) != 1 {
		t.Errorf("ControllerRevisions: %v", revisions)
	}
}

// As many groups break as the budget allowed then; it has shrunk since.
func TestMoreBrokenGroupsThanTheBudgetAreHealedFirst(t *testing.T) {
	t.Parallel()
	ms := single(t, 4, 0)
	rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromInt32(3))
	create(t, ms)
	waitReady(t, ms)
	breakGroups(t, ms, 3)
	good := mustPods(t, ms, map[string]string{names.LabelGroup: "single-0"})[0]

	stop := watchGroups(t, ms, 1)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(ms, 0, "registry.example/llm:2", "")
		rollingUpdate(ms).MaxUnavailable = ptr.To(intstr.FromInt32(1))
	})
	waitRolledOut(t, ms)
	if g := stop(); g.least < 1 {
		t.Error("the last good group was taken before the broken ones were healed")
	}
	list := mustPods(t, ms, nil)
	if i := slices.IndexFunc(list, func(p corev1.Pod) bool { return p.UID == good.UID }); i >= 0 {
		t.Errorf("Pod %q was never updated", list[i].Name)
	}
}
