package gather

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
)

const (
	// IndexGateway finds ModelServings and VLLMServices by the Gateway of their gatewayRef, as of
	// GatewayKey.
	IndexGateway = "gangway.gatewayRef"
	// IndexClaim finds ModelServings and VLLMServices by listener and host, as of route.Ref.ClaimKey.
	IndexClaim = "gangway.hostClaim"
	// IndexPVC finds the VLLMServices of a namespace by their PersistentVolumeClaim.
	IndexPVC = "gangway.pvc"
)

// GatewayKey is the value of IndexGateway for a Gateway.
func GatewayKey(namespace, name string) string { return namespace + "/" + name }

// IndexRoutes registers the indexes that Routes and the watches of Gateways, Namespaces and
// PersistentVolumeClaims need.
func IndexRoutes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, obj := range []client.Object{&workloadv1alpha1.ModelServing{}, &aiinfrav1alpha1.VLLMService{}} {
		for name, key := range map[string]func(route.Ref) string{
			IndexGateway: func(r route.Ref) string { return GatewayKey(r.Namespace, r.Name) },
			IndexClaim:   route.Ref.ClaimKey,
		} {
			index := func(obj client.Object) []string {
				if ref := Ref(obj); ref != nil {
					return []string{key(*ref)}
				}
				return nil
			}
			if err := indexer.IndexField(ctx, obj, name, index); err != nil {
				return fmt.Errorf("index %T by %s: %w", obj, name, err)
			}
		}
	}
	pvc := func(obj client.Object) []string {
		return []string{obj.(*aiinfrav1alpha1.VLLMService).Spec.Storage.PVCName}
	}
	if err := indexer.IndexField(ctx, &aiinfrav1alpha1.VLLMService{}, IndexPVC, pvc); err != nil {
		return fmt.Errorf("index VLLMServices by PersistentVolumeClaim: %w", err)
	}
	return nil
}

// Ref is the gatewayRef of a ModelServing or VLLMService, defaulted; nil when it has none.
func Ref(obj client.Object) *route.Ref {
	in, _ := route.For(obj)
	return in.Ref
}
