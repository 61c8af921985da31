package revision_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// The hashes below are in the labels of running Pods. A change that moves one of them restarts
// every such Pod in every cluster that upgrades: correct the change, not the test.
const (
	goldenSampleHash  = "6d76d4547d"
	goldenPrefillHash = "d87fc4564"
	goldenFullHash    = "7f4f775694"
)

func TestHashesNeverMove(t *testing.T) {
	sample := revision.Of(gangwaytesting.Sample().Obj())
	full := revision.Of(read(t, "defaults-left-out.yaml"))
	got := map[string]string{
		"sample":  hash(t, sample),
		"prefill": revision.RoleHash(sample, "prefill"),
		"full":    hash(t, full),
	}
	want := map[string]string{
		"sample":  goldenSampleHash,
		"prefill": goldenPrefillHash,
		"full":    goldenFullHash,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hashes moved (-want +got):\n%s", diff)
	}
}

func TestDataIsCanonical(t *testing.T) {
	const want = `{"schedulerName":"volcano","roles":[` +
		`{"name":"prefill",` +
		`"entryTemplate":{"spec":{"containers":[{"name":"server","image":"registry.example/llm:1","ports":[{"containerPort":8000}]}]}},` +
		`"workerReplicas":1,` +
		`"workerTemplate":{"spec":{"containers":[{"name":"server","image":"registry.example/llm:1"}]}}},` +
		`{"name":"decode",` +
		`"entryTemplate":{"spec":{"containers":[{"name":"server","image":"registry.example/llm:1","ports":[{"containerPort":8000}]}]}},` +
		`"workerReplicas":1,` +
		`"workerTemplate":{"spec":{"containers":[{"name":"server","image":"registry.example/llm:1"}]}}}]}`
	got := string(content(t, revision.Of(gangwaytesting.Sample().Obj())))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("data of the sample (-want +got):\n%s", diff)
	}
}

// A GitOps tool may apply what the API server gave it: the same spec with every default written out.
func TestDefaultsWrittenOutAreTheSameRevision(t *testing.T) {
	short, long := revision.Of(read(t, "defaults-left-out.yaml")), revision.Of(read(t, "defaults-written-out.yaml"))
	if diff := cmp.Diff(tree(t, content(t, short)), tree(t, content(t, long))); diff != "" {
		t.Errorf("data (-defaults left out +defaults written out):\n%s", diff)
	}
	if diff := cmp.Diff(short.RoleHashes, long.RoleHashes); diff != "" {
		t.Errorf("role hashes (-defaults left out +defaults written out):\n%s", diff)
	}
}

func TestWhatTheHashCovers(t *testing.T) {
	role := func() *gangwaytesting.RoleWrapper {
		return gangwaytesting.MakeRole("prefill").Replicas(4).Workers(1).Port(8000)
	}
	base := gangwaytesting.Sample
	template := func(change func(*workloadv1alpha1.PodTemplateSpec)) *gangwaytesting.ModelServingWrapper {
		return base().Role(role().Entry(change).Obj())
	}
	cases := map[string]struct {
		ms   *gangwaytesting.ModelServingWrapper
		same bool
	}{
		"group replicas are not covered":              {base().Replicas(7), true},
		"role replicas are not covered":               {base().Role(role().Replicas(9).Obj()), true},
		"partition and budgets are not covered":       {base().Partition("1").MaxUnavailable("2").MaxSurge("1"), true},
		"role partition and budget are not covered":   {base().Role(role().Partition("1").MaxUnavailable("2").Obj()), true},
		"pausing is not covered":                      {base().Paused(true), true},
		"the gang policy is not covered":              {base().MinRoleReplicas("prefill", 1), true},
		"the network topology is not covered":         {base().Topology(&workloadv1alpha1.NetworkTopologySpec{Mode: "soft"}, nil), true},
		"the recovery policy is not covered":          {base().RecoveryPolicy(workloadv1alpha1.RecoverNone), true},
		"grace and deadline are not covered":          {base().GraceSeconds(1).ProgressDeadlineSeconds(1), true},
		"the route is not covered":                    {base().GatewayRef("gw", "http", "llm.example.local"), true},
		"labels of the ModelServing are not covered":  {base().Label("team", "a"), true},
		"empty metadata is none":                      {template(func(p *workloadv1alpha1.PodTemplateSpec) { p.Metadata = &workloadv1alpha1.PodMetadata{} }), true},
		"a scheduler in the template is not covered":  {template(func(p *workloadv1alpha1.PodTemplateSpec) { p.Spec.SchedulerName = "volcano" }), true},
		"a worker template without workers is unused": {base().Role(role().Workers(0).Obj()), false},
		"the entry's image is covered":                {base().Role(role().EntryImage("registry.example/llm:2").Obj()), false},
		"the workers' image is covered":               {base().Role(role().WorkerImage("registry.example/llm:2").Obj()), false},
		"workerReplicas are covered":                  {base().Role(role().Workers(2).Obj()), false},
		"the scheduler is covered":                    {base().SchedulerName("default-scheduler"), false},
		"a role that is added is covered":             {base().Role(gangwaytesting.MakeRole("router").Obj()), false},
		"labels of a template are covered": {template(func(p *workloadv1alpha1.PodTemplateSpec) {
			p.Metadata = &workloadv1alpha1.PodMetadata{Labels: map[string]string{"a": "b"}}
		}), false},
		"a pull policy that is not the default is covered": {template(func(p *workloadv1alpha1.PodTemplateSpec) {
			p.Spec.Containers[0].ImagePullPolicy = "Always"
		}), false},
	}
	want := hash(t, revision.Of(base().Obj()))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hash(t, revision.Of(tc.ms.Obj())); (got == want) != tc.same {
				t.Errorf("hash %s, of the sample %s, want same = %v", got, want, tc.same)
			}
		})
	}

	a := revision.Of(base().Role(role().Workers(0).Obj()).Obj())
	noTemplate := role().Workers(0).Obj()
	noTemplate.WorkerTemplate = nil
	if diff := cmp.Diff(content(t, a), content(t, revision.Of(base().Role(noTemplate).Obj()))); diff != "" {
		t.Errorf("a worker template that no Pod is made from (-set +absent):\n%s", diff)
	}
}

