package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// Every ModelServing of config/samples comes up as it stands, in the namespace that it names.
func TestSamplesComeUp(t *testing.T) {
	t.Parallel()
	for _, path := range samples(t, "") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			ms := &workloadv1alpha1.ModelServing{}
			if err := yaml.Unmarshal(raw, ms); err != nil {
				t.Fatal(err)
			}
			if ms.Kind != workloadv1alpha1.ModelServingKind {
				return // TestVLLMServiceFromManifestToRoute brings the other kind up.
			}
			t.Parallel()
			if out, err := kubectlErr(t, "apply", "-f", path); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(ms), ms); err != nil {
				t.Fatal(err)
			}
			waitRest(t, ms)
			if out, err := kubectlErr(t, "delete", "--wait", "-f", path); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// homes say where a part of a manifest that stands in a page belongs in a whole one: by its first key,
// the path in config/samples/modelserving-pd.yaml.
var homes = map[string][]any{
	"gatewayRef":      {"spec"},
	"rolloutStrategy": {"spec"},
	"lifecycle":       {"spec", "template", "roles", 0, "entryTemplate", "spec", "containers", 0},
}

// Every YAML of the documentation is accepted: a whole manifest as it stands, a part in its place.
func TestTheDocumentationsManifestsAreAccepted(t *testing.T) {
	surroundings(t)
	pages, err := filepath.Glob(repositoryPath(t, "docs/*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	fence := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range fence.FindAllSubmatch(text, -1) {
			found++
			t.Run(fmt.Sprintf("%s %d", filepath.Base(page), i+1), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "manifest.yaml")
				if err := os.WriteFile(path, whole(t, block[1]), 0o600); err != nil {
					t.Fatal(err)
				}
				if out, err := kubectlErr(t, "apply", "--dry-run=server", "-f", path); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
	if found < len(homes) {
		t.Errorf("%d manifests found", found)
	}
}

// whole puts a part of a manifest into the sample.
func whole(t *testing.T, part []byte) []byte {
	t.Helper()
	if bytes.Contains(part, []byte("apiVersion:")) {
		return part
	}
	fields, object := map[string]any{}, map[string]any{}
	if err := yaml.UnmarshalStrict(part, &fields); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(repositoryPath(t, "config/samples/modelserving-pd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, &object); err != nil {
		t.Fatal(err)
	}
	for key, value := range fields {
		home, known := homes[key]
		if !known {
			t.Fatalf("where does %s belong? Say it in homes", key)
		}
		var at any = object
		for _, step := range home {
			switch step := step.(type) {
			case string:
				at = at.(map[string]any)[step]
			case int:
				at = at.([]any)[step]
			}
		}
		at.(map[string]any)[key] = value
	}
	raw, err = yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The README shows samples with remarks, and leaves lines out with "...".
func TestTheReadmeShowsTheSamples(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(repositoryPath(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)From \\[`(config/samples/[^`]*)`\\].*?```yaml\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(shown) != 2 {
		t.Fatalf("%d samples in the README, want 2", len(shown))
	}
	for _, s := range shown {
		sample, err := os.ReadFile(repositoryPath(t, string(s[1])))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(sample), "\n")
		for line := range strings.Lines(string(s[2])) {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimRight(line, " \n"); strings.HasSuffix(line, "...") {
				continue
			}
			if !slices.Contains(lines, line) {
				t.Errorf("%s has no line %q", s[1], line)
			}
		}
	}
}
