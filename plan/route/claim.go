package route

import (
	"cmp"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// KeeperOf finds the claim that keeps in's host from in: an older object that claims the same
// host on the same listener, from a namespace that the listener admits. Objects of one age are
// ordered by namespace, name and kind. nil: the host is in's.
func KeeperOf(in Input, listener *gatewayv1.Listener) *Claim {
	var keeper *Claim
	for i := range in.Claims {
		c := &in.Claims[i]
		if c.Ref.ClaimKey() != in.Ref.ClaimKey() || compareAge(c.Owner, in.Owner) >= 0 {
			continue
		}
		if refusesNamespace(listener, c.Ref.Namespace, c.Owner.Namespace, c.NamespaceLabels) != "" {
			continue
		}
		if keeper == nil || compareAge(c.Owner, keeper.Owner) < 0 {
			keeper = c
		}
	}
	return keeper
}

func compareAge(a, b Owner) int {
	return cmp.Or(
		a.Created.Compare(b.Created.Time),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Kind, b.Kind),
	)
}

func conflictMessage(in Input, keeper *Claim) string {
	return fmt.Sprintf("host %q on listener %q of Gateway %s/%s is claimed by the older %s %s/%s; choose another host or listener",
		in.Ref.Host, in.Ref.SectionName, in.Ref.Namespace, in.Ref.Name,
		keeper.Owner.Kind, keeper.Owner.Namespace, keeper.Owner.Name)
}
