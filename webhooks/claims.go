package webhooks

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
)

// claimIndex finds the objects that want one host of one listener.
const claimIndex = "webhooks.claim"

// indexClaims is to be called before the cache is started.
func indexClaims(ctx context.Context, indexer client.FieldIndexer) error {
	for _, obj := range []client.Object{&workloadv1alpha1.ModelServing{}, &aiinfrav1alpha1.VLLMService{}} {
		err := indexer.IndexField(ctx, obj, claimIndex, func(obj client.Object) []string {
			in, ok := route.For(obj)
			if !ok || in.Ref == nil {
				return nil
			}
			return []string{in.Ref.ClaimKey()}
		})
		if err != nil {
			return fmt.Errorf("index the hosts that %T claims: %w", obj, err)
		}
	}
	return nil
}

// claims are those of other objects for the host and listener of in, ordered by kind; those of
// objects that are being deleted do not count.
func (c *cluster) claims(ctx context.Context, in route.Input) ([]route.Claim, error) {
	if in.Ref.Host == "" {
		return nil, nil
	}
	same := client.MatchingFields{claimIndex: in.Ref.ClaimKey()}
	var modelServings workloadv1alpha1.ModelServingList
	if err := c.cached.List(ctx, &modelServings, same, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the ModelServings that claim %q: %w", in.Ref.Host, err)
	}
	var vllmServices aiinfrav1alpha1.VLLMServiceList
	if err := c.cached.List(ctx, &vllmServices, same, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the VLLMServices that claim %q: %w", in.Ref.Host, err)
	}
	var claims []route.Claim
	add := func(obj client.Object) {
		other, ok := route.For(obj)
		itself := other.Owner.Kind == in.Owner.Kind && other.Owner.Namespace == in.Owner.Namespace && other.Owner.Name == in.Owner.Name
		if ok && !itself && obj.GetDeletionTimestamp() == nil {
			claims = append(claims, route.Claim{Owner: other.Owner, Ref: *other.Ref})
		}
	}
	for i := range modelServings.Items {
		add(&modelServings.Items[i])
	}
	for i := range vllmServices.Items {
		add(&vllmServices.Items[i])
	}
	return claims, nil
}
