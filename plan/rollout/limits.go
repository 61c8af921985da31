package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// Limits are the settings of a rollout, as numbers of units.
type Limits struct {
	// Partition: units with an ordinal below it keep their revision.
	Partition int
	// MaxUnavailable is at least 1 unless MaxSurge is above 0.
	MaxUnavailable int
	MaxSurge       int
}

// MinAvailable is how many of the wanted units the rollout must leave available.
func (l Limits) MinAvailable(wanted int) int { return max(0, wanted-l.MaxUnavailable) }

// OfGroups reads the limits for a number of ServingGroups. Under RoleRollingUpdate groups have none
// but the defaults. The error says which field cannot be read.
func OfGroups(spec *workloadv1alpha1.ModelServingSpec, replicas int) (Limits, error) {
	s := spec.RolloutStrategy
	if s == nil || s.RollingUpdateConfiguration == nil || ByRole(spec) {
		return limits("spec.rolloutStrategy.rollingUpdateConfiguration", replicas, nil, nil, nil)
	}
	c := s.RollingUpdateConfiguration
	return limits("spec.rolloutStrategy.rollingUpdateConfiguration", replicas, c.Partition, c.MaxUnavailable, c.MaxSurge)
}

// OfRole reads the limits for a number of replicas of a role.
func OfRole(role *workloadv1alpha1.Role, replicas int) (Limits, error) {
	return limits(fmt.Sprintf("spec.template.roles[%s]", role.Name), replicas, role.Partition, role.MaxUnavailable, nil)
}

// ByRole says that a rollout replaces role replicas, not whole groups.
func ByRole(spec *workloadv1alpha1.ModelServingSpec) bool {
	return spec.RolloutStrategy != nil && spec.RolloutStrategy.Type == workloadv1alpha1.RoleRollingUpdate
}

// Paused says that no step of a rollout is to be taken.
func Paused(spec *workloadv1alpha1.ModelServingSpec) bool {
	return spec.RolloutStrategy != nil && spec.RolloutStrategy.Paused
}

func limits(path string, replicas int, partition, maxUnavailable, maxSurge *intstr.IntOrString) (Limits, error) {
	var l Limits
	for _, f := range []struct {
		field   string
		value   *intstr.IntOrString
		def     int
		roundUp bool
		into    *int
	}{
		{"partition", partition, 0, true, &l.Partition},
		{"maxUnavailable", maxUnavailable, 1, false, &l.MaxUnavailable},
		{"maxSurge", maxSurge, 0, true, &l.MaxSurge},
	} {
		value := ptr.Deref(f.value, intstr.FromInt32(int32(f.def)))
		n, err := intstr.GetScaledValueFromIntOrPercent(&value, replicas, f.roundUp)
		if err != nil {
			return Limits{}, fmt.Errorf("%s.%s: %q is neither a number nor a percentage: %w", path, f.field, value.String(), err)
		}
		*f.into = max(0, n)
	}
	if l.MaxSurge == 0 {
		// Otherwise a small percentage would let the rollout wait for ever.
		l.MaxUnavailable = max(1, l.MaxUnavailable)
	}
	return l, nil
}
