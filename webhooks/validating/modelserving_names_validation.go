package validating

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

var (
	ruleName = newRule(Rule{
		ID: "name", Effect: Rejects, Field: "metadata.name",
		Says:    "must be a DNS-1035 label, which starts with a letter and holds only a-z, 0-9 and '-', since Pods and Services are named after it",
		Example: "name: llama-3.1",
		Fix:     "write dots as '-'; put a letter first",
	})
	ruleNameLength = newRule(Rule{
		ID: "name-length", Effect: Rejects, Field: "metadata.name",
		Says:    "every name that is made from it must have at most 63 characters",
		Example: "a name of 55 characters with a role of 12",
		Fix:     "remove the number of characters that the message says, from the name or the role's name",
	})
)

func validateNames(ms *workloadv1alpha1.ModelServing) field.ErrorList {
	if ms.Name == "" {
		return nil // the API server's own fault to report
	}
	path := field.NewPath("metadata", "name")
	var errs field.ErrorList
	if !isDNS1035Shaped(ms.Name) {
		errs = append(errs, ruleName.invalid(path, ms.Name, "rename it, for example to %q", dns1035From(ms.Name)))
	}
	if l := names.Longest(ms); l.Excess > 0 {
		errs = append(errs, ruleNameLength.invalid(path, ms.Name, "%s", shorten(l)))
	}
	return errs
}

// shorten says what to remove so that the longest name fits.
func shorten(l names.Length) string {
	where := "this name"
	if l.Role != "" {
		where = fmt.Sprintf("this name or from the role's name %q", clip(l.Role))
	}
	return fmt.Sprintf("%q would have %d: remove %s from %s", clip(l.Name), len(l.Name), characters(l.Excess), where)
}

// isDNS1035Shaped is true for a DNS-1035 label of any length.
func isDNS1035Shaped(name string) bool {
	for _, msg := range validation.IsDNS1035Label(name) {
		if msg != validation.MaxLenError(validation.DNS1035LabelMaxLength) {
			return false
		}
	}
	return true
}

// dns1035From makes the DNS-1035 label that is closest to name.
func dns1035From(name string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, clip(name))
	label = strings.Trim(label, "-")
	if label == "" {
		return "model"
	}
	if label[0] >= '0' && label[0] <= '9' {
		return "m" + label
	}
	return label
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}
