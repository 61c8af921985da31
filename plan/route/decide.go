package route

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
)

// retryAfter is when a missing Gateway or listener, or a taken name, is looked at again even if
// no event came.
const retryAfter = time.Minute

// Why an object is written, as of action.Action.
const (
	whyRoute         = "Route"
	whyRouteDrift    = "RouteDrift"
	whyRouteWithdraw = "RouteWithdrawn"
)

// Decide says which writes the route needs and what RouteReady is. It needs no clock: the only
// times that count are the claims' creation times.
//
// The order of the judgement: a gatewayRef that means nothing, and names that are taken, for nothing
// can be written then; the resolution against the Gateway; other claims to the host; the Gateway
// controller's words.
func Decide(in Input) Output {
	out := decide(in)
	if in.Unwatched && out.RequeueAfter == 0 {
		out.RequeueAfter = retryAfter
	}
	return out
}

func decide(in Input) Output {
	if in.Ref == nil {
		return Output{Stages: stages(withdraw(in), removeService(in))}
	}
	if in.Invalid != "" {
		return refuse(in, workloadv1alpha1.ReasonInvalidSpec, in.Invalid, 0, withdraw(in))
	}
	if in.Service != nil && !in.Owner.Owns(in.Service) {
		// A route of ours must not lead to somebody else's Pods.
		return refuse(in, workloadv1alpha1.ReasonNameConflict, in.Owner.Conflict(kindService, in.Service), retryAfter, withdraw(in))
	}
	service := putService(in)
	if in.HTTPRoute != nil && !in.Owner.Owns(in.HTTPRoute) {
		return refuse(in, workloadv1alpha1.ReasonNameConflict, in.Owner.Conflict(kindHTTPRoute, in.HTTPRoute), retryAfter, service)
	}

	resolution := NotInstalled()
	if in.Installed {
		resolution = Resolve(*in.Ref, in.Gateway, in.Owner.Namespace, in.NamespaceLabels)
	}
	reason := string(resolution.Answer)
	switch resolution.Answer {
	case GatewayAPINotInstalled:
		return refuse(in, reason, resolution.Message, 0, service)
	case GatewayNotFound, ListenerNotFound:
		return refuse(in, reason, resolution.Message, retryAfter, withdraw(in), service)
	case IncompleteRef, ListenerProtocolNotHTTP:
		return refuse(in, reason, resolution.Message, 0, withdraw(in), service)
	case NotAllowedByListener, HostnameMismatch:
		put, _ := putRoute(in)
		return refuse(in, reason, resolution.Message, 0, service, put)
	}

	if keeper := KeeperOf(in, resolution.Listener); keeper != nil {
		return refuse(in, workloadv1alpha1.ReasonHostConflict, conflictMessage(in, keeper), 0, withdraw(in), service)
	}
	put, v := putRoute(in)
	out := refuse(in, v.reason, v.message, 0, service, put)
	if v.status == metav1.ConditionTrue {
		out.Condition.Status = v.status
		out.Address = address(in.Ref.Host, resolution.Listener)
	}
	return out
}

// refuse is an Output with RouteReady False.
func refuse(in Input, reason, message string, retry time.Duration, writes ...[]action.Action) Output {
	out := Output{
		Condition: &metav1.Condition{
			Type:    workloadv1alpha1.ConditionRouteReady,
			Status:  metav1.ConditionFalse,
			Reason:  reason,
			Message: message,
		},
		Stages:       stages(writes...),
		RequeueAfter: retry,
	}
	out.RouteName = routeName(in, out.Stages)
	return out
}

// stages drops those in which nothing is done.
func stages(writes ...[]action.Action) [][]action.Action {
	var done [][]action.Action
	for _, w := range writes {
		if len(w) > 0 {
			done = append(done, w)
		}
	}
	return done
}

// routeName is the name of the HTTPRoute that is ours after the writes.
func routeName(in Input, writes [][]action.Action) string {
	name := ""
	if in.HTTPRoute != nil && in.Owner.Owns(in.HTTPRoute) {
		name = in.HTTPRoute.Name
	}
	for _, stage := range writes {
		for _, a := range stage {
			if _, ok := a.Object.(*gatewayv1.HTTPRoute); !ok {
				continue
			}
			if name = a.Object.GetName(); a.Verb == action.Delete {
				name = ""
			}
		}
	}
	return name
}

// withdraw deletes the HTTPRoute when it is ours.
func withdraw(in Input) []action.Action {
	if in.HTTPRoute == nil || !in.Owner.Owns(in.HTTPRoute) || in.HTTPRoute.DeletionTimestamp != nil {
		return nil
	}
	return []action.Action{{Verb: action.Delete, Object: in.HTTPRoute, Why: whyRouteWithdraw}}
}

func removeService(in Input) []action.Action {
	if !in.Backend.Managed || in.Service == nil || !in.Owner.Owns(in.Service) || in.Service.DeletionTimestamp != nil {
		return nil
	}
	return []action.Action{{Verb: action.Delete, Object: in.Service, Why: whyRouteWithdraw}}
}

// putService creates the Service or puts right what is ours of it. It is called only when
// nobody else has the name.
func putService(in Input) []action.Action {
	if !in.Backend.Managed {
		return nil
	}
	return PutService(in)
}

// PutService creates the Service of in, or puts right what is ours of it; a Service of somebody
// else, and one that is being deleted, are left alone.
func PutService(in Input) []action.Action {
	switch {
	case in.Service == nil:
		return []action.Action{{Verb: action.Create, Object: Service(in), Why: whyRoute}}
	case !in.Owner.Owns(in.Service) || in.Service.DeletionTimestamp != nil:
		return nil
	}
	updated, changed := ServiceUpdate(in, in.Service)
	if !changed {
		return nil
	}
	return []action.Action{{Verb: action.Update, Object: updated, Why: whyRouteDrift}}
}

// putRoute creates the HTTPRoute or puts it right, and says what is known of it: what the
// Gateway controller said of another spec counts for nothing.
func putRoute(in Input) ([]action.Action, verdict) {
	switch {
	case in.HTTPRoute == nil:
		return []action.Action{{Verb: action.Create, Object: HTTPRoute(in), Why: whyRoute}},
			waiting("the HTTPRoute is new; no Gateway controller has spoken about it yet")
	case in.HTTPRoute.DeletionTimestamp != nil:
		return nil, waiting("the earlier HTTPRoute is still being deleted")
	}
	updated, changed, specChanged := httpRouteUpdate(in, in.HTTPRoute)
	v := readParents(in, in.HTTPRoute)
	if specChanged {
		v = waiting("the HTTPRoute has changed; no Gateway controller has spoken about the change yet")
	}
	if !changed {
		return nil, v
	}
	return []action.Action{{Verb: action.Update, Object: updated, Why: whyRouteDrift}}, v
}

// address is the URL of host behind the listener.
func address(host string, l *gatewayv1.Listener) string {
	scheme, usual := "http", gatewayv1.PortNumber(80)
	if l.Protocol == gatewayv1.HTTPSProtocolType {
		scheme, usual = "https", 443
	}
	if l.Port == usual {
		return fmt.Sprintf("%s://%s", scheme, host)
	}
	return fmt.Sprintf("%s://%s:%d", scheme, host, l.Port)
}
