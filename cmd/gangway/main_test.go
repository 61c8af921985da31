package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// server is the API server of the tests that start a manager.
var server *gangwaytesting.APIServer

// asProgramEnv makes the test binary be the gangway program, so that tests can start real processes.
const asProgramEnv = "GANGWAY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgramEnv) != "" {
		main()
		return
	}
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
