package recovery

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

const (
	firstWait = 10 * time.Second
	longWait  = 5 * time.Minute
)

// wait is how long after the latest of count recoveries the next one may be.
func wait(count int32) time.Duration {
	if count <= 0 {
		return 0
	}
	w := firstWait
	for i := int32(1); i < count && w < longWait; i++ {
		w *= 2
	}
	return min(w, longWait)
}

// book holds the records of one group, by role replica; "" is the group itself.
type book map[string]*workloadv1alpha1.RecoveryStatus

func open(records []workloadv1alpha1.RecoveryStatus) book {
	b := book{}
	for _, r := range records {
		b[r.RoleID] = r.DeepCopy()
	}
	return b
}

// allowed is when a unit may be recovered, as far as its back-off goes.
func (b book) allowed(unit string) time.Time {
	r, ok := b[unit]
	if !ok || r.Count == 0 {
		return time.Time{}
	}
	return r.LastRecoveryTime.Add(wait(r.Count))
}

// count writes a recovery down.
func (b book) count(group, unit, revision string, now time.Time) *workloadv1alpha1.RecoveryStatus {
	r, ok := b[unit]
	if !ok {
		r = &workloadv1alpha1.RecoveryStatus{Group: group, RoleID: unit}
		b[unit] = r
	}
	r.Count++
	r.LastRecoveryTime = seconds(now)
	r.Revision = revision
	r.Lost = false
	return r
}

// progressingSince is when the first role replica of the group was recovered since the group was
// last available; nil when it has been available since.
func (b book) progressingSince() *metav1.Time {
	var since *metav1.Time
	for _, r := range b {
		if r.ProgressingSince != nil && (since == nil || r.ProgressingSince.Before(since)) {
			since = r.ProgressingSince
		}
	}
	return since
}

// seconds is a time as the API server will give it back.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
