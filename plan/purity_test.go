package plan

import (
	"os/exec"
	"strings"
	"testing"
)

// The planner decides from values alone. What it links must not be able to
// reach a cluster; that it reads no clock, environment or randomness is held by
// the linter (forbidigo in .golangci.yml).
func TestPlanLinksNothingThatReachesACluster(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatalf("list what plan/ links: %v", err)
	}
	forbidden := []string{
		"sigs.k8s.io/controller-runtime",
		"k8s.io/client-go",
		"k8s.io/apiserver",
		"github.com/gangway-serving/gangway/controllers",
		"github.com/gangway-serving/gangway/webhooks",
		"github.com/gangway-serving/gangway/certs",
	}
	listed := 0
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		listed++
		for _, prefix := range forbidden {
			if pkg == prefix || strings.HasPrefix(pkg, prefix+"/") {
				t.Errorf("plan/ links %s; find out why with: go list -deps -f '{{.ImportPath}}: {{.Imports}}' ./plan/... | grep %s", pkg, pkg)
			}
		}
	}
	if listed == 0 {
		t.Fatal("go list named no package: the check is blind")
	}
}
