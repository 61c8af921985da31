package controllers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// Whoever reads a reason in a terminal finds it in the documentation.
func TestConditionsReasonsAndEventsAreDocumented(t *testing.T) {
	t.Parallel()
	root, err := gangwaytesting.Root()
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, page := range []string{"status.md", "routing.md"} {
		b, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	source := filepath.Join(root, "api", "workload", "v1alpha1", "modelserving_conditions.go")
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			word, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if !strings.Contains(text, "`"+word+"`") {
				t.Errorf("%s (%s) is in neither docs/status.md nor docs/routing.md", word, spec.Names[i])
			}
		}
		return true
	})
	if found < 40 {
		t.Errorf("only %d constants were found in %s", found, source)
	}
}
