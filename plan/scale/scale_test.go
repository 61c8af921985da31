package scale

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func healthy(ordinals ...int) []Unit {
	var units []Unit
	for _, o := range ordinals {
		units = append(units, Unit{Ordinal: o, Available: true})
	}
	return units
}

func with(units []Unit, ordinal int, change func(*Unit)) []Unit {
	for i := range units {
		if units[i].Ordinal == ordinal {
			change(&units[i])
		}
	}
	return units
}

func TestDecide(t *testing.T) {
	unavailable := func(u *Unit) { u.Available = false }
	ended := func(u *Unit) { u.Available, u.Ended = false, true }
	spare := func(u *Unit) { u.Spare = true }
	protected := func(u *Unit) { u.Protected = true }
	cost := func(c int64) func(*Unit) { return func(u *Unit) { u.Cost = c } }

	type answer struct{ Add, Remove []int }
	for name, tc := range map[string]struct {
		units  []Unit
		wanted int
		want   answer
	}{
		"the first units begin at 0":                                   {nil, 3, answer{Add: []int{0, 1, 2}}},
		"scaling up goes on behind the last":                           {healthy(0, 1), 4, answer{Add: []int{2, 3}}},
		"scaling up fills the lowest free ordinals first":              {healthy(1, 4), 4, answer{Add: []int{0, 2}}},
		"as many as wanted is at rest, wherever they are":              {healthy(0, 2), 2, answer{}},
		"healthy units go from the last":                               {healthy(0, 1, 2, 3), 2, answer{Remove: []int{2, 3}}},
		"all go when none is wanted":                                   {healthy(0, 1, 2), 0, answer{Remove: []int{0, 1, 2}}},
		"nothing is wanted and nothing is there":                       {nil, 0, answer{}},
		"an unavailable unit goes before an available one":             {with(healthy(0, 1, 2), 1, unavailable), 2, answer{Remove: []int{1}}},
		"of two unavailable units the last goes":                       {with(with(healthy(0, 1, 2), 0, unavailable), 1, unavailable), 2, answer{Remove: []int{1}}},
		"a unit that is half gone stays the victim":                    {with(with(healthy(0, 1, 2), 0, ended), 2, unavailable), 2, answer{Remove: []int{0}}},
		"a lower cost goes before a higher ordinal":                    {with(healthy(0, 1, 2), 0, cost(-5)), 2, answer{Remove: []int{0}}},
		"a higher cost stays":                                          {with(healthy(0, 1, 2), 2, cost(5)), 2, answer{Remove: []int{1}}},
		"an unavailable unit goes whatever it costs":                   {with(with(healthy(0, 1, 2), 0, unavailable), 0, cost(99)), 2, answer{Remove: []int{0}}},
		"a protected unit goes last, even if it is unavailable":        {with(with(healthy(0, 1, 2), 0, protected), 0, unavailable), 2, answer{Remove: []int{2}}},
		"one that a rollout uses beside those wanted goes first":       {with(with(healthy(0, 1, 2), 2, spare), 1, unavailable), 2, answer{Remove: []int{2}}},
		"whatever it costs":                                            {with(with(healthy(0, 1, 2), 2, spare), 0, cost(-5)), 2, answer{Remove: []int{2}}},
		"of those, one that is not available":                          {with(with(with(healthy(0, 1, 2), 2, spare), 1, spare), 1, unavailable), 2, answer{Remove: []int{1}}},
		"of protected units alone the same order decides":              {with(with(healthy(0, 1), 0, protected), 1, protected), 1, answer{Remove: []int{1}}},
		"what is terminating is still there and is not replaced twice": {with(healthy(0, 1, 2), 2, ended), 3, answer{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got answer
			got.Add, got.Remove = Decide(tc.units, tc.wanted)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOrderOfTheUnitsChangesNothing(t *testing.T) {
	units := []Unit{
		{Ordinal: 0, Available: true, Cost: 3},
		{Ordinal: 1, Protected: true},
		{Ordinal: 2},
		{Ordinal: 3, Ended: true},
		{Ordinal: 4, Available: true},
	}
	reversed := make([]Unit, len(units))
	for i := range units {
		reversed[len(units)-1-i] = units[i]
	}
	for wanted := range len(units) + 2 {
		add, remove := Decide(units, wanted)
		add2, remove2 := Decide(reversed, wanted)
		if diff := cmp.Diff([][]int{add, remove}, [][]int{add2, remove2}); diff != "" {
			t.Errorf("wanted %d (-sorted +reversed):\n%s", wanted, diff)
		}
	}
}
