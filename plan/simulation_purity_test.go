package plan_test

import (
	"fmt"
	"reflect"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/state"
)

// checkPure holds that Compute changes nothing it is given, and that the order of lists is nothing to it.
func (m *manager) checkPure(s state.Snapshot) {
	copied := deepCopy(s)
	first := plan.Compute(s, m.w.now)
	if !apiequality.Semantic.DeepEqual(copied, s) {
		m.w.violate("Compute changed its snapshot")
	}
	slices.Reverse(copied.Pods)
	slices.Reverse(copied.Services)
	slices.Reverse(copied.PodGroups)
	slices.Reverse(copied.Revisions)
	if second := plan.Compute(copied, m.w.now); !equalPlans(first, second) {
		m.w.violate("Compute answers differently when lists are in another order:\n%s\n%s", render(first), render(second))
	}
}

func equalPlans(a, b plan.Plan) bool { return reflect.DeepEqual(a, b) || render(a) == render(b) }

// render writes a plan down as far as order and names matter.
func render(p plan.Plan) string {
	out := ""
	list := func(title string, actions []action.Action) {
		out += title + ":"
		for _, a := range actions {
			out += fmt.Sprintf(" %s %s %s (%s)", a.Verb, kindOf(a.Object), a.Object.GetName(), a.Why)
		}
		out += "\n"
	}
	list("before", p.Before)
	for _, l := range p.Lanes {
		for i, s := range l.Stages {
			list(fmt.Sprintf("lane %s stage %d", l.Name, i), s)
		}
	}
	list("after", p.After)
	out += fmt.Sprintf("events: %v\nstatus first: %v, requeue after %s\nstatus: %+v\n", p.Events, p.StatusFirst, p.RequeueAfter, p.Status)
	return out
}

func deepCopy(s state.Snapshot) state.Snapshot {
	s.ModelServing = s.ModelServing.DeepCopy()
	s.Pods = copies(s.Pods)
	s.Services = copies(s.Services)
	s.PodGroups = copies(s.PodGroups)
	s.Revisions = copies(s.Revisions)
	return s
}

func copies[T interface{ DeepCopy() T }](in []T) []T {
	out := make([]T, 0, len(in))
	for _, o := range in {
		out = append(out, o.DeepCopy())
	}
	return out
}
