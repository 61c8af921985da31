package route

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// TestGolden makes every testdata/x.in.yaml, a ModelServing, into the Service and HTTPRoute of
// x.out.yaml. VLLMServices have their golden files in plan/vllm.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no testdata (%v)", err)
	}
	for _, in := range inputs {
		name := strings.TrimSuffix(filepath.Base(in), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			ms := &workloadv1alpha1.ModelServing{}
			if err := yaml.UnmarshalStrict(data, ms); err != nil {
				t.Fatal(err)
			}
			input := ForModelServing(ms)
			var out []byte
			for _, obj := range []any{Service(input), HTTPRoute(input)} {
				data, err := yaml.Marshal(obj)
				if err != nil {
					t.Fatal(err)
				}
				out = append(append(out, "---\n"...), data...)
			}
			gangwaytesting.Golden(t, filepath.Join("testdata", name+".out.yaml"), out)
		})
	}
}
