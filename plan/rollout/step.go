// Package rollout decides the next safe step of a rollout, for the ServingGroups of a ModelServing
// and, under RoleRollingUpdate, for the replicas of each role of a group alike.
//
// A step is the set of units to take down now; that they come back at the update revision is
// creation's doing. It is hard for two reasons. First, a unit that is missing, terminating or
// starting is as unavailable as one that is broken, and none of them is in a list of what is Ready:
// so the step counts what is available, and compares that with what is wanted, never what is
// unavailable. Second, a rollout that goes wrong fills its budget with broken units: so outdated
// units that are not available anyway are taken down first and cost nothing, and a correction heals
// what the mistake broke.
//
// Nothing is remembered between steps but the number of surge units: what the last step took down is
// unavailable in the next view, because removals are written into the status before they are begun.
package rollout

import (
	"cmp"
	"slices"
)

// Unit is a ServingGroup or role replica that is to be kept.
type Unit struct {
	Ordinal int
	// Outdated: it is to be replaced. Units that the partition protects, and all while the rollout
	// is paused, are not.
	Outdated  bool
	Available bool
	// Growing: it serves as it did before somebody asked for more of it, and what was added is not
	// Ready yet. Such a unit counts as available, and is the first to be taken of those.
	Growing bool
}

// Step says which ordinals to take down now, sorted, so that at least minAvailable units stay available.
func Step(units []Unit, minAvailable int) []int {
	available := 0
	var down []int
	var candidates []Unit
	for _, u := range units {
		serving := u.Available || (u.Growing && u.Outdated)
		if serving {
			available++
		}
		switch {
		case !u.Outdated:
		case serving:
			candidates = append(candidates, u)
		default:
			down = append(down, u.Ordinal)
		}
	}
	slices.SortFunc(candidates, func(a, b Unit) int {
		if a.Available != b.Available {
			if b.Available {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Ordinal, a.Ordinal)
	})
	for _, u := range candidates[:max(0, min(available-minAvailable, len(candidates)))] {
		down = append(down, u.Ordinal)
	}
	slices.Sort(down)
	return down
}

// Surge says how many units above those wanted the rollout uses now. now is what it has used so
// far; outdated is how many units are still to be replaced, and settled that all wanted units are
// updated and available. Surge units stay until then: taking them away earlier would make a unit
// that is being replaced the last of its ordinal.
func Surge(now, maxSurge, outdated int, paused, settled bool) int {
	switch {
	case settled:
		return 0
	case paused, outdated == 0:
		return min(now, maxSurge)
	default:
		return min(max(now, outdated), maxSurge)
	}
}
