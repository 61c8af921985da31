package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// units reads one letter per unit, from ordinal 0: o outdated and available, x outdated and not
// available, g outdated and growing, U up to date and available, u up to date and not available, G up
// to date and growing.
func units(letters string) []Unit {
	var out []Unit
	for i, l := range letters {
		out = append(out, Unit{Ordinal: i, Outdated: l == 'o' || l == 'x' || l == 'g', Available: l == 'o' || l == 'U', Growing: l == 'g' || l == 'G'})
	}
	return out
}

func TestStep(t *testing.T) {
	for name, tc := range map[string]struct {
		units        string
		minAvailable int
		want         []int
	}{
		"nothing is outdated": {"UUU", 2, nil},
		"there is nothing":    {"", 0, nil},
		"the available outdated unit with the highest ordinal goes first": {"oooo", 3, []int{3}},
		"as many as the budget allows":                                    {"oooo", 1, []int{1, 2, 3}},
		"with no budget nothing available goes":                           {"oooo", 4, nil},
		"a surge makes room":                                              {"ooooU", 4, []int{3}},
		"a surge unit that starts makes none":                             {"oooou", 4, nil},
		"broken outdated units go at once, and cost nothing":              {"oxxo", 2, []int{1, 2}},
		"broken outdated units go even when too few are available":        {"xxxo", 3, []int{0, 1, 2}},
		"broken ones and what the budget leaves":                          {"oxoo", 2, []int{1, 3}},
		"a unit that is being replaced uses up the budget":                {"ooou", 3, nil},
		"an updated unit that broke uses up the budget":                   {"oouU", 3, nil},
		"updated units are never taken":                                   {"UUoU", 3, []int{2}},
		"the last outdated unit":                                          {"oUUU", 3, []int{0}},
		"units that grow serve, and are not all taken at once":            {"gggg", 3, []int{3}},
		"they are taken first of those that serve":                        {"goUo", 3, []int{0}},
		"and count only while they are outdated":                          {"GoUo", 3, nil},
		"more available than wanted":                                      {"oo", 0, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Step(units(tc.units), tc.minAvailable)); diff != "" {
				t.Errorf("Step(%s, %d) (-want +got):\n%s", tc.units, tc.minAvailable, diff)
			}
		})
	}
}

func TestStepIgnoresTheOrderOfTheUnits(t *testing.T) {
	in := units("oxUoxo")
	reversed := make([]Unit, len(in))
	for i := range in {
		reversed[len(in)-1-i] = in[i]
	}
	for least := range len(in) {
		if diff := cmp.Diff(Step(in, least), Step(reversed, least)); diff != "" {
			t.Errorf("minAvailable %d (-sorted +reversed):\n%s", least, diff)
		}
	}
}

func TestARolloutEndsAndKeepsItsPromise(t *testing.T) {
	for replicas := range 6 {
		for maxUnavailable := range replicas + 1 {
			for maxSurge := range 3 {
				if maxUnavailable == 0 && maxSurge == 0 {
					continue
				}
				roll(t, replicas, Limits{MaxUnavailable: maxUnavailable, MaxSurge: maxSurge})
			}
		}
	}
}

// roll plays a rollout in which each pass sees the units that the last one took down come back.
func roll(t *testing.T, replicas int, l Limits) {
	t.Helper()
	state := map[int]byte{}
	for i := range replicas {
		state[i] = 'o'
	}
	surge := 0
	for pass := range 10 * (replicas + 2) {
		outdated, settled := 0, true
		for i := range replicas {
			if state[i] == 'o' {
				outdated++
			}
			settled = settled && state[i] == 'U'
		}
		surge = Surge(surge, l.MaxSurge, outdated, false, settled)
		for i := range state {
			if i >= replicas+surge {
				delete(state, i)
			}
		}
		for i := range replicas + surge {
			if state[i] == 0 {
				state[i] = 'u'
			}
		}
		letters := ""
		for i := range replicas + surge {
			letters += string(state[i])
		}
		available := 0
		for _, l := range letters {
			if l == 'o' || l == 'U' {
				available++
			}
		}
		if least := l.MinAvailable(replicas); available < least {
			t.Fatalf("replicas %d, %+v: %d available in pass %d (%s), fewer than %d", replicas, l, available, pass, letters, least)
		}
		if settled && surge == 0 {
			return
		}
		down := Step(units(letters), l.MinAvailable(replicas))
		for i := range state {
			if state[i] == 'u' {
				state[i] = 'U'
			}
		}
		for _, i := range down {
			state[i] = 'u'
			available--
		}
		if least := l.MinAvailable(replicas); available < least {
			t.Fatalf("replicas %d, %+v: pass %d takes %v of %s", replicas, l, pass, down, letters)
		}
	}
	t.Fatalf("replicas %d, %+v: the rollout does not end", replicas, l)
}

