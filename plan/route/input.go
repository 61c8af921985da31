// Package route decides how an object becomes reachable: it resolves a gatewayRef against a
// Gateway, builds the Service and the HTTPRoute, and reads back what the Gateway controller says.
//
// Two truths meet here. Whether an HTTPRoute can be written at all is ours to judge, from the
// Gateway's spec (Resolve). Whether it works is the Gateway controller's, in the HTTPRoute's
// status.parents; Gangway repeats its words and never guesses. ModelServing and VLLMService go
// through the same code; the differences between them are values in Input.
package route

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gangway-serving/gangway/plan/action"
)

// Ref is a gatewayRef with its namespace defaulted.
type Ref struct {
	// Namespace and Name of the Gateway.
	Namespace, Name string
	// SectionName is the name of the listener.
	SectionName string
	// Host is the host name, perhaps with a leading "*.".
	Host string
}

// ClaimKey is what a Ref claims, as one comparable string: a host, in whatever case, on a listener.
func (r Ref) ClaimKey() string {
	return strings.Join([]string{r.Namespace, r.Name, r.SectionName, strings.ToLower(r.Host)}, "/")
}

// Owner is the object that the route is made for.
type Owner struct {
	// APIVersion and Kind as they stand in owner references.
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
	// Created is the creationTimestamp: of two claims to a host the older one counts.
	Created metav1.Time
}

// Backend is the Service that the HTTPRoute points to. It is named as the owner.
type Backend struct {
	// Selector of the Service's Pods.
	Selector map[string]string
	// Port is both the Service's and the containers' port number.
	Port int32
	// Managed is true when the Service comes and goes with the gatewayRef (ModelServing), and
	// false when another planner makes it and it outlives the gatewayRef (VLLMService).
	Managed bool
}

// Claim is what another object, of either kind, wants of a listener.
type Claim struct {
	Owner Owner
	Ref   Ref
	// NamespaceLabels are those of the owner's namespace: a claim from a namespace that the
	// listener does not admit does not count.
	NamespaceLabels map[string]string
}

// Input is what was observed for one object's route. The planner treats it as read-only.
type Input struct {
	Owner Owner
	// Ref is nil when the object has no gatewayRef.
	Ref     *Ref
	Backend Backend
	// Invalid says why the gatewayRef can lead to no Pod, and the way out; empty when it can.
	Invalid string
	// Labels are Gangway's own on the Service and the HTTPRoute; UserLabels are the spec's.
	Labels, UserLabels map[string]string

	// Installed: the Gateway API's Gateway and HTTPRoute are served.
	Installed bool
	// Gateway is the one that Ref means; nil when it does not exist.
	Gateway *gatewayv1.Gateway
	// Unwatched: no event tells of a change of the Gateway, for its namespace is not watched.
	Unwatched bool
	// ControllerName is that of the Gateway's class; empty when the class does not exist.
	// With it, only that controller's words about the HTTPRoute count.
	ControllerName gatewayv1.GatewayController
	// NamespaceLabels are those of the owner's namespace.
	NamespaceLabels map[string]string
	// HTTPRoute and Service are those of the owner's name in its namespace, whoever owns them;
	// nil when there is none.
	HTTPRoute *gatewayv1.HTTPRoute
	Service   *corev1.Service
	// Claims are those of other objects on the same listener, in any order.
	Claims []Claim
}

// Output is what is right now for the route.
type Output struct {
	// Stages are the writes, in order, as of action.Lane. Empty: nothing to do.
	Stages [][]action.Action
	// Condition is RouteReady without its lastTransitionTime; nil without a gatewayRef.
	Condition *metav1.Condition
	// Address is the URL of the model; empty until the route is accepted.
	Address string
	// RouteName is the name of the owned HTTPRoute as it is once Stages are done; empty for none.
	RouteName string
	// RequeueAfter is when to look again if no event comes before; 0 means never.
	RequeueAfter time.Duration
}

// Answer says how a gatewayRef resolves. Every value but Resolved is a reason of RouteReady.
type Answer string

// Resolution is how a gatewayRef resolves.
type Resolution struct {
	Answer Answer
	// Message says what is wrong and the way out; empty when resolved.
	Message string
	// Listener is the one that the ref means; nil when there is none.
	Listener *gatewayv1.Listener
}
