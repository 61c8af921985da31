// Package gangwaytesting builds objects for tests, so that a test shows only what it is about.
package gangwaytesting

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// DefaultNamespace is the namespace of everything that a test does not place elsewhere.
const DefaultNamespace = "default"

// ModelServingWrapper wraps a ModelServing.
type ModelServingWrapper struct {
	workloadv1alpha1.ModelServing
}

// MakeModelServing makes a ModelServing without roles, with the defaults that the API server applies.
// Its UID is "<name>-uid", its generation 1.
func MakeModelServing(name string) *ModelServingWrapper {
	return &ModelServingWrapper{workloadv1alpha1.ModelServing{
		TypeMeta: metav1.TypeMeta{
			APIVersion: workloadv1alpha1.GroupVersion.String(),
			Kind:       "ModelServing",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Namespace:  DefaultNamespace,
			UID:        types.UID(name + "-uid"),
			Generation: 1,
		},
		Spec: workloadv1alpha1.ModelServingSpec{
			Replicas:             ptr.To[int32](1),
			SchedulerName:        "volcano",
			RecoveryPolicy:       workloadv1alpha1.RecoverRole,
			RevisionHistoryLimit: ptr.To[int32](10),
			Template: workloadv1alpha1.ServingGroup{
				RestartGracePeriodSeconds: ptr.To[int64](0),
				ProgressDeadlineSeconds:   ptr.To[int32](1800),
			},
		},
	}}
}

// Obj returns the ModelServing.
func (w *ModelServingWrapper) Obj() *workloadv1alpha1.ModelServing { return &w.ModelServing }

// Clone returns an independent copy.
func (w *ModelServingWrapper) Clone() *ModelServingWrapper {
	return &ModelServingWrapper{*w.DeepCopy()}
}

// Namespace sets the namespace.
func (w *ModelServingWrapper) Namespace(ns string) *ModelServingWrapper {
	w.ObjectMeta.Namespace = ns
	return w
}

// UID sets the UID; "" makes an object that the API server has not seen yet.
func (w *ModelServingWrapper) UID(uid string) *ModelServingWrapper {
	w.ObjectMeta.UID = types.UID(uid)
	return w
}

// Generation sets the generation.
func (w *ModelServingWrapper) Generation(g int64) *ModelServingWrapper {
	w.ObjectMeta.Generation = g
	return w
}

// Created sets the creation time.
func (w *ModelServingWrapper) Created(t time.Time) *ModelServingWrapper {
	w.CreationTimestamp = metav1.NewTime(t)
	return w
}

// Deleting sets a deletion time and a finalizer that holds the object.
func (w *ModelServingWrapper) Deleting(t time.Time) *ModelServingWrapper {
	w.DeletionTimestamp = ptr.To(metav1.NewTime(t))
	w.Finalizers = append(w.Finalizers, metav1.FinalizerDeleteDependents)
	return w
}

// Label adds a label.
func (w *ModelServingWrapper) Label(k, v string) *ModelServingWrapper {
	metav1.SetMetaDataLabel(&w.ObjectMeta, k, v)
	return w
}

// Annotation adds an annotation.
func (w *ModelServingWrapper) Annotation(k, v string) *ModelServingWrapper {
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, k, v)
	return w
}

// Queue names the Volcano queue.
func (w *ModelServingWrapper) Queue(q string) *ModelServingWrapper {
	return w.Annotation("scheduling.volcano.sh/queue-name", q)
}

// Replicas sets the number of ServingGroups.
func (w *ModelServingWrapper) Replicas(n int32) *ModelServingWrapper {
	w.Spec.Replicas = ptr.To(n)
	return w
}

// SchedulerName sets the scheduler.
func (w *ModelServingWrapper) SchedulerName(s string) *ModelServingWrapper {
	w.Spec.SchedulerName = s
	return w
}

// RecoveryPolicy sets the recovery policy.
func (w *ModelServingWrapper) RecoveryPolicy(p workloadv1alpha1.RecoveryPolicy) *ModelServingWrapper {
	w.Spec.RecoveryPolicy = p
	return w
}

// GraceSeconds sets the restart grace period.
func (w *ModelServingWrapper) GraceSeconds(s int64) *ModelServingWrapper {
	w.Spec.Template.RestartGracePeriodSeconds = ptr.To(s)
	return w
}

// ProgressDeadlineSeconds sets the progress deadline.
func (w *ModelServingWrapper) ProgressDeadlineSeconds(s int32) *ModelServingWrapper {
	w.Spec.Template.ProgressDeadlineSeconds = ptr.To(s)
	return w
}

