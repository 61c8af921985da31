package cluster

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Annotations that say what happens to a simulated Pod or Node. They act on
// objects that run already, too; taking one away ends its effect where a real
// kubelet would recover.
const (
	// BehaviorAnnotation, on a Pod, holds one of the Behavior values.
	BehaviorAnnotation = "test.gangway.dev/behavior"
	// DelayAnnotation, on a Pod, is a Go duration: how long a slow start takes,
	// or how long after its start the Pod restarts, fails or succeeds.
	DelayAnnotation = "test.gangway.dev/delay"
	// RestartsAnnotation, on a Pod, is the number of times that its first
	// container restarts.
	RestartsAnnotation = "test.gangway.dev/restarts"
	// StopDelayAnnotation, on a Pod, is a Go duration: how long it stays in
	// Terminating.
	StopDelayAnnotation = "test.gangway.dev/stop-delay"
	// LostAnnotation, on a Node with any value, takes its kubelet away.
	LostAnnotation = "test.gangway.dev/lost"
)

// The values of BehaviorAnnotation. Without one a Pod is ready at once.
const (
	BehaviorImagePullFailure = "image-pull-failure" // Pending, ImagePullBackOff
	BehaviorInitFailure      = "init-failure"       // Pending, first init container in CrashLoopBackOff
	BehaviorCrashLoop        = "crash-loop"         // Running, first container in CrashLoopBackOff
	BehaviorNeverReady       = "never-ready"        // Running, never Ready
	BehaviorSlowStart        = "slow-start"         // Running, Ready after DelayAnnotation
	BehaviorFail             = "fail"               // Running, then phase Failed
	BehaviorSucceed          = "succeed"            // Running, then phase Succeeded
)

//go:embed stages/*.yaml
var stages embed.FS

// writeStages copies the stages into dir and gives their paths, sorted.
func writeStages(dir string) ([]string, error) {
	if err := os.CopyFS(dir, stages); err != nil {
		return nil, fmt.Errorf("write the stages of kwok: %w", err)
	}
	names, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the stages of kwok: %w", err)
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	slices.Sort(names)
	return names, nil
}
