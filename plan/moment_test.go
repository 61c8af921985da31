package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/state"
)

// moment is a snapshot that a test changes step by step.
type moment struct {
	t testing.TB
	state.Snapshot
	now time.Time
}

// settled is a ModelServing at rest, with all of its Pods Ready for an hour.
func settled(t testing.TB, ms *gangwaytesting.ModelServingWrapper) *moment {
	t.Helper()
	s, now := comeToRest(t, state.Snapshot{ModelServing: ms.Obj(), Gang: volcano})
	return &moment{t, s, now}
}

// spec changes the spec, as a user does.
func (m *moment) spec(change func(*workloadv1alpha1.ModelServing)) {
	m.ModelServing = m.ModelServing.DeepCopy()
	change(m.ModelServing)
	m.ModelServing.Generation++
}

func (m *moment) image(role int, image string) {
	m.spec(func(ms *workloadv1alpha1.ModelServing) {
		r := &ms.Spec.Template.Roles[role]
		r.EntryTemplate.Spec.Containers[0].Image = image
		if r.WorkerTemplate != nil {
			r.WorkerTemplate.Spec.Containers[0].Image = image
		}
	})
}

func (m *moment) pod(name string) *gangwaytesting.PodWrapper {
	m.t.Helper()
	for i, p := range m.Pods {
		if p.Name == name {
			w := &gangwaytesting.PodWrapper{Pod: *p.DeepCopy()}
			m.Pods[i] = &w.Pod
			return w
		}
	}
	m.t.Fatalf("no Pod %q", name)
	return nil
}

// gone takes Pods away, as if they had vanished.
func (m *moment) gone(pods ...string) {
	m.Pods = slices.DeleteFunc(slices.Clone(m.Pods), func(p *corev1.Pod) bool { return slices.Contains(pods, p.Name) })
}

// write carries out what a plan says of the status alone: the manager is killed after that.
func (m *moment) write(p plan.Plan) {
	m.ModelServing = m.ModelServing.DeepCopy()
	m.ModelServing.Status = p.Status
	for _, a := range p.Before {
		if a.Verb == action.Create {
			m.Revisions = append(slices.Clone(m.Revisions), a.Object.(*appsv1.ControllerRevision))
		}
	}
}

func (m *moment) compute() plan.Plan { return plan.Compute(m.Snapshot, m.now) }

// writes renders a plan's writes, in order; the stages of a lane are told apart by their number.
func writes(p plan.Plan) []string {
	var out []string
	for _, a := range p.Before {
		out = append(out, fmt.Sprintf("before: %s %T (%s)", a.Verb, a.Object, a.Why))
	}
	for _, lane := range p.Lanes {
		for i, stage := range lane.Stages {
			for _, a := range stage {
				out = append(out, fmt.Sprintf("%s/%d: %s %s %s (%s)", lane.Name, i, a.Verb, kindName(a.Object), a.Object.GetName(), a.Why))
			}
		}
	}
	for _, a := range p.After {
		out = append(out, fmt.Sprintf("after: %s %s %s (%s)", a.Verb, kindName(a.Object), a.Object.GetName(), a.Why))
	}
	return out
}

func kindName(o action.Object) string {
	switch o.(type) {
	case *corev1.Pod:
		return "Pod"
	case *corev1.Service:
		return "Service"
	case *schedulingv1beta1.PodGroup:
		return "PodGroup"
	case *appsv1.ControllerRevision:
		return "ControllerRevision"
	default:
		return fmt.Sprintf("%T", o)
	}
}

func (m *moment) expect(want ...string) plan.Plan {
	m.t.Helper()
	p := m.compute()
	if diff := cmp.Diff(want, writes(p)); diff != "" {
		m.t.Errorf("writes (-want +got):\n%s", diff)
	}
	return p
}

func twoRoles() *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").
		Role(gangwaytesting.MakeRole("a").Workers(1).Obj()).
		Role(gangwaytesting.MakeRole("b").Obj())
}

func oneRole(groups int32) *gangwaytesting.ModelServingWrapper {
	return gangwaytesting.MakeModelServing("ms").Replicas(groups).Role(gangwaytesting.MakeRole("a").Obj())
}

func roleHashOf(t *testing.T, rev *appsv1.ControllerRevision, role string) string {
	t.Helper()
	template, err := revision.Decode(rev)
	if err != nil {
		t.Fatal(err)
	}
	return template.RoleHashes[role]
}
