// Package metrics holds every metric that Gangway's controllers report. Each series is bounded by
// the number of ModelServings, or by words that Gangway itself chooses; a ModelServing's series go
// with it.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
)

const prefix = "gangway_"

var (
	byModelServing = []string{"namespace", "name"}

	groupsWanted = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "modelserving_groups_wanted",
		Help: "ServingGroups that the spec asks for.",
	}, byModelServing)

	groupsAvailable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "modelserving_groups_available",
		Help: "ServingGroups whose Pods are all there and Ready.",
	}, byModelServing)

	groupsUpdated = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "modelserving_groups_updated",
		Help: "ServingGroups at the update revision.",
	}, byModelServing)

	rolloutInProgress = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "modelserving_rollout_in_progress",
		Help: "1 while ServingGroups wait for the update revision.",
	}, byModelServing)

	gangPendingSince = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "modelserving_gang_pending_since_timestamp_seconds",
		Help: "Unix time since which a gang has not fitted; absent when every gang fits. time() minus it is the age.",
	}, byModelServing)

	recoveries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "recoveries_total",
		Help: "Units (ServingGroups or role replicas) recreated after a failure, by recovery policy.",
	}, []string{"policy"})

	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "writes_total",
		Help: "Objects written, by verb, kind and why.",
	}, []string{"verb", "kind", "why"})

	writeFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "write_failures_total",
		Help: "Writes that failed, by verb, kind and fault, such as NameConflict, QuotaExceeded or Overruled.",
	}, []string{"verb", "kind", "fault"})

	planDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    prefix + "plan_duration_seconds",
		Help:    "Time to compute one plan, without reads and writes.",
		Buckets: prometheus.ExponentialBuckets(0.00005, 4, 8),
	}, []string{"controller"})

	passDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    prefix + "pass_duration_seconds",
		Help:    "Time of one pass: gather, plan and apply.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	}, []string{"controller"})
)

func init() {
	crmetrics.Registry.MustRegister(groupsWanted, groupsAvailable, groupsUpdated, rolloutInProgress,
		gangPendingSince, recoveries, writes, writeFailures, planDuration, passDuration)
}

// Wrote counts a write that succeeded.
func Wrote(a action.Action, kind string) {
	writes.WithLabelValues(string(a.Verb), kind, a.Why).Inc()
}

// Failed counts a write that failed.
func Failed(f action.Fault, kind string) {
	writeFailures.WithLabelValues(string(f.Action.Verb), kind, string(f.Kind)).Inc()
}

// Planned records how long a controller took to compute a plan.
func Planned(controller string, took time.Duration) {
	planDuration.WithLabelValues(controller).Observe(took.Seconds())
}

// Passed records how long a whole pass of a controller took.
func Passed(controller string, took time.Duration) {
	passDuration.WithLabelValues(controller).Observe(took.Seconds())
}

// Report sets the series of a ModelServing from its status.
func Report(ms *workloadv1alpha1.ModelServing, status *workloadv1alpha1.ModelServingStatus) {
	values := []string{ms.Namespace, ms.Name}
	wanted := int32(1)
	if ms.Spec.Replicas != nil {
		wanted = *ms.Spec.Replicas
	}
	groupsWanted.WithLabelValues(values...).Set(float64(wanted))
	groupsAvailable.WithLabelValues(values...).Set(float64(status.AvailableReplicas))
	groupsUpdated.WithLabelValues(values...).Set(float64(status.UpdatedReplicas))

	rolling := 0.0
	if meta.IsStatusConditionTrue(status.Conditions, workloadv1alpha1.ConditionUpdateInProgress) {
		rolling = 1
	}
	rolloutInProgress.WithLabelValues(values...).Set(rolling)

	gang := meta.FindStatusCondition(status.Conditions, workloadv1alpha1.ConditionGangSchedulingReady)
	if gang != nil && gang.Reason == workloadv1alpha1.ReasonGangPending {
		gangPendingSince.WithLabelValues(values...).Set(float64(gang.LastTransitionTime.Unix()))
	} else {
		gangPendingSince.DeleteLabelValues(values...)
	}
}

// Recovered counts the recoveries that a written status remembers and the one before it did not.
func Recovered(ms *workloadv1alpha1.ModelServing, before, after []workloadv1alpha1.RecoveryStatus) {
	type unit struct{ group, roleID string }
	known := make(map[unit]workloadv1alpha1.RecoveryStatus, len(before))
	for _, r := range before {
		known[unit{r.Group, r.RoleID}] = r
	}
	for _, r := range after {
		old := known[unit{r.Group, r.RoleID}]
		if r.LastRecoveryTime.After(old.LastRecoveryTime.Time) {
			recoveries.WithLabelValues(string(ms.Spec.RecoveryPolicy)).Inc()
		}
	}
}

// Forget drops the series of a ModelServing that is gone.
func Forget(name types.NamespacedName) {
	for _, gauge := range []*prometheus.GaugeVec{
		groupsWanted, groupsAvailable, groupsUpdated, rolloutInProgress, gangPendingSince,
	} {
		gauge.DeleteLabelValues(name.Namespace, name.Name)
	}
}