func TestRoleHash(t *testing.T) {
	base := revision.Of(gangwaytesting.Sample().Obj())
	other := revision.Of(gangwaytesting.Sample().
		Role(gangwaytesting.MakeRole("prefill").Replicas(4).Workers(1).Port(8000).Image("registry.example/llm:2").Obj()).Obj())
	if revision.RoleHash(base, "prefill") == revision.RoleHash(other, "prefill") {
		t.Error("prefill has a new image, and the same hash")
	}
	if a, b := revision.RoleHash(base, "decode"), revision.RoleHash(other, "decode"); a != b {
		t.Errorf("decode did not change, but its hash did: %s, %s", a, b)
	}
	if a, b := revision.RoleHash(base, "prefill"), revision.RoleHash(base, "decode"); a != b {
		t.Errorf("the name makes no Pod different, but the hashes differ: %s, %s", a, b)
	}
	scheduler := revision.Of(gangwaytesting.Sample().SchedulerName("other").Obj())
	if revision.RoleHash(base, "decode") == revision.RoleHash(scheduler, "decode") {
		t.Error("every Pod gets another scheduler, and the role's hash is the same")
	}
	bare := revision.Template{SchedulerName: base.SchedulerName, Roles: base.Roles}
	if a, b := revision.RoleHash(base, "decode"), revision.RoleHash(bare, "decode"); a != b {
		t.Errorf("remembered %s, computed %s", a, b)
	}
	if got := revision.RoleHash(base, "router"); got != "" {
		t.Errorf("a role that is not there has hash %q", got)
	}
}

func TestHashIsFitForLabelsAndTellsCollisionsApart(t *testing.T) {
	seen := map[string]bool{}
	for i := range int32(500) {
		h := revision.Hash([]byte("data"), ptr.To(i))
		if errs := validation.IsValidLabelValue(h); len(errs) > 0 || len(h) > 10 {
			t.Fatalf("hash %q: %v", h, errs)
		}
		seen[h] = true
	}
	if len(seen) != 500 {
		t.Errorf("500 collision counts made %d hashes", len(seen))
	}
}

func TestDecodeReadsBackWhatDataWrote(t *testing.T) {
	ms := read(t, "defaults-written-out.yaml")
	want := revision.Of(ms)
	rev := stored(t, ms, nil)
	got, err := revision.Decode(rev)
	if err != nil {
		t.Fatal(err)
	}
	want.Hash = rev.Labels[names.LabelRevision]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tree(t, rev.Data.Raw), tree(t, content(t, got))); diff != "" {
		t.Errorf("data (-stored +read back):\n%s", diff)
	}
}

// The API server writes the data anew when it patches the metadata, and refuses data that changed by it.
func TestDataIsStoredAsThePatchOfAnAPIServerLeavesIt(t *testing.T) {
	rev := stored(t, read(t, "defaults-written-out.yaml"), nil)
	patched, err := json.Marshal(tree(t, rev.Data.Raw))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(rev.Data.Raw), string(patched)); diff != "" {
		t.Errorf("data (-stored +patched):\n%s", diff)
	}
}

