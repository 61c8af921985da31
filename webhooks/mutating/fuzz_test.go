package mutating_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/randfill"

	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/webhooks/mutating"
)

// FuzzForPod holds that a Pod is refused or, patched once, in its own gang and in no other.
func FuzzForPod(f *testing.F) {
	f.Add([]byte("a Pod"), "sample", "sample-0", "prefill", "volcano")
	f.Add([]byte{}, "sample", "sample-01", "", "")
	f.Add([]byte{1, 2, 3}, "other", "other-0", "a/b~c", "default-scheduler")
	f.Fuzz(func(t *testing.T, data []byte, name, group, role, scheduler string) {
		pod := member(func(p *corev1.Pod) {
			fill := randfill.NewFromGoFuzz(data).NilChance(0.3).NumElements(0, 3)
			fill.Fill(&p.Annotations)
			fill.Fill(&p.Spec.SchedulerName)
			p.Labels[names.LabelModelServing], p.Labels[names.LabelGroup], p.Labels[names.LabelRole] = name, group, role
		})
		ms := MakeModelServing("sample").SchedulerName(scheduler).Obj()
		in, fault := mutating.ForPod(pod, ms)
		if fault != nil {
			return
		}
		if _, ok := names.GroupOrdinal("sample", group); !ok || name != "sample" || role == "" {
			t.Fatalf("group %q of %q, role %q is let in", group, name, role)
		}
		patched := pod.DeepCopy()
		in.Apply(patched)
		if again := in.Patch(patched); len(again) > 0 {
			t.Errorf("a second call asks for %v", again)
		}
		if scheduler == names.SchedulerVolcano && patched.Annotations[names.AnnotationGroupName] != group {
			t.Errorf("not in its gang: %v", patched.Annotations)
		}
		for k, v := range pod.Annotations {
			if _, ours := in.Annotations[k]; !ours {
				if diff := cmp.Diff(v, patched.Annotations[k]); diff != "" {
					t.Errorf("annotation %q of others changes: %s", k, diff)
				}
			}
		}
	})
}
