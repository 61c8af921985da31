package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

var server *gangwaytesting.APIServer

func TestMain(m *testing.M) {
	gangwaytesting.RunWithAPIServer(m, gangwaytesting.APIServerOptions{}, &server)
}

// TestFieldManifestsAreAcceptedUnchanged applies manifests as they stand in the field, with unknown
// fields refused, and holds what the API server makes of them: every field that was given is
// kept, and the defaults are those that the golden file says.
func TestFieldManifestsAreAcceptedUnchanged(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, in := range inputs {
		t.Run(filepath.Base(in), func(t *testing.T) {
			given := read(t, in)
			object := given.DeepCopy()
			object.SetNamespace(server.Namespace(t, nil))
			strict := client.WithFieldValidation(server.Client, "Strict")
			if err := strict.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatalf("refused: %v", err)
			}
			if lost := missing(given.Object["spec"], object.Object["spec"], "spec"); len(lost) > 0 {
				t.Errorf("changed by the API server:\n%s", strings.Join(lost, "\n"))
			}

			raw, err := yaml.Marshal(map[string]any{"spec": object.Object["spec"]})
			if err != nil {
				t.Fatal(err)
			}
			gangwaytesting.Golden(t, strings.TrimSuffix(in, ".in.yaml")+".out.yaml", raw)
		})
	}
}

// TestSamplesAreTheFieldManifests holds that what the demo applies is what the test above proves.
func TestSamplesAreTheFieldManifests(t *testing.T) {
	for sample, manifest := range map[string]string{
		"../config/samples/modelserving-pd.yaml": "testdata/modelserving-pd.in.yaml",
		"../config/samples/vllmservice.yaml":     "testdata/vllmservice.in.yaml",
	} {
		if diff := cmp.Diff(read(t, manifest).Object, read(t, sample).Object); diff != "" {
			t.Errorf("%s (-manifest +sample):\n%s", sample, diff)
		}
	}
}

func read(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(raw, &object.Object); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return object
}

// missing lists what of given is not in got; got may hold more, namely defaults.
func missing(given, got any, path string) []string {
	var lost []string
	switch given := given.(type) {
	case map[string]any:
		held, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v", path, got)}
		}
		for k, v := range given {
			lost = append(lost, missing(v, held[k], path+"."+k)...)
		}
	case []any:
		held, ok := got.([]any)
		if !ok || len(held) != len(given) {
			return []string{fmt.Sprintf("%s is %v", path, got)}
		}
		for i, v := range given {
			lost = append(lost, missing(v, held[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		// Numbers come back as int64 and were read as float64.
		if fmt.Sprint(given) != fmt.Sprint(got) {
			lost = append(lost, fmt.Sprintf("%s is %v, was given as %v", path, got, given))
		}
	}
	return lost
}
