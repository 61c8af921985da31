package mutating_test

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/webhooks/mutating"
)

// member is a Pod of ModelServing sample as anything might create it.
func member(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "sample-0-prefill-0-0", Namespace: DefaultNamespace,
		Labels: map[string]string{
			names.LabelModelServing: "sample", names.LabelGroup: "sample-0", names.LabelRole: "prefill",
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "workload.serving.volcano.sh/v1alpha1", Kind: "ModelServing", Name: "sample", UID: "sample-uid", Controller: ptr.To(true),
		}},
	}}
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func TestForPod(t *testing.T) {
	volcano := mutating.Injection{SchedulerName: "volcano", Annotations: map[string]string{
		"scheduling.k8s.io/group-name": "sample-0", "volcano.sh/task-spec": "prefill",
	}}
	for _, tc := range []struct {
		name    string
		pod     *corev1.Pod
		ms      *ModelServingWrapper
		want    mutating.Injection
		wantErr string
	}{
		{name: "a Pod of a gang", pod: member(), want: volcano},
		{name: "whatever the creator asks for", pod: member(func(p *corev1.Pod) {
			p.Spec.SchedulerName = "other"
			p.Annotations = map[string]string{"scheduling.k8s.io/group-name": "sample-7"}
		}), want: volcano},
		{
			name: "another scheduler has no gangs", pod: member(), ms: MakeModelServing("sample").SchedulerName("other"),
			want: mutating.Injection{SchedulerName: "other"},
		},
		{
			name: "a Pod of a revision that had another scheduler keeps it", pod: member(func(p *corev1.Pod) {
				p.Labels[names.LabelRevision] = "abc"
			}), want: mutating.Injection{SchedulerName: "default-scheduler"},
		},
		{
			name: "a Pod of a revision that had Volcano stays in its gang", pod: member(func(p *corev1.Pod) {
				p.Labels[names.LabelRevision] = "abc"
				p.Spec.SchedulerName = "volcano"
			}), ms: MakeModelServing("sample").SchedulerName("other"), want: volcano,
		},
		{name: "no scheduler leaves the Pod's", pod: member(), ms: MakeModelServing("sample").SchedulerName("")},
		{
			name: "nobody's Pod", pod: member(func(p *corev1.Pod) { p.OwnerReferences = nil }),
			wantErr: `metadata.ownerReferences: Required value: a Pod with labels modelserving.volcano.sh/name and modelserving.volcano.sh/group-name must be controlled by its ModelServing; remove the labels, or let the ModelServing create the Pod`,
		},
		{
			name: "owned but not controlled", pod: member(func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }),
			wantErr: `metadata.ownerReferences: Required value: a Pod with labels modelserving.volcano.sh/name and modelserving.volcano.sh/group-name must be controlled by its ModelServing; remove the labels, or let the ModelServing create the Pod`,
		},
		{name: "a ReplicaSet's Pod", pod: member(func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "apps/v1", "ReplicaSet"
		}), wantErr: `metadata.ownerReferences: Invalid value: "ReplicaSet/sample": a Pod with labels modelserving.volcano.sh/name and modelserving.volcano.sh/group-name must be controlled by its ModelServing; remove the labels from the Pod or its template`},
		{
			name: "a ModelServing of another group", pod: member(func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" }),
			wantErr: `metadata.ownerReferences: Invalid value: "ModelServing/sample": a Pod with labels modelserving.volcano.sh/name and modelserving.volcano.sh/group-name must be controlled by its ModelServing; remove the labels from the Pod or its template`,
		},
		{
			name: "the owner's name with another UID", pod: member(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "forged" }),
			wantErr: `metadata.ownerReferences: Invalid value: "sample": the ModelServing that controls a Pod must exist, with the UID of the reference; there is no ModelServing default/sample with UID "forged": refer to the one that exists now, or leave it to create its Pods`,
		},
		{
			name: "an owner without UID", pod: member(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "" }),
			ms:      func() *ModelServingWrapper { w := MakeModelServing("sample"); w.ObjectMeta.UID = ""; return w }(),
			wantErr: `metadata.ownerReferences: Invalid value: "sample": the ModelServing that controls a Pod must exist, with the UID of the reference; there is no ModelServing default/sample with UID "": refer to the one that exists now, or leave it to create its Pods`,
		},
		{
			name: "a label that names another ModelServing", pod: member(func(p *corev1.Pod) { p.Labels[names.LabelModelServing] = "other" }),
			wantErr: `metadata.labels[modelserving.volcano.sh/name]: Invalid value: "other": the labels of a Pod must name its own ModelServing, ServingGroup and role; write "sample"`,
		},
		{
			name: "a group of another ModelServing", pod: member(func(p *corev1.Pod) { p.Labels[names.LabelGroup] = "other-0" }),
			wantErr: `metadata.labels[modelserving.volcano.sh/group-name]: Invalid value: "other-0": the labels of a Pod must name its own ModelServing, ServingGroup and role; write for example "sample-0"`,
		},
		{
			name: "no role", pod: member(func(p *corev1.Pod) { delete(p.Labels, names.LabelRole) }),
			wantErr: `metadata.labels[modelserving.volcano.sh/role]: Required value: the labels of a Pod must name its own ModelServing, ServingGroup and role; add the role that the Pod counts for in its gang`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ms := tc.ms
			if ms == nil {
				ms = MakeModelServing("sample")
			}
			got, fault := mutating.ForPod(tc.pod, ms.Obj())
			message := ""
			if fault != nil {
				message = fault.Error()
			}
			if diff := cmp.Diff(tc.wantErr, message); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("injection (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPatchIsApply holds that the patch does what Apply does, keeps what it does not know, and that a
// second call asks for nothing.
func TestPatchIsApply(t *testing.T) {
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		ops  int
	}{
		{"no annotations", member(), 2},
		{"other annotations", member(func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }), 3},
		{"one of ours, wrong", member(func(p *corev1.Pod) {
			p.Annotations = map[string]string{"volcano.sh/task-spec": "decode", "scheduling.k8s.io/group-name": "sample-0"}
		}), 2},
		{"the scheduler is right", member(func(p *corev1.Pod) { p.Spec.SchedulerName = "volcano" }), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, fault := mutating.ForPod(tc.pod, MakeModelServing("sample").Obj())
			if fault != nil {
				t.Fatal(fault)
			}
			ops := in.Patch(tc.pod)
			if len(ops) != tc.ops {
				t.Errorf("%d operations, want %d: %v", len(ops), tc.ops, ops)
			}
			patched := patch(t, tc.pod, ops)
			want := tc.pod.DeepCopy()
			in.Apply(want)
			if diff := cmp.Diff(want, patched); diff != "" {
				t.Errorf("patched (-applied +patched):\n%s", diff)
			}
			if again := in.Patch(patched); len(again) != 0 {
				t.Errorf("a second call asks for %v", again)
			}
		})
	}
}

func patch(t *testing.T, pod *corev1.Pod, ops any) *corev1.Pod {
	t.Helper()
	encoded, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	p, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	doc, err = p.Apply(doc)
	if err != nil {
		t.Fatal(err)
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(doc, patched); err != nil {
		t.Fatal(err)
	}
	return patched
}
