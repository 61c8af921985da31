package children_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// question is a golden test's input: which children of which ModelServing.
type question struct {
	Revision string `json:"revision"`
	Pods     []struct {
		Group   int    `json:"group"`
		Role    string `json:"role"`
		Replica int    `json:"replica"`
		Index   int    `json:"index"`
	} `json:"pods"`
	Services []struct {
		Group   int    `json:"group"`
		Role    string `json:"role"`
		Replica int    `json:"replica"`
	} `json:"services"`
	ModelServing workloadv1alpha1.ModelServing `json:"modelServing"`
}

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
			var q question
			if err := yaml.UnmarshalStrict(b, &q); err != nil {
				t.Fatal(err)
			}
			untouched := q.ModelServing.DeepCopy()
			template := revision.Of(&q.ModelServing)

			var objects []any
			for _, s := range q.Services {
				objects = append(objects, children.EntryService(&q.ModelServing, s.Role, s.Group, s.Replica))
			}
			for _, p := range q.Pods {
				pod := children.Pod(&q.ModelServing, template, q.Revision, children.PodID(p))
				if !cmp.Equal(pod, children.Pod(&q.ModelServing, template, q.Revision, children.PodID(p))) {
					t.Errorf("the same question got another Pod %s", pod.Name)
				}
				objects = append(objects, pod)
			}
			if diff := cmp.Diff(untouched, &q.ModelServing); diff != "" {
				t.Errorf("the ModelServing was changed (-before +after):\n%s", diff)
			}
			gangwaytesting.Golden(t, strings.TrimSuffix(file, ".in.yaml")+".out.yaml", documents(t, objects))
		})
	}
}

func documents(t *testing.T, objects []any) []byte {
	t.Helper()
	var all [][]byte
	for _, o := range objects {
		b, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return bytes.Join(all, []byte("---\n"))
}

// A Pod's name and its labels must agree, for whoever reads one back from the other.
func TestPodNamesAndLabelsAgree(t *testing.T) {
	ms := gangwaytesting.Sample().Obj()
	template := revision.Of(ms)
	id := children.PodID{Group: 2, Role: "decode", Replica: 3, Index: 1}
	pod := children.Pod(ms, template, "hash", id)
	if pod.Name != id.Name(ms.Name) {
		t.Errorf("Pod %q, PodID says %q", pod.Name, id.Name(ms.Name))
	}
	var back children.PodID
	back.Role = pod.Labels[names.LabelRole]
	back.Group, _ = names.GroupOrdinal(ms.Name, pod.Labels[names.LabelGroup])
	back.Replica, _ = names.RoleReplicaOrdinal(back.Role, pod.Labels[names.LabelRoleID])
	back.Index, _ = names.PodIndex(pod.Labels[names.LabelGroup], pod.Labels[names.LabelRoleID], pod.Name)
	if diff := cmp.Diff(id, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestTheEntryServiceSelectsTheEntryPodAlone(t *testing.T) {
	ms := gangwaytesting.Sample().Obj()
	template := revision.Of(ms)
	svc := children.EntryService(ms, "prefill", 0, 1)
	var selected []string
	for _, id := range []children.PodID{
		{Role: "prefill", Replica: 1},
		{Role: "prefill", Replica: 1, Index: 1},
		{Role: "prefill", Replica: 0},
		{Role: "decode", Replica: 1},
		{Group: 1, Role: "prefill", Replica: 1},
	} {
		pod := children.Pod(ms, template, "hash", id)
		matches := true
		for k, v := range svc.Spec.Selector {
			matches = matches && pod.Labels[k] == v
		}
		if matches {
			selected = append(selected, pod.Name)
		}
	}
	if diff := cmp.Diff([]string{svc.Name}, selected); diff != "" {
		t.Errorf("selected Pods (-want +got):\n%s", diff)
	}
}

func TestReconcileService(t *testing.T) {
	desired := children.EntryService(gangwaytesting.Sample().Obj(), "prefill", 0, 0)
	stored := desired.DeepCopy()
	stored.ResourceVersion, stored.UID = "7", "u"
	stored.Spec.ClusterIPs = []string{"None"}
	stored.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}

	with := func(change func(*corev1.Service)) *corev1.Service {
		s := stored.DeepCopy()
		change(s)
		return s
	}
	cases := map[string]struct {
		current, want *corev1.Service
		changed       bool
	}{
		"as the API server completed it": {stored, stored, false},
		"labels and annotations of others stay": {
			with(func(s *corev1.Service) { s.Labels["a"], s.Annotations = "b", map[string]string{"c": "d"} }),
			with(func(s *corev1.Service) { s.Labels["a"], s.Annotations = "b", map[string]string{"c": "d"} }),
			false,
		},
		"another selector is corrected": {
			with(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }), stored, true,
		},
		"unpublished addresses are corrected": {
			with(func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = false }), stored, true,
		},
		"labels of ours come back": {
			with(func(s *corev1.Service) { s.Labels = nil }), stored, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.current.DeepCopy()
			got, changed := children.ReconcileService(tc.current, desired)
			if changed != tc.changed {
				t.Errorf("changed = %v, want %v", changed, tc.changed)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Service (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.current); diff != "" {
				t.Errorf("the observed Service was changed (-before +after):\n%s", diff)
			}
		})
	}
}
