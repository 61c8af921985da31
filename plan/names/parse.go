package names

import "strings"

// ParsePod reads back what Pod was made from. Role names begin with a letter and ordinals are
// written without leading zeros, so a name has one meaning for a ModelServing, whatever dashes and
// digits its roles have.
func ParsePod(modelServing, pod string) (group int, role string, replica, index int, ok bool) {
	rest, ok := strings.CutPrefix(pod, modelServing+"-")
	if !ok {
		return 0, "", 0, 0, false
	}
	first, rest, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, "", 0, 0, false
	}
	rest, last, ok := cutLast(rest)
	if !ok {
		return 0, "", 0, 0, false
	}
	role, middle, ok := cutLast(rest)
	if !ok || role == "" || role[0] < 'a' || role[0] > 'z' {
		return 0, "", 0, 0, false
	}
	var g, r, n bool
	group, g = ordinalAfter("", first)
	replica, r = ordinalAfter("", middle)
	index, n = ordinalAfter("", last)
	return group, role, replica, index, g && r && n
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}
