// Package scale decides which ordinals are added and which are removed, for the ServingGroups of a
// ModelServing and for the role replicas of a role alike.
//
// What makes it hard is that it is asked again while its last answer is being carried out. A victim
// that is half gone must stay the victim, or a second one dies with it. So units of which nothing is
// left standing go before all others that the order treats alike, and the result depends on nothing
// but what is there.
//
// Ordinals are not renumbered: when one of the middle was removed, its place stays free until
// somebody scales up, which fills the lowest free ones. While a rollout uses more units than are
// wanted, those at the ordinals above go first, so that it leaves no such gap.
package scale

import (
	"cmp"
	"slices"
)

// Unit is a ServingGroup or role replica that exists.
type Unit struct {
	Ordinal int
	// Protected by the partition of a rollout.
	Protected bool
	// Spare: its ordinal is above those wanted, and it is there, or may be, for a rollout's sake.
	Spare bool
	// Ended: nothing of it is left standing; it is terminating.
	Ended     bool
	Available bool
	// Cost is the sum of its Pods' controller.kubernetes.io/pod-deletion-cost.
	Cost int64
}

// Decide says which ordinals to add and which to remove so that wanted units exist. Both are
// sorted; at most one of them is not empty.
func Decide(units []Unit, wanted int) (add, remove []int) {
	if len(units) <= wanted {
		return fill(units, wanted-len(units)), nil
	}
	return nil, victims(units, len(units)-wanted)
}

// fill returns the n lowest free ordinals.
func fill(units []Unit, n int) []int {
	if n <= 0 {
		return nil
	}
	taken := make(map[int]bool, len(units))
	for _, u := range units {
		taken[u.Ordinal] = true
	}
	free := make([]int, 0, n)
	for ordinal := 0; len(free) < n; ordinal++ {
		if !taken[ordinal] {
			free = append(free, ordinal)
		}
	}
	return free
}

func victims(units []Unit, n int) []int {
	order := slices.Clone(units)
	slices.SortFunc(order, before)
	ordinals := make([]int, n)
	for i, u := range order[:n] {
		ordinals[i] = u.Ordinal
	}
	slices.Sort(ordinals)
	return ordinals
}

// before orders units by which of them is removed first.
func before(a, b Unit) int {
	return cmp.Or(
		falseFirst(a.Protected, b.Protected),
		falseFirst(!a.Spare, !b.Spare),
		falseFirst(a.Available, b.Available),
		falseFirst(!a.Ended, !b.Ended),
		cmp.Compare(a.Cost, b.Cost),
		cmp.Compare(b.Ordinal, a.Ordinal),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