// RevisionHistoryLimit sets the number of old revisions kept.
func (w *ModelServingWrapper) RevisionHistoryLimit(n int32) *ModelServingWrapper {
	w.Spec.RevisionHistoryLimit = ptr.To(n)
	return w
}

// MinRoleReplicas sets what the gang needs of one role.
func (w *ModelServingWrapper) MinRoleReplicas(role string, n int32) *ModelServingWrapper {
	if w.Spec.Template.GangPolicy == nil {
		w.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{}
	}
	if w.Spec.Template.GangPolicy.MinRoleReplicas == nil {
		w.Spec.Template.GangPolicy.MinRoleReplicas = map[string]int32{}
	}
	w.Spec.Template.GangPolicy.MinRoleReplicas[role] = n
	return w
}

// Topology sets the network topology policies; nil leaves one out.
func (w *ModelServingWrapper) Topology(group, role *workloadv1alpha1.NetworkTopologySpec) *ModelServingWrapper {
	w.Spec.Template.NetworkTopology = &workloadv1alpha1.NetworkTopology{GroupPolicy: group, RolePolicy: role}
	return w
}

// Role adds a role, or replaces the one of that name.
func (w *ModelServingWrapper) Role(r workloadv1alpha1.Role) *ModelServingWrapper {
	for i := range w.Spec.Template.Roles {
		if w.Spec.Template.Roles[i].Name == r.Name {
			w.Spec.Template.Roles[i] = r
			return w
		}
	}
	w.Spec.Template.Roles = append(w.Spec.Template.Roles, r)
	return w
}

func (w *ModelServingWrapper) strategy() *workloadv1alpha1.RolloutStrategy {
	if w.Spec.RolloutStrategy == nil {
		w.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{
			Type: workloadv1alpha1.ServingGroupRollingUpdate,
		}
	}
	return w.Spec.RolloutStrategy
}

func (w *ModelServingWrapper) rolling() *workloadv1alpha1.RollingUpdateConfiguration {
	s := w.strategy()
	if s.RollingUpdateConfiguration == nil {
		s.RollingUpdateConfiguration = &workloadv1alpha1.RollingUpdateConfiguration{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
		}
	}
	return s.RollingUpdateConfiguration
}

// Rollout sets the type of the rollout strategy.
func (w *ModelServingWrapper) Rollout(t workloadv1alpha1.RolloutStrategyType) *ModelServingWrapper {
	w.strategy().Type = t
	return w
}

// Paused pauses the rollout, or lets it go on.
func (w *ModelServingWrapper) Paused(p bool) *ModelServingWrapper {
	w.strategy().Paused = p
	return w
}

// Partition sets the group partition, for example "2" or "50%".
func (w *ModelServingWrapper) Partition(v string) *ModelServingWrapper {
	w.rolling().Partition = ptr.To(intstr.Parse(v))
	return w
}

// MaxUnavailable sets the groups' maxUnavailable, for example "2" or "50%".
func (w *ModelServingWrapper) MaxUnavailable(v string) *ModelServingWrapper {
	w.rolling().MaxUnavailable = ptr.To(intstr.Parse(v))
	return w
}

// MaxSurge sets the groups' maxSurge, for example "2" or "50%".
func (w *ModelServingWrapper) MaxSurge(v string) *ModelServingWrapper {
	w.rolling().MaxSurge = ptr.To(intstr.Parse(v))
	return w
}

// GatewayRef attaches the ModelServing to a listener.
func (w *ModelServingWrapper) GatewayRef(gateway, sectionName, host string) *ModelServingWrapper {
	w.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: gateway, SectionName: sectionName, Host: host}
	return w
}

// Condition adds a condition to the status.
func (w *ModelServingWrapper) Condition(c metav1.Condition) *ModelServingWrapper {
	w.Status.Conditions = append(w.Status.Conditions, c)
	return w
}

// Sample is the ModelServing of the first sample manifest: prefill and decode, four role replicas
// of two Pods each, of which the gang needs two each.
func Sample() *ModelServingWrapper {
	return MakeModelServing("sample").
		GraceSeconds(60).
		MinRoleReplicas("prefill", 2).MinRoleReplicas("decode", 2).
		Role(MakeRole("prefill").Replicas(4).Workers(1).Port(8000).Obj()).
		Role(MakeRole("decode").Replicas(4).Workers(1).Port(8000).Obj())
}

// DefaultImage is the image of containers that a test gives no other.
const DefaultImage = "registry.example/llm:1"

// PodTemplate makes a Pod template of one container called "server".
func PodTemplate(image string) workloadv1alpha1.PodTemplateSpec {
	return workloadv1alpha1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "server", Image: image}},
	}}
}
