package route

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
)

// Settle is the Output when some of the writes have failed: RouteReady is False in the API
// server's own words. Faults that are not about the route's objects, and updates that were only
// late or overruled, change nothing.
func (o Output) Settle(faults []action.Fault) Output {
	if o.Condition == nil {
		return o
	}
	for _, f := range faults {
		late := f.Kind == action.Transient && f.Action.Verb != action.Create
		if !IsObject(f.Action.Object) || late || f.Kind == action.Overruled {
			continue
		}
		reason := workloadv1alpha1.ReasonCreateFailed
		if f.Kind == action.NameConflict {
			reason = workloadv1alpha1.ReasonNameConflict
		}
		o.Condition = &metav1.Condition{Type: o.Condition.Type, Status: metav1.ConditionFalse, Reason: reason, Message: f.Message}
		o.Address = ""
		if o.createsRoute() {
			o.RouteName = ""
		}
		return o
	}
	return o
}

func (o Output) createsRoute() bool {
	for _, stage := range o.Stages {
		for _, a := range stage {
			if _, ok := a.Object.(*gatewayv1.HTTPRoute); ok && a.Verb == action.Create {
				return true
			}
		}
	}
	return false
}

// IsObject says whether an object belongs to a route. Headless Services belong to role replicas.
func IsObject(obj action.Object) bool {
	switch o := obj.(type) {
	case *gatewayv1.HTTPRoute:
		return true
	case *corev1.Service:
		return o.Spec.ClusterIP != corev1.ClusterIPNone
	}
	return false
}
