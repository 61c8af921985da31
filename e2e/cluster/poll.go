package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stopPolling is an error that no further try can mend.
type stopPolling struct{ error }

func (s stopPolling) Unwrap() error { return s.error }

// poll tries done every 100 ms until it gives nil or a stopPolling, ctx ends, or
// limit has passed. done does not see the limit, so that its last answer, which
// is in the error then, is about what it waits for.
func poll(ctx context.Context, limit time.Duration, done func(context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(limit)
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		if stop := (stopPolling{}); errors.As(err, &stop) {
			return stop.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped: %w", context.Cause(ctx))
		case <-timeout:
			return fmt.Errorf("gave up after %s: %w", limit, err)
		case <-tick.C:
		}
	}
}
