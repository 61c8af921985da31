package apply

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// admitted are the ranks that a gate has let in of those that wait, in the order of the tickets.
func admitted(tickets []*ticket) []int {
	var ranks []int
	for _, t := range tickets {
		select {
		case in := <-t.admitted:
			if in {
				ranks = append(ranks, t.rank)
			}
		default:
		}
	}
	return ranks
}

func TestTheGateOpensSlowlyAndLetsTheLowestRankInFirst(t *testing.T) {
	g := newGate(1, 4)
	var tickets []*ticket
	for _, rank := range []int{7, 2, 5, 2, 1, 9, 3, 8} {
		tickets = append(tickets, g.join(rank))
	}
	var got [][]int
	for underWay := admitted(tickets); len(underWay) > 0; underWay = admitted(tickets) {
		got = append(got, underWay)
		for range underWay {
			g.leave(true)
		}
	}
	// Who came first, when nobody else waited, is in already; then 2 and 4 at a time, in the order of the
	// tickets within a step.
	want := [][]int{{7}, {2, 1}, {5, 2, 3, 8}, {9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("let in, step by step (-want +got):\n%s", diff)
	}
}

func TestAFailureDoesNotWidenTheGate(t *testing.T) {
	g := newGate(1, 4)
	tickets := []*ticket{g.join(0), g.join(0), g.join(0)}
	for range tickets {
		if got := admitted(tickets); len(got) != 1 {
			t.Fatalf("%d are let in at a time, want 1", len(got))
		}
		g.leave(false)
	}
}

func TestAClosedGateTurnsEverybodyAway(t *testing.T) {
	g := newGate(1, 4)
	first, second := g.join(0), g.join(0)
	g.close()
	if in := <-first.admitted; !in {
		t.Error("who was in already was turned away")
	}
	if in := <-second.admitted; in {
		t.Error("who waited was let in")
	}
	if g.enter(t.Context(), 0) {
		t.Error("who came later was let in")
	}
}

func TestWhoGivesUpLeavesNoGap(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	g := newGate(1, 1)
	if !g.enter(t.Context(), 0) {
		t.Fatal("the first was not let in")
	}
	if g.enter(done, 0) {
		t.Error("one who had given up was let in")
	}
	next := g.join(1)
	g.leave(true)
	if in := <-next.admitted; !in {
		t.Error("the place of who gave up was kept free")
	}
	// Let in and given up at once: whichever is seen first, the room is there for the next one.
	g.leave(true)
	for range 1000 {
		if g.enter(done, 0) {
			g.leave(true)
		}
	}
	if !g.enter(t.Context(), 0) {
		t.Error("room was lost")
	}
}
