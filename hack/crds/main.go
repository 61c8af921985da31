// Command crds shortens CRDs in place: it drops the descriptions of everything
// below a Pod template, which `kubectl explain pod` gives too, and keeps those
// of our own fields. With them a CRD with two Pod templates is larger than what
// a client-side `kubectl apply` can note in an annotation.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxApply is the API server's limit of an object's annotations, in bytes.
const maxApply = 256 << 10

func main() {
	for _, path := range os.Args[1:] {
		if err := shorten(path); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
}

func shorten(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(b, &crd); err != nil {
		return fmt.Errorf("decode the CRD %s: %w", path, err)
	}
	strip(crd, false)
	noted, err := json.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encode the CRD %s: %w", path, err)
	}
	if len(noted) > maxApply {
		return fmt.Errorf("%s: %d bytes as JSON, more than the %d that kubectl apply can note; shorten descriptions", path, len(noted), maxApply)
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encode the CRD %s: %w", path, err)
	}
	if err := os.WriteFile(path, append([]byte("---\n"), out...), 0o644); err != nil {
		return fmt.Errorf("write the CRD: %w", err)
	}
	return nil
}

// strip walks a schema. The field that holds a Pod template keeps its own
// description; everything below it loses them.
func strip(node any, below bool) {
	switch n := node.(type) {
	case map[string]any:
		properties, _ := n["properties"].(map[string]any)
		for _, child := range properties {
			// A field of the name "description" is in properties, not here.
			if c, ok := child.(map[string]any); ok && below {
				delete(c, "description")
			}
		}
		for key, child := range n {
			if key == "properties" {
				for name, field := range properties {
					strip(field, below || strings.HasSuffix(name, "Template"))
				}
				continue
			}
			if c, ok := child.(map[string]any); ok && below {
				delete(c, "description")
			}
			strip(child, below)
		}
	case []any:
		for _, child := range n {
			strip(child, below)
		}
	}
}
