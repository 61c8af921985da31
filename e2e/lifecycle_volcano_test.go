package e2e

import (
	"context"
	"os/exec"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
)

// A manager that starts on a cluster without Volcano's CRDs says so, at the terminal and in the status,
// and makes Pods; when Volcano comes, the gangs come, too, and nothing is restarted.
func TestVolcanoThatComesLater(t *testing.T) {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	key := client.ObjectKey{Name: "podgroups.scheduling.volcano.sh"}
	if err := k8s.Get(t.Context(), key, crd); err != nil {
		t.Fatal(err)
	}
	file := repositoryPath(t, "bin/manifests/volcano/scheduling.volcano.sh_podgroups.yaml")
	install := func() {
		apply := exec.Command(repositoryPath(t, "bin/assets/kubectl"), "--kubeconfig", local.Kubeconfig(), "apply", "--server-side", "--force-conflicts", "-f", file)
		if out, err := apply.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	if err := k8s.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(install)
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, key, crd); !apierrors.IsNotFound(err) {
			return "the CRD is still there"
		}
		return ""
	})
	if err := local.StopManager(); err != nil {
		t.Fatal(err)
	}
	if err := local.StartManager(t.Context(), cluster.GangwayOptions{}); err != nil {
		t.Fatal(err)
	}

	ms := single(t, 2, 1)
	out, err := kubectlErr(t, "apply", "-f", manifest(t, ms))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mustSay(t, out, "Warning", "Volcano is not installed")
	waitCondition(t, ms, workloadv1alpha1.ConditionGangSchedulingReady, metav1.ConditionFalse, workloadv1alpha1.ReasonVolcanoNotInstalled)
	eventually(t, timeout, func(ctx context.Context) string {
		if list, err := pods(ctx, ms, nil); err != nil || len(list) != 4 {
			return "the Pods are not made"
		}
		return ""
	})
	before := uids(mustPods(t, ms, nil))

	came := time.Now()
	install()
	waitRest(t, ms)
	t.Logf("at rest %s after Volcano came", time.Since(came).Round(time.Second))
	for name, uid := range uids(mustPods(t, ms, nil)) {
		if before[name] != uid {
			t.Errorf("Pod %q was made anew", name)
		}
	}
}
