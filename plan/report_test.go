package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan"
)

// told are the Events of a plan's writes.
func told(p plan.Plan) []string {
	var out []string
	for _, lane := range p.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				if a.Event != nil {
					out = append(out, a.Event.Reason+": "+a.Event.Message)
				}
			}
		}
	}
	return out
}

func TestOneEventTellsOfARoleInAPass(t *testing.T) {
	scaleDown := func(m *moment) {
		m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](1) })
	}
	for name, tc := range map[string]struct {
		change func(*moment)
		want   []string
	}{
		"nothing happens": {change: func(*moment) {}},
		"groups that scaling takes away": {
			change: scaleDown,
			want:   []string{"RoleDeleting: deleting 3 replicas of role a (ScaleDown)"},
		},
		"a group that a rollout takes": {
			change: func(m *moment) { m.image(0, "new") },
			want:   []string{"RoleDeleting: deleting 1 replica of role a (Rollout)"},
		},
		"both at once": {
			change: func(m *moment) { scaleDown(m); m.image(0, "new") },
			want:   []string{"RoleDeleting: deleting 4 replicas of role a (Rollout: 1, ScaleDown: 3)"},
		},
		"groups that are made": {
			change: func(m *moment) {
				m.spec(func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](6) })
			},
			want: []string{"RoleCreating: creating 2 replicas of role a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := settled(t, oneRole(4))
			tc.change(m)
			if diff := cmp.Diff(tc.want, told(m.compute())); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}
