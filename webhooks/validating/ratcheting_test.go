package validating_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// faulty is an object from before a rule: its gang needs more than there is, a container's image is
// malformed, and its Gateway's listener does not exist any more.
func faulty() *ModelServingWrapper {
	return quiet("sample").
		MinRoleReplicas("prefill", 5).MinRoleReplicas("decode", 1).
		Role(MakeRole("decode").Replicas(2).Workers(1).Image("registry.example/LLM:1").Port(8000).Obj()).
		GatewayRef("llm", "http", "llm.example.com")
}

func TestModelServingUpdate(t *testing.T) {
	const (
		gang   = "gang-above-replicas spec.template.gangPolicy.minRoleReplicas[prefill]"
		entry  = "pod-image spec.template.roles[1].entryTemplate.spec.containers[0].image"
		worker = "pod-image spec.template.roles[1].workerTemplate.spec.containers[0].image"
		tcp    = "listener-protocol spec.gatewayRef.sectionName"
	)
	for _, tc := range []struct {
		name         string
		change       func(*ModelServingWrapper)
		wantErrs     []string
		wantWarnings []string
	}{
		{
			name:         "a label passes, and the old faults are told",
			change:       func(w *ModelServingWrapper) { w.Label("team", "a") },
			wantWarnings: []string{gang, entry, worker},
		},
		{
			name:         "a finalizer passes",
			change:       func(w *ModelServingWrapper) { w.Finalizers = []string{"example.com/keep"} },
			wantWarnings: []string{gang, entry, worker},
		},
		{
			name:         "a status passes",
			change:       func(w *ModelServingWrapper) { w.Status.Replicas = 3 },
			wantWarnings: []string{gang, entry, worker},
		},
		{
			name:   "an object that is being deleted is not judged",
			change: func(w *ModelServingWrapper) { w.Deleting(time.Unix(1, 0)).Replicas(-7) },
		},
		{
			name:         "more replicas pass, with the Gateway's fault, too",
			change:       func(w *ModelServingWrapper) { w.Replicas(4) },
			wantWarnings: []string{gang, entry, worker, tcp},
		},
		{
			name:         "the fault that the update brings is refused, and only that",
			change:       func(w *ModelServingWrapper) { w.Replicas(-1) },
			wantErrs:     []string{"negative spec.replicas"},
			wantWarnings: []string{gang, entry, worker, tcp},
		},
		{
			name: "another value of the faulty field is refused",
			change: func(w *ModelServingWrapper) {
				w.Spec.Template.Roles[1].EntryTemplate.Spec.Containers[0].Image = "registry.example/LLM:2"
			},
			wantErrs:     []string{entry},
			wantWarnings: []string{gang, worker, tcp},
		},
		{
			name:         "the other side of a comparison is part of it",
			change:       func(w *ModelServingWrapper) { w.Spec.Template.Roles[0].Replicas = ptr.To[int32](3) },
			wantErrs:     []string{gang},
			wantWarnings: []string{entry, worker, tcp},
		},
		{
			name: "a role that is put before the faulty one does not touch it",
			change: func(w *ModelServingWrapper) {
				w.MinRoleReplicas("router", 1)
				w.Spec.Template.Roles = append([]workloadv1alpha1.Role{MakeRole("router").Replicas(2).Port(8000).Obj()}, w.Spec.Template.Roles...)
			},
			wantWarnings: []string{
				gang,
				"pod-image spec.template.roles[2].entryTemplate.spec.containers[0].image",
				"pod-image spec.template.roles[2].workerTemplate.spec.containers[0].image", tcp,
			},
		},
		{
			name: "a container that is put before the faulty one does not touch it",
			change: func(w *ModelServingWrapper) {
				spec := &w.Spec.Template.Roles[1].WorkerTemplate.Spec
				spec.Containers = append([]corev1.Container{{Name: "first", Image: "a"}}, spec.Containers...)
			},
			wantWarnings: []string{gang, entry, "pod-image spec.template.roles[1].workerTemplate.spec.containers[1].image", tcp},
		},
		{
			name: "a second container with the same fault is refused",
			change: func(w *ModelServingWrapper) {
				spec := &w.Spec.Template.Roles[1].WorkerTemplate.Spec
				spec.Containers = append(spec.Containers, corev1.Container{Name: "second", Image: "registry.example/LLM:1"})
			},
			wantErrs:     []string{"pod-image spec.template.roles[1].workerTemplate.spec.containers[1].image"},
			wantWarnings: []string{gang, entry, worker, tcp},
		},
		{
			name: "a namesake of the faulty container, with the same fault, is refused",
			change: func(w *ModelServingWrapper) {
				spec := &w.Spec.Template.Roles[1].WorkerTemplate.Spec
				spec.Containers = append(spec.Containers, spec.Containers[0])
			},
			wantErrs: []string{
				"pod-container-unique spec.template.roles[1].workerTemplate.spec.containers[1].name",
				"pod-image spec.template.roles[1].workerTemplate.spec.containers[1].image",
			},
			wantWarnings: []string{gang, entry, worker, tcp},
		},
		{
			name:         "a gatewayRef that changes is judged by the Gateway as it is",
			change:       func(w *ModelServingWrapper) { w.Spec.GatewayRef.Host = "other.example.com" },
			wantErrs:     []string{tcp},
			wantWarnings: []string{gang, entry, worker},
		},
		{
			name: "a fault that goes is not told",
			change: func(w *ModelServingWrapper) {
				w.MinRoleReplicas("prefill", 1)
				w.Spec.GatewayRef = nil
			},
			wantWarnings: []string{entry, worker},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := faulty()
			tc.change(now)
			errs, warnings := validating.ModelServingUpdate(now.Obj(), faulty().Obj(),
				behind(gateway(DefaultNamespace, listener("http", gatewayv1.TCPProtocolType, ""))))
			expectFindings(t, errs, warnings, tc.wantErrs, tc.wantWarnings)
		})
	}
}

