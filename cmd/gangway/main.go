// Command gangway runs large-model serving on Kubernetes: admission and control in one process.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx := ctrl.SetupSignalHandler() // a second signal ends the process at once
	os.Exit(execute(ctx, newCommand(runManager), os.Args[1:], os.Stdout, os.Stderr))
}
