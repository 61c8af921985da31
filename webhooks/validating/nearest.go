package validating

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// maxCandidates bounds what is compared with a misspelt name: as many as a ModelServing has roles.
const maxCandidates = 32

// nearest is the candidate that is closest to what was written, and whether it is close enough to
// be meant: at most half of the longer word differs. Of equals the first counts.
func nearest(written string, candidates []string) (string, bool) {
	best, bestDistance := "", -1
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		c = clip(c)
		d := levenshtein.Distance(clip(written), c, nil)
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, bestDistance >= 0 && 2*bestDistance <= max(len(best), len(clip(written)))
}

// chooseRole says which role to name instead of the one that does not exist.
func chooseRole(written string, roles []string) string {
	if best, ok := nearest(written, roles); ok {
		return fmt.Sprintf("did you mean %q? The roles are %s", best, quotedList(roles))
	}
	return "use one of " + quotedList(roles)
}

// maxListed bounds the names that a message lists.
const maxListed = 10

func quotedList(names []string) string {
	more := ""
	if len(names) > maxListed {
		more = fmt.Sprintf(" and %d more", len(names)-maxListed)
		names = names[:maxListed]
	}
	var quoted []string
	for _, n := range names {
		if n != "" {
			quoted = append(quoted, fmt.Sprintf("%q", clip(n)))
		}
	}
	if len(quoted) == 0 {
		return "none"
	}
	return strings.Join(quoted, ", ") + more
}
