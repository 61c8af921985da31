package validating_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// messageCase is one thing that a user does wrong. All of them together break every rule.
type messageCase struct {
	name  string
	judge func() (field.ErrorList, []validating.Warning)
}

// TestMessages holds every message, word for word, so that they can be read as a whole.
func TestMessages(t *testing.T) {
	var cases []messageCase
	cases = append(cases, modelServingMessages()...)
	cases = append(cases, podTemplateMessages()...)
	cases = append(cases, schedulingMessages()...)
	cases = append(cases, gatewayMessages()...)
	cases = append(cases, vllmServiceMessages()...)

	var b strings.Builder
	seen := sets.New[string]()
	for _, c := range cases {
		errs, warnings := c.judge()
		if len(errs)+len(warnings) == 0 {
			t.Errorf("%s: nothing is said", c.name)
		}
		fmt.Fprintf(&b, "# %s\n", c.name)
		for _, err := range errs {
			seen.Insert(err.Origin)
			fmt.Fprintf(&b, "rejected [%s] %s\n", err.Origin, err.Error())
		}
		for _, w := range warnings {
			seen.Insert(w.Rule)
			fmt.Fprintf(&b, "warned [%s] %s\n", w.Rule, w)
		}
		b.WriteString("\n")
	}
	gangwaytesting.Golden(t, "testdata/messages.golden", []byte(b.String()))

	for _, r := range validating.Rules() {
		if !seen.Has(r.ID) {
			t.Errorf("no case breaks rule %q", r.ID)
		}
		seen.Delete(r.ID)
	}
	for _, id := range sets.List(seen) {
		t.Errorf("%q stands in a message and is not among the rules", id)
	}
}
