package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

func mustSay(t *testing.T, said string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing from: %s", want, said)
		}
	}
}

func TestAllFaultsComeInOneAnswer(t *testing.T) {
	ms := sample(t)
	ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: "llm-gateway"}
	ms.Spec.Template.GangPolicy.MinRoleReplicas = map[string]int32{"prefil": 1, "decode": 9}
	ms.Spec.Template.Roles[0].WorkerTemplate = nil
	mustSay(t, refused(t, ms),
		"spec.gatewayRef.host", "spec.gatewayRef.sectionName",
		"spec.template.gangPolicy.minRoleReplicas[prefil]", `"prefill"`,
		"spec.template.gangPolicy.minRoleReplicas[decode]", "9",
		"spec.template.roles[0].workerTemplate",
	)
}

func TestAnUnknownFieldIsRefusedByItsName(t *testing.T) {
	ns := namespace(t)
	out, err := kubectlErr(t, "apply", "-n", ns, "-f", repositoryPath(t, "e2e/testdata/unknown-field.yaml"))
	if err == nil {
		t.Errorf("accepted: %s", out)
	}
	mustSay(t, out, `unknown field "spec.template.rolez"`)
}

func TestAStrangerMustNotJoinAGang(t *testing.T) {
	ms := single(t, 1, 0)
	create(t, ms)
	waitReady(t, ms)
	own := mustPods(t, ms, nil)[0]

	stranger := &corev1.Pod{Spec: corev1.PodSpec{Containers: own.Spec.Containers}}
	stranger.Namespace, stranger.Name, stranger.Labels = own.Namespace, "stranger", own.Labels
	mustSay(t, refused(t, stranger), names.LabelModelServing)
}
