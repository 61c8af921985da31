package gang_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/gang"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/state"
)

var volcano = state.GangSupport{PodGroups: true, SubGroups: true}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var q struct {
				Group        int                           `json:"group"`
				Hash         string                        `json:"hash"`
				OldVolcano   bool                          `json:"oldVolcano"`
				ModelServing workloadv1alpha1.ModelServing `json:"modelServing"`
			}
			if err := yaml.UnmarshalStrict(b, &q); err != nil {
				t.Fatal(err)
			}
			untouched := q.ModelServing.DeepCopy()
			template := revision.Of(&q.ModelServing)
			template.Hash = q.Hash
			support := state.GangSupport{PodGroups: true, SubGroups: !q.OldVolcano}

			pg := gang.Desired(&q.ModelServing, template, q.Group, support)
			if diff := cmp.Diff(untouched, &q.ModelServing); diff != "" {
				t.Errorf("the ModelServing was changed (-before +after):\n%s", diff)
			}
			if _, changed := gang.Reconcile(roundTrip(t, pg), gang.Desired(&q.ModelServing, template, q.Group, support)); changed {
				t.Error("a PodGroup as the API server stored it is to be updated")
			}
			out, err := yaml.Marshal(pg)
			if err != nil {
				t.Fatal(err)
			}
			gangwaytesting.Golden(t, strings.TrimSuffix(file, ".in.yaml")+".out.yaml", out)
		})
	}
}

// roundTrip is the PodGroup after the API server stored it: through JSON.
func roundTrip(t *testing.T, pg *schedulingv1beta1.PodGroup) *schedulingv1beta1.PodGroup {
	t.Helper()
	b, err := yaml.Marshal(pg)
	if err != nil {
		t.Fatal(err)
	}
	stored := &schedulingv1beta1.PodGroup{}
	if err := yaml.UnmarshalStrict(b, stored); err != nil {
		t.Fatal(err)
	}
	stored.ResourceVersion, stored.UID = "7", "u"
	return stored
}

func TestWanted(t *testing.T) {
	cases := map[string]struct {
		scheduler string
		support   state.GangSupport
		want      bool
	}{
		"Volcano, installed":                   {"volcano", volcano, true},
		"Volcano, installed, before 1.14":      {"volcano", state.GangSupport{PodGroups: true}, true},
		"Volcano, not installed":               {"volcano", state.GangSupport{}, false},
		"another scheduler, Volcano installed": {"default-scheduler", volcano, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ms := gangwaytesting.Sample().SchedulerName(tc.scheduler).Obj()
			if got := gang.Wanted(ms, tc.support); got != tc.want {
				t.Errorf("Wanted = %v, want %v", got, tc.want)
			}
		})
	}
}

// A group that keeps its old revision keeps the old sizes, with the live number of role replicas.
func TestDesiredTakesSizesFromTheRevisionAndCountsFromTheSpec(t *testing.T) {
	old := gangwaytesting.MakeModelServing("m").
		Role(gangwaytesting.MakeRole("prefill").Replicas(2).Workers(3).Obj()).
		Role(gangwaytesting.MakeRole("gone").Replicas(2).Obj())
	rev, _, _, err := revision.Resolve(old.Obj(), nil)
	if err != nil {
		t.Fatal(err)
	}
	template, err := revision.Decode(rev)
	if err != nil {
		t.Fatal(err)
	}
	live := gangwaytesting.MakeModelServing("m").
		Role(gangwaytesting.MakeRole("prefill").Replicas(5).Workers(1).Obj()).
		Role(gangwaytesting.MakeRole("new").Replicas(7).Obj()).Obj()

	pg := gang.Desired(live, template, 0, volcano)
	type row struct {
		Name      string
		Size, Min int32
	}
	var got []row
	for _, s := range pg.Spec.SubGroupPolicy {
		got = append(got, row{s.Name, *s.SubGroupSize, *s.MinSubGroups})
	}
	if diff := cmp.Diff([]row{{"prefill", 4, 5}, {"gone", 1, 2}}, got); diff != "" {
		t.Errorf("subgroups (-want +got):\n%s", diff)
	}
	if pg.Spec.MinMember != 22 {
		t.Errorf("minMember = %d, want 22", pg.Spec.MinMember)
	}
	if got, want := pg.Labels[names.LabelRevision], rev.Labels[names.LabelRevision]; got != want {
		t.Errorf("revision label %q, want %q", got, want)
	}
}

