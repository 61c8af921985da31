package plan

import (
	"cmp"
	"slices"

	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/rollout"
	"github.com/gangway-serving/gangway/plan/scale"
	"github.com/gangway-serving/gangway/plan/state"
)

// scaleGroups decides which groups there are to be, those of a surge included.
func (c *computation) scaleGroups() {
	outdated := 0
	var units []scale.Unit
	for _, g := range c.groups {
		if !g.Exists() {
			continue
		}
		if g.waiting {
			outdated++
		}
		u := scale.Unit{Ordinal: g.Ordinal, Protected: g.protected, Spare: g.Ordinal >= c.replicas, Ended: g.Living == 0, Available: g.available}
		for _, r := range g.Replicas {
			u.Cost += r.Cost
		}
		units = append(units, u)
	}
	used := int(c.ms.Status.SurgeReplicas)
	c.surge = rollout.Surge(used, c.limits.MaxSurge, outdated, c.paused, outdated == 0 && c.settled(units, used))

	add, removed := c.chooseOrdinals(units, used)
	wanted := make(map[int]bool, len(add))
	for _, ordinal := range add {
		wanted[ordinal] = true
		if c.view.Group(ordinal) == nil {
			c.groups = append(c.groups, c.assess(&state.Group{Ordinal: ordinal, Name: names.Group(c.ms.Name, ordinal)}))
		}
	}
	slices.SortFunc(c.groups, func(a, b *group) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, g := range c.groups {
		_, victim := slices.BinarySearch(removed, g.Ordinal)
		// What is there of a group without Pods is a rest of it, unless it is to be made.
		if victim || (!g.Exists() && !wanted[g.Ordinal]) {
			g.fate, g.why = remove, whyScaleDown
		}
	}
}

// chooseOrdinals says which groups to add and to remove. The groups of a surge go before those whose
// places they keep, unless that would leave fewer available than are wanted.
func (c *computation) chooseOrdinals(units []scale.Unit, used int) (add, removed []int) {
	wanted := c.replicas + c.surge
	plain := slices.Clone(units)
	for i := range plain {
		plain[i].Spare = false
	}
	add, removed = scale.Decide(plain, wanted)
	if max(used, c.surge) == 0 {
		return add, removed
	}
	_, spares := scale.Decide(units, wanted)
	if left := availableWithout(units, spares); left >= c.replicas || left >= availableWithout(units, removed) {
		return add, spares
	}
	return add, removed
}

// availableWithout is how many units are available when some are removed.
func availableWithout(units []scale.Unit, removed []int) int {
	n := 0
	for _, u := range units {
		if _, gone := slices.BinarySearch(removed, u.Ordinal); u.Available && !gone {
			n++
		}
	}
	return n
}

// settled says that a rollout that uses so many surge groups needs them no more: all groups are there,
// and the lowest are available, as many as are wanted. Those that are to have no Pods are so at once.
func (c *computation) settled(units []scale.Unit, surge int) bool {
	if len(units) < c.replicas+surge && !c.wantsNothing(c.update) {
		return false
	}
	for _, u := range units[:min(c.replicas, len(units))] {
		if !u.Available {
			return false
		}
	}
	return true
}
