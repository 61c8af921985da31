package recovery

import "slices"

// Incomplete is a wanted role replica that lacks Pods and that no removal covers.
type Incomplete struct {
	// Taken: a Pod of it was seen to terminate, so that it is known to be lost already.
	Taken bool
	// Touched: some of its Pods are there. Empty: no Pod of its whole group is.
	Touched, Empty bool
	// New: it was not wanted yet when the status was last written, as far as anybody knows.
	New bool
}

// Lost says which of the incomplete role replicas of one role were complete when the status was last
// written, and lost a Pod since. had is how many were complete then, has how many are now. When more
// are incomplete than were lost, those are taken for lost that are likeliest to have been complete:
// those of which something is there before those of which nothing is, and those that were not asked for
// then last.
func Lost(had, has int, units []Incomplete) []int {
	missing := had - has
	var order []int
	for i, u := range units {
		if u.Taken {
			missing--
		} else {
			order = append(order, i)
		}
	}
	if missing <= 0 {
		return nil
	}
	rank := func(i int) int {
		switch {
		case units[i].Touched:
			return 0
		case units[i].New:
			return 3
		case !units[i].Empty:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	order = order[:min(missing, len(order))]
	slices.Sort(order)
	return order
}