func TestVLLMServiceUpdate(t *testing.T) {
	old := qwen(func(v *aiinfrav1alpha1.VLLMService) {
		v.Spec.ModelPath = "/elsewhere"
		v.Spec.GatewayRef = &aiinfrav1alpha1.GatewayReference{Name: "gone", SectionName: "http", Host: "llm.example.com"}
	})
	for _, tc := range []struct {
		name         string
		change       func(*aiinfrav1alpha1.VLLMService)
		wantErrs     []string
		wantWarnings []string
	}{
		{
			"a label passes", func(v *aiinfrav1alpha1.VLLMService) { v.Labels = map[string]string{"a": "b"} },
			nil,
			[]string{"model-path spec.modelPath"},
		},
		{
			"more replicas pass while the required Gateway is gone", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Replicas = ptr.To[int32](2) },
			nil,
			[]string{"model-path spec.modelPath", "gateway-required spec.gatewayRef.name"},
		},
		{
			"another path outside is refused", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.ModelPath = "/other" },
			[]string{"model-path spec.modelPath"},
			[]string{"gateway-required spec.gatewayRef.name"},
		},
		{
			"another Gateway that is not there is refused", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef.Name = "gone-too" },
			[]string{"gateway-required spec.gatewayRef.name"},
			[]string{"model-path spec.modelPath"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := old.DeepCopy()
			tc.change(now)
			errs, warnings := validating.VLLMServiceUpdate(now, old, required(behind(nil)))
			expectFindings(t, errs, warnings, tc.wantErrs, tc.wantWarnings)
		})
	}
}

func TestScale(t *testing.T) {
	name49 := "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" // 49 characters: one digit is left
	for _, tc := range []struct {
		name     string
		ms       *workloadv1alpha1.ModelServing
		replicas int32
		want     []string
	}{
		{"up to where names fit", quiet(name49).Obj(), 10, nil},
		{"as many Pods as a cluster can hold", quiet("sample").Obj(), 25_000, nil},
		{"more Pods than a cluster can hold", quiet("sample").Obj(), 25_001, []string{"size spec.replicas"}},
		{"one above", quiet(name49).Obj(), 11, []string{"scale-name-length spec.replicas"}},
		{"a surge takes its part", quiet(name49).MaxSurge("1").Obj(), 10, []string{"scale-name-length spec.replicas"}},
		{"down from what is too long already", quiet(name49).Replicas(500).Obj(), 499, nil},
		{"up from what is too long already, to no longer names", quiet(name49).Replicas(500).Obj(), 900, nil},
		{"up from what is too long already, to longer names", quiet(name49).Replicas(500).Obj(), 1001, []string{"scale-name-length spec.replicas"}},
		{"an old gang fault does not matter", quiet("sample").MinRoleReplicas("prefill", 9).Obj(), 100, nil},
		{"a negative number", quiet("sample").Obj(), -1, []string{"negative spec.replicas"}},
		{"to the highest number there is", quiet("sample").Obj(), 1<<31 - 1, []string{"size spec.replicas"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			expectFindings(t, validating.Scale(tc.ms, tc.replicas), nil, tc.want, nil)
		})
	}
}
