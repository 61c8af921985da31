package route

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// verdict is what one Gateway controller says about the route.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func waiting(message string) verdict {
	return verdict{metav1.ConditionFalse, workloadv1alpha1.ReasonWaitingForGatewayController, message}
}

// readParents reads the Gateway controller's words about our parentRef. When the Gateway's class
// is known, only its controller counts. When it is not, any controller may make the route ready,
// and otherwise the first by name that has something to say is repeated.
func readParents(in Input, current *gatewayv1.HTTPRoute) verdict {
	var ours []gatewayv1.RouteParentStatus
	for _, p := range current.Status.Parents {
		if isOurParent(p.ParentRef, in) && (in.ControllerName == "" || p.ControllerName == in.ControllerName) {
			ours = append(ours, p)
		}
	}
	slices.SortStableFunc(ours, func(a, b gatewayv1.RouteParentStatus) int {
		return cmp.Compare(a.ControllerName, b.ControllerName)
	})
	found := waiting(fmt.Sprintf("no Gateway controller has spoken about HTTPRoute %q yet", current.Name))
	if in.ControllerName != "" {
		found.message = fmt.Sprintf("Gateway controller %q has not spoken about HTTPRoute %q yet", in.ControllerName, current.Name)
	}
	for i, p := range ours {
		v := readParent(p, current.Generation)
		if v.status == metav1.ConditionTrue {
			return v
		}
		if i == 0 || found.reason == workloadv1alpha1.ReasonWaitingForGatewayController {
			found = v
		}
	}
	return found
}

func readParent(p gatewayv1.RouteParentStatus, generation int64) verdict {
	steps := []struct {
		conditionType gatewayv1.RouteConditionType
		reason        string
	}{
		{gatewayv1.RouteConditionAccepted, workloadv1alpha1.ReasonRouteNotAccepted},
		{gatewayv1.RouteConditionResolvedRefs, workloadv1alpha1.ReasonBackendNotResolved},
	}
	for _, s := range steps {
		c := meta.FindStatusCondition(p.Conditions, string(s.conditionType))
		switch {
		case c == nil:
			return waiting(fmt.Sprintf("Gateway controller %q has not said whether the route is %s", p.ControllerName, s.conditionType))
		case c.ObservedGeneration < generation:
			return waiting(fmt.Sprintf("Gateway controller %q speaks of generation %d of the HTTPRoute; generation %d is current",
				p.ControllerName, c.ObservedGeneration, generation))
		case c.Status == metav1.ConditionUnknown:
			return waiting(controllerWords(p.ControllerName, c))
		case c.Status != metav1.ConditionTrue:
			return verdict{metav1.ConditionFalse, s.reason, controllerWords(p.ControllerName, c)}
		}
	}
	return verdict{
		metav1.ConditionTrue, workloadv1alpha1.ReasonRouteAccepted,
		fmt.Sprintf("accepted by Gateway controller %q", p.ControllerName),
	}
}

func controllerWords(controller gatewayv1.GatewayController, c *metav1.Condition) string {
	words := fmt.Sprintf("Gateway controller %q says %s is %s (%s)", controller, c.Type, c.Status, c.Reason)
	if c.Message != "" {
		words += ": " + c.Message
	}
	return words
}

// isOurParent compares after defaulting: a controller may leave out what the API defaults.
func isOurParent(p gatewayv1.ParentReference, in Input) bool {
	return ptr.Deref(p.Group, gatewayv1.GroupName) == gatewayv1.GroupName &&
		ptr.Deref(p.Kind, kindGateway) == kindGateway &&
		string(ptr.Deref(p.Namespace, gatewayv1.Namespace(in.Owner.Namespace))) == in.Ref.Namespace &&
		string(p.Name) == in.Ref.Name &&
		string(ptr.Deref(p.SectionName, "")) == in.Ref.SectionName
}
