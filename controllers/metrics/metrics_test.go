package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/metrics"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/action"
)

// collected fails the test unless the metrics of these names read as want.
func collected(t *testing.T, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(crmetrics.Registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestSeriesOfAModelServingComeAndGoWithIt(t *testing.T) {
	since := metav1.NewTime(time.Unix(1_800_000_000, 0))
	ms := gangwaytesting.MakeModelServing("ms").Replicas(4).Obj()
	status := &workloadv1alpha1.ModelServingStatus{
		AvailableReplicas: 3, UpdatedReplicas: 2,
		Conditions: []metav1.Condition{
			{Type: workloadv1alpha1.ConditionUpdateInProgress, Status: metav1.ConditionTrue},
			{
				Type: workloadv1alpha1.ConditionGangSchedulingReady, Status: metav1.ConditionFalse,
				Reason: workloadv1alpha1.ReasonGangPending, LastTransitionTime: since,
			},
		},
	}
	names := []string{
		"gangway_modelserving_groups_wanted", "gangway_modelserving_groups_available", "gangway_modelserving_groups_updated",
		"gangway_modelserving_rollout_in_progress", "gangway_modelserving_gang_pending_since_timestamp_seconds",
	}
	metrics.Report(ms, status)
	collected(t, `
# HELP gangway_modelserving_gang_pending_since_timestamp_seconds Unix time since which a gang has not fitted; absent when every gang fits. time() minus it is the age.
# TYPE gangway_modelserving_gang_pending_since_timestamp_seconds gauge
gangway_modelserving_gang_pending_since_timestamp_seconds{name="ms",namespace="default"} 1.8e+09
# HELP gangway_modelserving_groups_available ServingGroups whose Pods are all there and Ready.
# TYPE gangway_modelserving_groups_available gauge
gangway_modelserving_groups_available{name="ms",namespace="default"} 3
# HELP gangway_modelserving_groups_updated ServingGroups at the update revision.
# TYPE gangway_modelserving_groups_updated gauge
gangway_modelserving_groups_updated{name="ms",namespace="default"} 2
# HELP gangway_modelserving_groups_wanted ServingGroups that the spec asks for.
# TYPE gangway_modelserving_groups_wanted gauge
gangway_modelserving_groups_wanted{name="ms",namespace="default"} 4
# HELP gangway_modelserving_rollout_in_progress 1 while ServingGroups wait for the update revision.
# TYPE gangway_modelserving_rollout_in_progress gauge
gangway_modelserving_rollout_in_progress{name="ms",namespace="default"} 1
`, names...)

	status.Conditions = nil
	metrics.Report(ms, status)
	collected(t, "", "gangway_modelserving_gang_pending_since_timestamp_seconds")

	metrics.Forget(types.NamespacedName{Namespace: "default", Name: "ms"})
	collected(t, "", names...)
}

func TestEachRecoveryIsCountedOnce(t *testing.T) {
	metrics.ResetCounters()
	at := func(s int64) metav1.Time { return metav1.NewTime(time.Unix(s, 0)) }
	ms := gangwaytesting.MakeModelServing("ms").RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).Obj()
	before := []workloadv1alpha1.RecoveryStatus{
		{Group: "ms-0", Count: 1, LastRecoveryTime: at(100)},
		{Group: "ms-1", RoleID: "decode-0", Count: 1, LastRecoveryTime: at(100)},
	}
	after := []workloadv1alpha1.RecoveryStatus{
		{Group: "ms-0", Count: 2, LastRecoveryTime: at(120)},
		{Group: "ms-1", RoleID: "decode-0", Count: 1, LastRecoveryTime: at(100)},
		{Group: "ms-1", RoleID: "decode-1", Count: 1, LastRecoveryTime: at(120)},
	}
	metrics.Recovered(ms, before, after)
	metrics.Recovered(ms, after, after[:1])
	collected(t, `
# HELP gangway_recoveries_total Units (ServingGroups or role replicas) recreated after a failure, by recovery policy.
# TYPE gangway_recoveries_total counter
gangway_recoveries_total{policy="ServingGroupRecreate"} 2
`, "gangway_recoveries_total")
}

func TestWritesAreCountedByWhatTheyWere(t *testing.T) {
	metrics.ResetCounters()
	a := action.Action{Verb: action.Create, Object: &corev1.Pod{}, Why: "ScaleUp"}
	metrics.Wrote(a, "Pod")
	metrics.Wrote(a, "Pod")
	metrics.Failed(action.Fault{Action: a, Kind: action.QuotaExceeded}, "Pod")
	collected(t, `
# HELP gangway_write_failures_total Writes that failed, by verb, kind and fault, such as NameConflict, QuotaExceeded or Overruled.
# TYPE gangway_write_failures_total counter
gangway_write_failures_total{fault="QuotaExceeded",kind="Pod",verb="Create"} 1
# HELP gangway_writes_total Objects written, by verb, kind and why.
# TYPE gangway_writes_total counter
gangway_writes_total{kind="Pod",verb="Create",why="ScaleUp"} 2
`, "gangway_writes_total", "gangway_write_failures_total")
}