func TestSurge(t *testing.T) {
	for name, tc := range map[string]struct {
		now, maxSurge, outdated int
		paused, settled         bool
		want                    int
	}{
		"no rollout, no surge":                              {settled: true},
		"a rollout begins":                                  {maxSurge: 2, outdated: 4, want: 2},
		"no more surge units than outdated ones":            {maxSurge: 3, outdated: 1, want: 1},
		"they stay while the rollout nears its end":         {now: 3, maxSurge: 3, outdated: 1, want: 3},
		"they stay until the last replaced unit stands":     {now: 1, maxSurge: 1, want: 1},
		"they go once all is settled":                       {now: 1, maxSurge: 1, settled: true},
		"a paused rollout begins none":                      {maxSurge: 2, outdated: 4, paused: true},
		"a paused rollout keeps those it has":               {now: 1, maxSurge: 2, outdated: 4, paused: true, want: 1},
		"the setting is lowered":                            {now: 3, maxSurge: 1, outdated: 2, want: 1},
		"the setting is lowered when nothing is outdated":   {now: 3, maxSurge: 0},
		"something unavailable alone is no reason to surge": {maxSurge: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Surge(tc.now, tc.maxSurge, tc.outdated, tc.paused, tc.settled); got != tc.want {
				t.Errorf("Surge = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	v := func(s string) *intstr.IntOrString { return ptr.To(intstr.Parse(s)) }
	spec := func(partition, unavailable, surge *intstr.IntOrString) *workloadv1alpha1.ModelServingSpec {
		return &workloadv1alpha1.ModelServingSpec{RolloutStrategy: &workloadv1alpha1.RolloutStrategy{
			RollingUpdateConfiguration: &workloadv1alpha1.RollingUpdateConfiguration{
				Partition: partition, MaxUnavailable: unavailable, MaxSurge: surge,
			},
		}}
	}
	role := spec(v("5"), v("5"), v("5"))
	role.RolloutStrategy.Type = workloadv1alpha1.RoleRollingUpdate
	for name, tc := range map[string]struct {
		spec     *workloadv1alpha1.ModelServingSpec
		replicas int
		want     Limits
	}{
		"no strategy at all":                                {&workloadv1alpha1.ModelServingSpec{}, 3, Limits{MaxUnavailable: 1}},
		"numbers are numbers":                               {spec(v("2"), v("3"), v("4")), 3, Limits{2, 3, 4}},
		"partition and surge round up, unavailable down":    {spec(v("50%"), v("50%"), v("50%")), 3, Limits{2, 1, 2}},
		"a small percentage unavailable is still 1":         {spec(nil, v("10%"), nil), 3, Limits{MaxUnavailable: 1}},
		"with a surge it may be 0":                          {spec(nil, v("10%"), v("1")), 3, Limits{MaxSurge: 1}},
		"both 0, which admission refuses, are not for ever": {spec(nil, v("0"), v("0")), 3, Limits{MaxUnavailable: 1}},
		"percentages of 0":                                  {spec(v("50%"), v("50%"), v("50%")), 0, Limits{MaxUnavailable: 1}},
		"percentages of 1":                                  {spec(v("1%"), v("99%"), v("1%")), 1, Limits{1, 0, 1}},
		"RoleRollingUpdate has no limits for groups":        {role, 3, Limits{MaxUnavailable: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OfGroups(tc.spec, tc.replicas)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("OfGroups (-want +got):\n%s", diff)
			}
			if least := got.MinAvailable(tc.replicas); least < 0 {
				t.Errorf("MinAvailable(%d) = %d", tc.replicas, least)
			}
		})
	}
	if _, err := OfGroups(spec(v("half"), nil, nil), 3); err == nil {
		t.Error("a malformed partition is accepted")
	}
	if _, err := OfRole(&workloadv1alpha1.Role{Name: "prefill", MaxUnavailable: v("half")}, 3); err == nil {
		t.Error("a malformed maxUnavailable of a role is accepted")
	}
}
