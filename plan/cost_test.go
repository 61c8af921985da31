package plan_test

import (
	"runtime"
	"testing"

	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/state"
)

// allocated is how many bytes a call allocates. Nothing else may run meanwhile.
func allocated(call func()) float64 {
	const calls = 3
	var before, after runtime.MemStats
	call()
	runtime.ReadMemStats(&before)
	for range calls {
		call()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / calls
}

// Ten times as many groups take ten times as much memory, in the first pass and at rest: nothing is
// copied for every group that holds something of every group.
func TestAPassAllocatesInProportionToTheGroups(t *testing.T) {
	cost := func(groups int32) (first, rest float64) {
		nothing := state.Snapshot{ModelServing: large(groups), Gang: volcano}
		first = allocated(func() { plan.Compute(nothing, benchmarkStart) })
		s, now := atRest(t, groups)
		if p := plan.Compute(s, now); len(p.Lanes) > 0 || p.Status.AvailableReplicas != groups {
			t.Fatalf("%d groups are not at rest: %d lanes, %d available", groups, len(p.Lanes), p.Status.AvailableReplicas)
		}
		return first, allocated(func() { plan.Compute(s, now) })
	}
	first, rest := cost(100)
	firstOfMany, restOfMany := cost(1000)
	const limit = 12 // Longer ordinals make longer names.
	if ratio := firstOfMany / first; ratio > limit {
		t.Errorf("a first pass over 1,000 groups allocates %.0f bytes, %.1f times as many as one over 100", firstOfMany, ratio)
	}
	if ratio := restOfMany / rest; ratio > limit {
		t.Errorf("a pass at rest over 1,000 groups allocates %.0f bytes, %.1f times as many as one over 100", restOfMany, ratio)
	}
	t.Logf("bytes for 100 and 1,000 groups: %.0f and %.0f at first, %.0f and %.0f at rest", first, firstOfMany, rest, restOfMany)
}
