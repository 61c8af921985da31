//go:build tools

// Package tools pins the gang scheduler and its controllers.
package tools

import (
	_ "volcano.sh/volcano/cmd/controller-manager"
	_ "volcano.sh/volcano/cmd/scheduler"
)
