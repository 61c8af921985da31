package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShortenKeepsOurDescriptionsAndDropsThoseOfPods(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crd.yaml")
	before := `
spec:
  description: ours
  properties:
    entryTemplate:
      description: ours
      properties:
        description:
          description: theirs, of a field called description
          type: string
        spec:
          description: theirs
          properties:
            containers:
              description: theirs
              items:
                description: theirs
                type: object
          type: object
      type: object
    replicas:
      description: ours
      type: integer
`
	want := `---
spec:
  description: ours
  properties:
    entryTemplate:
      description: ours
      properties:
        description:
          type: string
        spec:
          properties:
            containers:
              items:
                type: object
          type: object
      type: object
    replicas:
      description: ours
      type: integer
`
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	// Twice: what is short already stays as it is.
	for range 2 {
		if err := shorten(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestShortenRefusesWhatKubectlApplyCannotNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(path, []byte("description: "+strings.Repeat("x", maxApply)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shorten(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names %s", err, path)
	}
}
