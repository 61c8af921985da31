package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// TestSamplesApply applies every sample of the documentation as a user would.
func TestSamplesApply(t *testing.T) {
	paths, err := filepath.Glob(repositoryPath(t, "config/samples/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	kubectl(t, "create", "namespace", "ai-demo")
	t.Cleanup(func() { kubectl(t, "delete", "namespace", "ai-demo", "--wait=false") })
	for _, path := range paths {
		if filepath.Base(path) == "kustomization.yaml" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			out, err := kubectlErr(t, "apply", "--dry-run=server", "-f", path)
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if strings.Contains(out, "strict decoding error") {
				t.Errorf("unknown fields: %s", out)
			}
		})
	}
}
