package webhooks

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/mutating"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

const docs = "../docs/admission.md"

// TestDocs holds that the documentation lists every rule as the code has it.
func TestDocs(t *testing.T) {
	const begin, end = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks %q and %q", docs, begin, end)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(begin)
	writeRules(&b)
	b.WriteString(end)
	b.Write(after)
	gangwaytesting.Golden(t, docs, b.Bytes())
}

func writeRules(b *bytes.Buffer) {
	table := func(title string, effect validating.Effect) {
		fmt.Fprintf(b, "\n### %s\n\n| rule | field | says | for example | way out |\n|---|---|---|---|---|\n", title)
		for _, r := range validating.Rules() {
			if r.Effect == effect {
				row(b, r.ID, r.Field, r.Says, r.Example, r.Fix)
			}
		}
	}
	table("Refused", validating.Rejects)
	table("Warned", validating.Warns)
	b.WriteString("\n### Pods refused\n\n| rule | field | says | for example | way out |\n|---|---|---|---|---|\n")
	for _, r := range mutating.Rules() {
		row(b, r.ID, r.Field, r.Says, r.Example, r.Fix)
	}
	b.WriteString("\n")
}

func row(b *bytes.Buffer, cells ...string) {
	for i, c := range cells {
		switch c = strings.ReplaceAll(c, "|", `\|`); i {
		case 0, 1:
			c = "`" + c + "`"
		default:
			c = strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(c)
		}
		b.WriteString("| " + c + " ")
	}
	b.WriteString("|\n")
}
