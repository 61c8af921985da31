package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gangway-serving/gangway/e2e/cluster"
)

func repositoryPath(t *testing.T, path string) string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, path)
}

// readManifest reads one object, strictly: a field that the type does not know is a fault.
func readManifest(t *testing.T, path string, into client.Object) {
	t.Helper()
	raw, err := os.ReadFile(repositoryPath(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
}

// kubectl runs the real one and gives what it prints, also when it fails.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := kubectlErr(t, args...)
	return out
}

func kubectlErr(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), repositoryPath(t, "bin/assets/kubectl"), append([]string{"--kubeconfig", local.Kubeconfig()}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// samples gives the paths of the samples in a folder of config/samples.
func samples(t *testing.T, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob(repositoryPath(t, filepath.Join("config/samples", folder, "*.yaml")))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples in %q: %v", folder, err)
	}
	return paths
}

// surroundings makes the namespace, claim and Gateway of the VLLMService's sample, for one test.
func surroundings(t *testing.T) {
	t.Helper()
	dir := repositoryPath(t, "config/samples/surroundings")
	if out, err := kubectlErr(t, "apply", "-k", dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		cmd := exec.Command(repositoryPath(t, "bin/assets/kubectl"), "--kubeconfig", local.Kubeconfig(), "delete", "-k", dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestSamplesApply applies every sample of the documentation as a user would.
func TestSamplesApply(t *testing.T) {
	surroundings(t)
	for _, path := range samples(t, "") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			out, err := kubectlErr(t, "apply", "--dry-run=server", "-f", path)
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestInvalidSamplesAreRefused holds that the manifests which the demo shows as wrong still are, and
// that each of their faults is named by its field.
func TestInvalidSamplesAreRefused(t *testing.T) {
	surroundings(t)
	for path, fields := range map[string][]string{
		"modelserving.yaml": {"spec.gatewayRef.host", "minRoleReplicas", "workerTemplate"},
		"vllmservice.yaml":  {"spec.gatewayRef.host", "spec.modelPath", "spec.engineArgs.gpuMemoryUtilization", "spec.resources"},
	} {
		t.Run(path, func(t *testing.T) {
			out, err := kubectlErr(t, "apply", "--dry-run=server", "-f", repositoryPath(t, "config/samples/invalid/"+path))
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			mustSay(t, out, fields...)
		})
	}
}
