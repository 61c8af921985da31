package names

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// MaxLength is the longest that a generated name may be: Services, host names of Pods and label
// values are DNS labels.
const MaxLength = validation.DNS1035LabelMaxLength

// Length is the longest name that a ModelServing leads to.
type Length struct {
	// Name is that name, of a Pod with the highest ordinals. It is longer than every other
	// generated name and label value but those of ControllerRevisions, which may have 253 characters.
	Name string
	// Excess is by how many characters it is too long: so many must go from the name of the
	// ModelServing or of Role. 0 when it fits.
	Excess int
	// Role is the role that it is made from.
	Role string
}

// Longest builds the longest name that a spec can lead to: with the highest ordinal that a group
// has while a rollout surges, and the role whose name, replicas and workers take most characters.
// Counts of 0 are taken for 1, so that scaling up from 0 needs no other name.
func Longest(ms *workloadv1alpha1.ModelServing) Length {
	group := Group(ms.Name, highestGroup(&ms.Spec))
	longest := Length{Name: group}
	for i := range ms.Spec.Template.Roles {
		r := &ms.Spec.Template.Roles[i]
		replica := max(int(ptr.Deref(r.Replicas, 1)), 1) - 1
		name := Pod(group, RoleReplica(r.Name, replica), max(int(r.WorkerReplicas), 0))
		if len(name) > len(longest.Name) {
			longest = Length{Name: name, Role: r.Name}
		}
	}
	longest.Excess = max(len(longest.Name)-MaxLength, 0)
	return longest
}

// highestGroup is the ordinal of the last ServingGroup, extra ones of a surge included.
func highestGroup(spec *workloadv1alpha1.ModelServingSpec) int {
	replicas := max(int(ptr.Deref(spec.Replicas, 1)), 1)
	var surge *intstr.IntOrString
	if s := spec.RolloutStrategy; s != nil && s.RollingUpdateConfiguration != nil {
		surge = s.RollingUpdateConfiguration.MaxSurge
	}
	extra, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(surge, intstr.IntOrString{})), replicas, true)
	if err != nil {
		// Malformed values are refused for what they are, not for their length.
		extra = 0
	}
	return replicas + max(extra, 0) - 1
}

// LongestModelServing is the greatest length of the name of a ModelServing with such a spec.
func LongestModelServing(ms *workloadv1alpha1.ModelServing) int {
	return MaxLength - (len(Longest(ms).Name) - len(ms.Name))
}
