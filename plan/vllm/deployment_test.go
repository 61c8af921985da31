package vllm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// What somebody makes of a Deployment by hand is undone; what is others' to say stays.
func TestDeploymentUpdateUndoesEveryChange(t *testing.T) {
	container := func(d *appsv1.Deployment) *corev1.Container { return &d.Spec.Template.Spec.Containers[0] }
	changes := map[string]func(*appsv1.Deployment){
		"replicas": func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](7) },
		"strategy": func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		},
		"seconds to be ready":  func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 9 },
		"history":              func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = ptr.To[int32](1) },
		"deadline":             func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To[int32](1) },
		"label of the Pods":    func(d *appsv1.Deployment) { d.Spec.Template.Labels["x"] = "y" },
		"image":                func(d *appsv1.Deployment) { container(d).Image = "example.com/other:1" },
		"arguments":            func(d *appsv1.Deployment) { container(d).Args = nil },
		"command":              func(d *appsv1.Deployment) { container(d).Command = []string{"sh"} },
		"sleep before the end": func(d *appsv1.Deployment) { container(d).Lifecycle = nil },
		"another container": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "x"})
		},
		"grace":                  func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1) },
		"volumes":                func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes = nil },
		"environment by Service": func(d *appsv1.Deployment) { d.Spec.Template.Spec.EnableServiceLinks = nil },
		"owner":                  func(d *appsv1.Deployment) { d.OwnerReferences = nil },
	}
	v := healthy().VLLMService
	want := Deployment(v)
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			current := Deployment(v)
			change(current)
			got, changed := deploymentUpdate(v, current)
			if diff := cmp.Diff(want, got); diff != "" || !changed {
				t.Errorf("changed: %t (-want +got):\n%s", changed, diff)
			}
		})
	}
}
