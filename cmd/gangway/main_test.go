package main

import (
	"bytes"
	"context"
	"testing"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

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
