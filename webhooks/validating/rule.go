package validating

import (
	"fmt"
	"reflect"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Effect is what breaking a rule leads to.
type Effect string

const (
	// Rejects: the object is refused.
	Rejects Effect = "rejected"
	// Warns: the object is accepted, and the user is told.
	Warns Effect = "warned"
)

// Rule is one thing that objects are held to.
type Rule struct {
	// ID is stable and stands in the Origin of every fault of this rule.
	ID string
	// Effect of breaking it.
	Effect Effect
	// Field that is blamed, as far as it is always the same.
	Field string
	// Says is the rule in the words of the message.
	Says string
	// Example breaks the rule.
	Example string
	// Fix is the way out.
	Fix string
}

// rules holds every Rule in the order of their declaration.
var rules []*Rule

func newRule(r Rule) *Rule {
	rules = append(rules, &r)
	return &r
}

// Rules are all rules of this package, for the documentation.
func Rules() []Rule {
	all := make([]Rule, 0, len(rules))
	for _, r := range rules {
		all = append(all, *r)
	}
	return all
}

// Warning is something that is allowed but probably not meant.
type Warning struct {
	// Rule is the ID of the rule.
	Rule string
	// Field is the path of the field that is meant.
	Field string
	// Message says what will happen, and the way out.
	Message string
}

// String is the warning as the user reads it.
func (w Warning) String() string {
	return w.Field + ": " + w.Message
}

// maxShown bounds how much of a user's value is repeated to them.
const maxShown = 80

// clip shortens what a user wrote to what a message can hold.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown - len("...")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

func shown(value any) any {
	switch v := value.(type) {
	case string:
		return clip(v)
	case intstr.IntOrString:
		if v.Type == intstr.Int {
			return v.IntVal
		}
		return clip(v.StrVal)
	default:
		if s := reflect.ValueOf(value); s.Kind() == reflect.String {
			return clip(s.String())
		}
		return value
	}
}

func (r *Rule) invalid(path *field.Path, value any, wayOut string, args ...any) *field.Error {
	return field.Invalid(path, shown(value), r.detail(r.Says, wayOut, args)).WithOrigin(r.ID)
}

func (r *Rule) required(path *field.Path, wayOut string, args ...any) *field.Error {
	return field.Required(path, r.detail(r.Says, wayOut, args)).WithOrigin(r.ID)
}

func (r *Rule) duplicate(path *field.Path, value any, wayOut string, args ...any) *field.Error {
	err := field.Duplicate(path, shown(value)).WithOrigin(r.ID)
	err.Detail = r.detail(r.Says, wayOut, args)
	return err
}

func (r *Rule) notFound(path *field.Path, value any, wayOut string, args ...any) *field.Error {
	err := field.NotFound(path, shown(value)).WithOrigin(r.ID)
	err.Detail = r.detail(r.Says, wayOut, args)
	return err
}

func (r *Rule) detail(says, wayOut string, args []any) string {
	return says + "; " + fmt.Sprintf(wayOut, args...)
}

// adopt makes the faults of a library's validator, in its words, faults of this rule.
func (r *Rule) adopt(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Origin = r.ID
		err.BadValue = shown(err.BadValue)
		err.Field = clipField(err.Field)
		if err.Detail == "" {
			err.Detail = r.Says
		}
		err.Detail = clipDetail(err.Detail) + "; correct it"
	}
	return errs
}

func (r *Rule) warn(path *field.Path, wayOut string, args ...any) Warning {
	return Warning{Rule: r.ID, Field: path.String(), Message: r.detail(r.Says, wayOut, args)}
}

const (
	maxField  = 300
	maxDetail = 600
)

func clipField(s string) string  { return clipTo(s, maxField) }
func clipDetail(s string) string { return clipTo(s, maxDetail) }

func clipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
