package mutating

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule is one thing that a Pod that claims to be of a ServingGroup is held to. Breaking it is
// refused: a stranger must not join a gang.
type Rule struct {
	// ID is stable and stands in the Origin of the fault.
	ID string
	// Field that is blamed.
	Field string
	// Says is the rule in the words of the message.
	Says string
	// Example breaks the rule.
	Example string
	// Fix is the way out.
	Fix string
}

var (
	ruleOwner = Rule{
		ID: "pod-owner", Field: "metadata.ownerReferences",
		Says:    "a Pod with labels modelserving.volcano.sh/name and modelserving.volcano.sh/group-name must be controlled by its ModelServing",
		Example: "a Deployment whose Pods carry the labels of a ServingGroup",
		Fix:     "remove the labels, or let the ModelServing create the Pod",
	}
	ruleOwnerExists = Rule{
		ID: "pod-owner-exists", Field: "metadata.ownerReferences",
		Says:    "the ModelServing that controls a Pod must exist, with the UID of the reference",
		Example: "a Pod restored from a backup of a ModelServing that was made anew",
		Fix:     "refer to the ModelServing that exists now, or leave it to create its Pods",
	}
	ruleOwnLabels = Rule{
		ID: "pod-labels", Field: "metadata.labels[]",
		Says:    "the labels of a Pod must name its own ModelServing, ServingGroup and role",
		Example: "modelserving.volcano.sh/group-name: other-0 on a Pod of sample",
		Fix:     "write the names that the message gives",
	}
)

// Rules are all rules of this package, for the documentation.
func Rules() []Rule {
	return []Rule{ruleOwner, ruleOwnerExists, ruleOwnLabels}
}

func (r Rule) invalid(path *field.Path, value, wayOut string, args ...any) *field.Error {
	return field.Invalid(path, clip(value), r.Says+"; "+fmt.Sprintf(wayOut, args...)).WithOrigin(r.ID)
}

func (r Rule) required(path *field.Path, wayOut string, args ...any) *field.Error {
	return field.Required(path, r.Says+"; "+fmt.Sprintf(wayOut, args...)).WithOrigin(r.ID)
}

const maxShown = 80

// clip shortens what a user wrote to what a message can hold.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return s[:maxShown] + "..."
}
