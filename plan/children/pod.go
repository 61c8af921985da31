// Package children makes the Pods and Services of a ModelServing. It decides nothing: what it is
// asked for, it makes, and equal questions get equal objects.
package children

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// PodID says which of a ModelServing's Pods one is.
type PodID struct {
	// Group is the ordinal of the ServingGroup.
	Group int
	// Role is the name of the role, Replica the ordinal of the role replica in its group.
	Role    string
	Replica int
	// Index is 0 for the entry Pod, 1.. for the workers.
	Index int
}

// Name is the name of that Pod of a ModelServing.
func (id PodID) Name(modelServing string) string {
	return names.Pod(names.Group(modelServing, id.Group), names.RoleReplica(id.Role, id.Replica), id.Index)
}

// OwnerReference makes the ModelServing the controller of a child, and has the API server hold
// the ModelServing until the child is gone when it is deleted in the foreground.
func OwnerReference(ms *workloadv1alpha1.ModelServing) metav1.OwnerReference {
	return *metav1.NewControllerRef(ms, workloadv1alpha1.GroupVersion.WithKind("ModelServing"))
}

// Pod makes a Pod from the template of a revision. The role must be in the template.
// Its scheduler is the revision's, and with Volcano it is in its gang from the start. The Pod webhook
// sees to that for Pods from anybody; it does not know what scheduler an earlier revision had, and
// its configuration may be missing.
//
// A worker of a role without a worker template gets an empty spec, which the API server refuses in
// words of its own; admission lets no such ModelServing in.
func Pod(ms *workloadv1alpha1.ModelServing, t revision.Template, revisionHash string, id PodID) *corev1.Pod {
	role, _ := t.Role(id.Role)
	template := &role.EntryTemplate
	if id.Index > 0 {
		template = role.WorkerTemplate
	}
	if template == nil {
		template = &workloadv1alpha1.PodTemplateSpec{}
	}
	group, roleID := names.Group(ms.Name, id.Group), names.RoleReplica(id.Role, id.Replica)

	labels, annotations := map[string]string{}, map[string]string(nil)
	if m := template.Metadata; m != nil {
		maps.Copy(labels, m.Labels)
		annotations = maps.Clone(m.Annotations)
	}
	for _, key := range names.ReservedLabels() {
		delete(labels, key)
	}
	for _, key := range names.ReservedAnnotations() {
		delete(annotations, key)
	}
	identity := Identity{
		ModelServing: ms.Name, Group: group, Role: id.Role, RoleID: roleID, Entry: id.Index == 0,
		Revision: revisionHash, RoleHash: revision.RoleHash(t, id.Role),
	}

	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            id.Name(ms.Name),
			Namespace:       ms.Namespace,
			Labels:          labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{OwnerReference(ms)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	identity.set(pod.Labels)
	if t.SchedulerName != "" {
		pod.Spec.SchedulerName = t.SchedulerName
	}
	if t.SchedulerName == names.SchedulerVolcano {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, names.AnnotationGroupName, group)
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, names.AnnotationTaskSpec, id.Role)
	}
	env := []corev1.EnvVar{
		{Name: names.EnvEntryAddress, Value: names.EntryAddress(group, roleID, ms.Namespace)},
		{Name: names.EnvGroupSize, Value: strconv.Itoa(1 + int(role.WorkerReplicas))},
		{Name: names.EnvWorkerIndex, Value: strconv.Itoa(id.Index)},
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env = withEnv(env, containers[i].Env)
		}
	}
	return pod
}

// withEnv puts ours before the template's, whose values may then refer to them as $(NAME), and
// drops the template's of the same names.
func withEnv(ours, template []corev1.EnvVar) []corev1.EnvVar {
	env := make([]corev1.EnvVar, 0, len(ours)+len(template))
	env = append(env, ours...)
	for _, v := range template {
		if v.Name != names.EnvEntryAddress && v.Name != names.EnvGroupSize && v.Name != names.EnvWorkerIndex {
			env = append(env, v)
		}
	}
	return env
}
