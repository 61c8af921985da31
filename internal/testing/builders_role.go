package gangwaytesting

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// RoleWrapper wraps a role.
type RoleWrapper struct {
	workloadv1alpha1.Role
}

// MakeRole makes a role of one replica, an entry Pod without workers.
func MakeRole(name string) *RoleWrapper {
	return &RoleWrapper{workloadv1alpha1.Role{
		Name:          name,
		Replicas:      ptr.To[int32](1),
		EntryTemplate: PodTemplate(DefaultImage),
	}}
}

// Obj returns the role.
func (w *RoleWrapper) Obj() workloadv1alpha1.Role { return w.Role }

// Replicas sets the number of role replicas.
func (w *RoleWrapper) Replicas(n int32) *RoleWrapper {
	w.Role.Replicas = ptr.To(n)
	return w
}

// Workers sets the number of workers, and gives the role a worker template.
func (w *RoleWrapper) Workers(n int32) *RoleWrapper {
	w.WorkerReplicas = n
	if w.WorkerTemplate == nil {
		w.WorkerTemplate = ptr.To(PodTemplate(w.EntryTemplate.Spec.Containers[0].Image))
	}
	return w
}

// Image sets the image of the entry's and, if there are any, the workers' first container.
func (w *RoleWrapper) Image(image string) *RoleWrapper {
	return w.EntryImage(image).WorkerImage(image)
}

// EntryImage sets the image of the entry's first container.
func (w *RoleWrapper) EntryImage(image string) *RoleWrapper {
	w.EntryTemplate.Spec.Containers[0].Image = image
	return w
}

// WorkerImage sets the image of the workers' first container, if there is a worker template.
func (w *RoleWrapper) WorkerImage(image string) *RoleWrapper {
	if w.WorkerTemplate != nil {
		w.WorkerTemplate.Spec.Containers[0].Image = image
	}
	return w
}

// Port adds a container port to the entry's first container.
func (w *RoleWrapper) Port(p int32) *RoleWrapper {
	c := &w.EntryTemplate.Spec.Containers[0]
	c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: p})
	return w
}

// Request sets a resource request of the first container of every Pod.
func (w *RoleWrapper) Request(name corev1.ResourceName, quantity string) *RoleWrapper {
	for _, t := range w.templates() {
		c := &t.Spec.Containers[0]
		if c.Resources.Requests == nil {
			c.Resources.Requests = corev1.ResourceList{}
		}
		c.Resources.Requests[name] = resource.MustParse(quantity)
	}
	return w
}

// Limit sets a resource limit of the first container of every Pod.
func (w *RoleWrapper) Limit(name corev1.ResourceName, quantity string) *RoleWrapper {
	for _, t := range w.templates() {
		c := &t.Spec.Containers[0]
		if c.Resources.Limits == nil {
			c.Resources.Limits = corev1.ResourceList{}
		}
		c.Resources.Limits[name] = resource.MustParse(quantity)
	}
	return w
}

// Entry changes the entry template.
func (w *RoleWrapper) Entry(change func(*workloadv1alpha1.PodTemplateSpec)) *RoleWrapper {
	change(&w.EntryTemplate)
	return w
}

// Worker changes the worker template, which must be there.
func (w *RoleWrapper) Worker(change func(*workloadv1alpha1.PodTemplateSpec)) *RoleWrapper {
	change(w.WorkerTemplate)
	return w
}

// MaxUnavailable sets the role's maxUnavailable, for example "2" or "50%".
func (w *RoleWrapper) MaxUnavailable(v string) *RoleWrapper {
	w.Role.MaxUnavailable = ptr.To(intstr.Parse(v))
	return w
}

// Partition sets the role's partition, for example "2" or "50%".
func (w *RoleWrapper) Partition(v string) *RoleWrapper {
	w.Role.Partition = ptr.To(intstr.Parse(v))
	return w
}

func (w *RoleWrapper) templates() []*workloadv1alpha1.PodTemplateSpec {
	all := []*workloadv1alpha1.PodTemplateSpec{&w.EntryTemplate}
	if w.WorkerTemplate != nil {
		all = append(all, w.WorkerTemplate)
	}
	return all
}