func TestDecodeRefusesWhatIsNotOurs(t *testing.T) {
	cases := map[string]struct {
		data, want string
	}{
		"no JSON":             {"{", `decode data of ControllerRevision "sample-x": unexpected end of JSON input`},
		"a role of no entry":  {`{"roles":[{"name":"r"}]}`, `decode data of ControllerRevision "sample-x": role "r" has no entryTemplate`},
		"a data of something": {`[]`, `decode data of ControllerRevision "sample-x": json: cannot unmarshal array into Go value of type revision.data`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rev := &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Name: "sample-x"},
				Data:       runtime.RawExtension{Raw: []byte(tc.data)},
			}
			_, err := revision.Decode(rev)
			if diff := cmp.Diff(tc.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	rev := func(data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(data)}}
	}
	const one = `{"roles":[{"name":"r","entryTemplate":{"spec":{"containers":[{"name":"c","image":"i:1"}]}}}]}`
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"the same bytes": {one, one, true},
		"another order of keys and spaces": {
			one,
			`{ "roles":[{"entryTemplate":{"spec":{"containers":[{"image":"i:1","name":"c"}]}},"name":"r"}]}`, true,
		},
		"a default that an older Gangway wrote out": {
			one,
			`{"roles":[{"name":"r","entryTemplate":{"metadata":{},"spec":{"containers":[{"name":"c","image":"i:1","resources":{},"imagePullPolicy":"IfNotPresent"}]}},"workerReplicas":0}]}`, true,
		},
		"another image": {
			one,
			`{"roles":[{"name":"r","entryTemplate":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}]}`, false,
		},
		"damaged data": {one, `{`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := revision.Equal(rev(tc.a), rev(tc.b)); got != tc.want {
				t.Errorf("Equal = %v, want %v", got, tc.want)
			}
			if got := revision.Equal(rev(tc.b), rev(tc.a)); got != tc.want {
				t.Errorf("Equal the other way = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRoleReplicas(t *testing.T) {
	old := gangwaytesting.MakeModelServing("m").
		Role(gangwaytesting.MakeRole("stays").Replicas(2).Obj()).
		Role(gangwaytesting.MakeRole("goes").Replicas(3).Obj())
	template, err := revision.Decode(stored(t, old.Obj(), nil))
	if err != nil {
		t.Fatal(err)
	}
	live := gangwaytesting.MakeModelServing("m").
		Role(gangwaytesting.MakeRole("stays").Replicas(5).Obj()).
		Role(gangwaytesting.MakeRole("comes").Replicas(7).Obj()).Obj()
	got := map[string]int{}
	for _, role := range []string{"stays", "goes", "comes"} {
		got[role] = revision.RoleReplicas(live, template, role)
	}
	if diff := cmp.Diff(map[string]int{"stays": 5, "goes": 3, "comes": 0}, got); diff != "" {
		t.Errorf("role replicas (-want +got):\n%s", diff)
	}
}

func content(t *testing.T, template revision.Template) []byte {
	t.Helper()
	b, err := revision.Data(template)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hash(t *testing.T, template revision.Template) string {
	t.Helper()
	return revision.Hash(content(t, template), nil)
}

func tree(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func read(t *testing.T, file string) *workloadv1alpha1.ModelServing {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	ms := &workloadv1alpha1.ModelServing{}
	if err := yaml.UnmarshalStrict(b, ms); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if strings.TrimSpace(ms.Name) == "" {
		t.Fatalf("%s holds no name", file)
	}
	return ms
}

// stored is the revision of ms as the API server gives it back.
func stored(t *testing.T, ms *workloadv1alpha1.ModelServing, owned []*appsv1.ControllerRevision) *appsv1.ControllerRevision {
	t.Helper()
	rev, create, _, err := revision.Resolve(ms, owned)
	if err != nil {
		t.Fatal(err)
	}
	if !create {
		t.Fatalf("revision %s is there already", rev.Name)
	}
	return rev
}

// Anybody can edit an annotation, and the templates are what matters.
func TestDecodeDoesWithoutTheNumberOfRoleReplicas(t *testing.T) {
	for _, annotation := range []string{"", "{", `["r"]`, `{"r":"many"}`} {
		rev := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: "sample-x", Annotations: map[string]string{"gangway.dev/role-replicas": annotation}},
			Data:       runtime.RawExtension{Raw: []byte(`{"roles":[{"name":"r","entryTemplate":{"spec":{"containers":[]}}}]}`)},
		}
		template, err := revision.Decode(rev)
		if err != nil || len(template.Roles) != 1 || template.Roles[0].Replicas != nil {
			t.Errorf("annotation %q: roles %+v, error %v", annotation, template.Roles, err)
		}
	}
}
