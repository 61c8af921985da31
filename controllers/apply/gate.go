package apply

import (
	"context"
	"sync"
)

// gate bounds how many writes are under way. It opens as Kubernetes' own controllers do: one at
// first, and with every success room for one more, so that 1, 2, 4, 8, ... run at a time, up to the
// limit. A fault that the next write would meet too closes it.
type gate struct {
	room chan struct{}

	mu     sync.Mutex
	width  int
	closed bool
}

// newGate makes a gate that lets width through at once and widens up to limit.
func newGate(width, limit int) *gate {
	g := &gate{room: make(chan struct{}, limit), width: width}
	for range width {
		g.room <- struct{}{}
	}
	return g
}

// enter waits for room. False means that the gate is closed or ctx is done; leave is then not called.
func (g *gate) enter(ctx context.Context) bool {
	select {
	case <-g.room:
	case <-ctx.Done():
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		g.room <- struct{}{}
		return false
	}
	return true
}

// leave gives the room back, and one more after a success.
func (g *gate) leave(success bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.room <- struct{}{}
	if success && g.width < cap(g.room) {
		g.width++
		g.room <- struct{}{}
	}
}

// close lets nobody in any more.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
