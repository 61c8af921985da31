package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
)

// kubectl get says in one line what is wrong, kubectl describe since when and what led to it.
func TestKubectlIsEnoughForThePersonOnCall(t *testing.T) {
	t.Parallel()
	ms := single(t, 2, 0)
	create(t, ms)
	waitReady(t, ms)
	get := func(more ...string) (header []string, line string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(kubectl(t, append([]string{"get", "ms", "-n", ms.Namespace, ms.Name}, more...)...)), "\n")
		if len(lines) != 2 {
			t.Fatalf("want a header and one line, have %q", lines)
		}
		return strings.Fields(lines[0]), lines[1]
	}
	want := []string{"NAME", "READY", "AVAILABLE", "GROUPS", "UPDATED", "HOST", "REASON", "AGE", "MESSAGE"}
	header, line := get()
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if fields := strings.Fields(line); len(fields) < 6 || fmt.Sprint(fields[:6]) != "[single True 2 2 2 AllGroupsAvailable]" {
		t.Errorf("a ModelServing that is well shows as %q", line)
	}
	header, line = get("-o", "wide")
	if diff := cmp.Diff(append(want, "REVISION"), header); diff != "" || !strings.Contains(line, ms.Status.UpdateRevision) {
		t.Errorf("wide columns (-want +got):\n%s\n%s", diff, line)
	}

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		setImage(ms, 0, "registry.example/no-such:1", cluster.BehaviorImagePullFailure)
	})
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonImagePullFailed)
	words := `Pod "single-1-server-0-0", container "server": ImagePullBackOff: Back-off pulling image "registry.example/no-such:1"`
	if _, line = get(); !strings.HasSuffix(line, words) || !strings.Contains(line, "False") {
		t.Errorf("want a line that ends with %s, have %q", words, line)
	}
	eventually(t, timeout, func(context.Context) string {
		out := kubectl(t, "describe", "ms", "-n", ms.Namespace, ms.Name)
		for _, want := range []string{
			"Last Transition Time:", workloadv1alpha1.ReasonImagePullFailed, words,
			"RoleCreating", "RoleRunning", "RolloutStarted", "RoleDeleting", "(Rollout)",
		} {
			if !strings.Contains(out, want) {
				return fmt.Sprintf("kubectl describe does not say %q:\n%s", want, out)
			}
		}
		return ""
	})
}
