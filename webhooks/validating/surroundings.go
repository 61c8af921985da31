package validating

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gangway-serving/gangway/plan/route"
)

// Presence says whether the cluster serves an API.
type Presence int

const (
	// Unknown: it could not be found out in time. Nobody is refused for that.
	Unknown Presence = iota
	// Absent: the CRD is not installed.
	Absent
	// Present: it is served, and what was read of it is current as far as a cache is.
	Present
)

// Surroundings is what is known of the cluster around an object.
// The zero value knows nothing, refuses nobody for it, and says that references were not checked.
type Surroundings struct {
	// Volcano says whether PodGroups are served.
	Volcano Presence

	// GatewayAPI says whether Gateways are served and could be read.
	GatewayAPI Presence
	// RequireGateway turns the warning about a missing Gateway or listener into a refusal.
	RequireGateway bool
	// GatewayHidden: the requester may not get the Gateway. Nothing is said about it.
	GatewayHidden bool
	// Gateway is the one that the object's gatewayRef names; nil when it does not exist.
	Gateway *gatewayv1.Gateway
	// NamespaceLabels are those of the object's namespace.
	NamespaceLabels map[string]string
	// Claims are those of other objects that want the same host of the same listener.
	Claims []route.Claim
}