func TestReconcile(t *testing.T) {
	ms := gangwaytesting.Sample().Role(gangwaytesting.MakeRole("prefill").Replicas(4).Workers(1).Request("cpu", "1").Obj())
	desired := gang.Desired(ms.Obj(), revision.Of(ms.Obj()), 0, volcano)
	gold := gang.Desired(ms.Clone().Queue("gold").Obj(), revision.Of(ms.Obj()), 0, volcano)
	bare := gang.Desired(gangwaytesting.Sample().Obj(), revision.Of(gangwaytesting.Sample().Obj()), 0, volcano)

	stored := roundTrip(t, desired)
	stored.Status = schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupRunning, Running: 8}
	from := func(pg *schedulingv1beta1.PodGroup, change func(*schedulingv1beta1.PodGroup)) *schedulingv1beta1.PodGroup {
		c := pg.DeepCopy()
		if change != nil {
			change(c)
		}
		return c
	}
	cases := map[string]struct {
		current, desired, want *schedulingv1beta1.PodGroup
		changed                bool
	}{
		"as it is": {stored, desired, stored, false},
		"foreign labels, annotations and status stay": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Labels["a"], pg.Annotations["volcano.sh/sla-waiting-time"] = "b", "1h"
			}), desired,
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Labels["a"], pg.Annotations["volcano.sh/sla-waiting-time"] = "b", "1h"
			}), false,
		},
		"our labels and annotations come back": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Labels, pg.Annotations = nil, nil }), desired, stored, true,
		},
		"minMember is corrected": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.MinMember = 1 }), desired, stored, true,
		},
		"a subgroup is corrected": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.SubGroupPolicy[0].MinSubGroups = ptr.To[int32](1) }), desired, stored, true,
		},
		"minTaskMember goes when Volcano knows subgroups": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.MinTaskMember = map[string]int32{"prefill": 4} }), desired, stored, true,
		},
		"a topology that is not wanted goes": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.NetworkTopology = &schedulingv1beta1.NetworkTopologySpec{Mode: "hard"}
			}), desired, stored, true,
		},
		"a priority class that is not wanted goes": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.PriorityClassName = "high" }), desired, stored, true,
		},
		"equal quantities in another form are left alone": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.MinResources = &corev1.ResourceList{"cpu": resource.MustParse("4000m")}
			}), desired,
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.MinResources = &corev1.ResourceList{"cpu": resource.MustParse("4000m")}
			}), false,
		},
		"other quantities are corrected": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.MinResources = &corev1.ResourceList{"cpu": resource.MustParse("5")}
			}), desired, stored, true,
		},
		"resources that are no longer requested go": {
			stored, bare,
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.MinResources = nil }), true,
		},
		"an empty list of resources is none": {
			from(roundTrip(t, bare), func(pg *schedulingv1beta1.PodGroup) { pg.Spec.MinResources = &corev1.ResourceList{} }), bare,
			from(roundTrip(t, bare), func(pg *schedulingv1beta1.PodGroup) { pg.Spec.MinResources = &corev1.ResourceList{} }), false,
		},
		"a queue that Volcano gave it stays": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.Queue = "of-the-namespace" }), desired,
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.Queue = "of-the-namespace" }), false,
		},
		"a queue of the ModelServing's wins": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) { pg.Spec.Queue = "of-the-namespace" }), gold,
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.Queue, pg.Annotations[names.AnnotationQueue] = "gold", "gold"
			}), true,
		},
		"a queue of the ModelServing's goes with its annotation": {
			from(stored, func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.Queue, pg.Annotations[names.AnnotationQueue] = "gold", "gold"
			}), desired, stored, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.current.DeepCopy()
			got, changed := gang.Reconcile(tc.current, tc.desired)
			if changed != tc.changed {
				t.Errorf("changed = %v, want %v", changed, tc.changed)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("PodGroup (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.current); diff != "" {
				t.Errorf("the observed PodGroup was changed (-before +after):\n%s", diff)
			}
			if _, again := gang.Reconcile(got, tc.desired); again {
				t.Error("what was corrected is to be corrected again")
			}
		})
	}
}
