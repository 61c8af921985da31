package mutating

import (
	"maps"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Injection is what a Pod of a ServingGroup must carry, whoever creates it.
type Injection struct {
	// SchedulerName of the ModelServing; empty leaves the Pod's alone.
	SchedulerName string
	// Annotations that tie the Pod to its PodGroup; none for a scheduler that has no PodGroups:
	// Volcano under another name would wait for a PodGroup that nobody makes.
	Annotations map[string]string
}

// ForPod says what pod must carry as a Pod of ms. A nil fault promises that the Pod is one of ms's
// own, by UID and labels.
//
// The task is the role in both of Volcano's ways to count a gang: subgroups select by the role's
// label, and minTaskMember is keyed by the task.
func ForPod(pod *corev1.Pod, ms *workloadv1alpha1.ModelServing) (Injection, *field.Error) {
	ref, fault := Owner(pod)
	if fault != nil {
		return Injection{}, fault
	}
	if !Owns(ms, ref) {
		return Injection{}, Missing(ref, pod.Namespace)
	}
	if fault := checkLabels(pod, ms); fault != nil {
		return Injection{}, fault
	}
	in := Injection{SchedulerName: ms.Spec.SchedulerName}
	if pod.Labels[names.LabelRevision] != "" && pod.Spec.SchedulerName != "" {
		// Made by Gangway from a revision that may be an earlier one, with another scheduler.
		in.SchedulerName = pod.Spec.SchedulerName
	}
	if in.SchedulerName == names.SchedulerVolcano {
		in.Annotations = map[string]string{
			names.AnnotationGroupName: pod.Labels[names.LabelGroup],
			names.AnnotationTaskSpec:  pod.Labels[names.LabelRole],
		}
	}
	return in, nil
}

// Apply puts the injection into pod.
func (in Injection) Apply(pod *corev1.Pod) {
	if in.SchedulerName != "" {
		pod.Spec.SchedulerName = in.SchedulerName
	}
	if len(in.Annotations) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, in.Annotations)
}

// Patch is the same as a JSON patch of no more than what differs: a second call returns none, and
// fields that this build does not know stay as they are.
func (in Injection) Patch(pod *corev1.Pod) []jsonpatch.JsonPatchOperation {
	var ops []jsonpatch.JsonPatchOperation
	if in.SchedulerName != "" && pod.Spec.SchedulerName != in.SchedulerName {
		ops = append(ops, jsonpatch.NewOperation("add", "/spec/schedulerName", in.SchedulerName))
	}
	if len(in.Annotations) == 0 {
		return ops
	}
	if pod.Annotations == nil {
		return append(ops, jsonpatch.NewOperation("add", "/metadata/annotations", in.Annotations))
	}
	for _, key := range slices.Sorted(maps.Keys(in.Annotations)) {
		if v, ok := pod.Annotations[key]; !ok || v != in.Annotations[key] {
			ops = append(ops, jsonpatch.NewOperation("add", "/metadata/annotations/"+escape.Replace(key), in.Annotations[key]))
		}
	}
	return ops
}

// escape writes a key as part of a JSON pointer (RFC 6901).
var escape = strings.NewReplacer("~", "~0", "/", "~1")
