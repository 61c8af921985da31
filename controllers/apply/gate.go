package apply

import (
	"container/heap"
	"context"
	"sync"
)

// gate bounds how many writes are under way. It opens as Kubernetes' own controllers do: one at
// first, and with every success room for one more, so that 1, 2, 4, 8, ... run at a time, up to the
// limit. A fault that the next write would meet too closes it.
//
// Who waits is let in by rank, the lowest first: a quota that is too small for all is spent on the
// lowest groups, not on a part of each.
type gate struct {
	limit int

	mu       sync.Mutex
	width    int
	underWay int
	closed   bool
	waiting  queue
	arrived  int
}

// newGate makes a gate that lets width through at once and widens up to limit.
func newGate(width, limit int) *gate { return &gate{width: width, limit: limit} }

// enter waits for room. False means that the gate is closed or ctx is done; leave is then not called.
func (g *gate) enter(ctx context.Context, rank int) bool {
	t := g.join(rank)
	select {
	case admitted := <-t.admitted:
		return admitted
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.index >= 0 {
		heap.Remove(&g.waiting, t.index)
		return false
	}
	if <-t.admitted {
		g.underWay--
		g.admit()
	}
	return false
}

// join gets in line for room.
func (g *gate) join(rank int) *ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &ticket{rank: rank, number: g.arrived, admitted: make(chan bool, 1)}
	g.arrived++
	heap.Push(&g.waiting, t)
	g.admit()
	return t
}

// leave gives the room back, and one more after a success.
func (g *gate) leave(success bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.underWay--
	if success && g.width < g.limit {
		g.width++
	}
	g.admit()
}

// close lets nobody in any more.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.admit()
}

// admit answers those who wait, as far as that can be done now.
func (g *gate) admit() {
	for len(g.waiting) > 0 && (g.closed || g.underWay < g.width) {
		t := heap.Pop(&g.waiting).(*ticket)
		if !g.closed {
			g.underWay++
		}
		t.admitted <- !g.closed
	}
}

// ticket is the place of one write in the queue.
type ticket struct {
	rank, number int
	// index in the queue; -1 once it has been answered.
	index    int
	admitted chan bool
}

// queue is a heap of tickets: by rank, then first come, first served.
type queue []*ticket

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].rank != q[j].rank {
		return q[i].rank < q[j].rank
	}
	return q[i].number < q[j].number
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	t := x.(*ticket)
	t.index = len(*q)
	*q = append(*q, t)
}

func (q *queue) Pop() any {
	old := *q
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	t.index = -1
	return t
}
