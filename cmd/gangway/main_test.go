package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// updateEnv, set to anything, writes the golden files anew.
const updateEnv = "UPDATE_GOLDEN"

// server is the API server of the tests that start a manager.
var server *gangwaytesting.APIServer

func TestMain(m *testing.M) {
	gangwaytesting.RunWithAPIServer(m, gangwaytesting.APIServerOptions{}, &server)
}

// outcome is what a shell sees of a command.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

// runWith executes the command line; start takes the place of the manager.
func runWith(t *testing.T, start func(context.Context, options) error, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), newCommand(start), args, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv(updateEnv) != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("differs from %s; set %s=1, run the test and read the difference. Got:\n%s", file, updateEnv, got)
	}
}
