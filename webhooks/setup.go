package webhooks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// Paths of the webhooks, as they stand in config/webhook.
const (
	PathModelServing = "/validate-workload-serving-volcano-sh-v1alpha1-modelserving"
	PathVLLMService  = "/validate-aiinfra-example-com-v1alpha1-vllmservice"
	PathScale        = "/validate-scale"
	PathPod          = "/mutate--v1-pod"
)

// Options tune the webhooks. The zero value is good for production.
type Options struct {
	// RequireGateway refuses a gatewayRef whose Gateway or listener does not exist yet, where
	// otherwise a warning is given.
	RequireGateway bool
}

// SetupWithManager registers the webhooks with the manager's server. Informers start with the manager's
// cache; the optional ones, when first needed.
func SetupWithManager(mgr ctrl.Manager, opts Options) error {
	handlers, err := newHandlers(mgr, opts)
	if err != nil {
		return err
	}
	for path, h := range handlers {
		mgr.GetWebhookServer().Register(path, guard(h))
	}
	return nil
}

func newHandlers(mgr ctrl.Manager, opts Options) (map[string]http.Handler, error) {
	ctx := context.Background()
	if err := indexClaims(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	for _, obj := range []client.Object{namespaceMetadata(), crdMetadata()} {
		if _, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("watch %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, err)
		}
	}
	rights, err := newRights(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	around := &cluster{
		cached:         mgr.GetCache(),
		live:           mgr.GetAPIReader(),
		rights:         rights,
		requireGateway: opts.RequireGateway,
	}
	scheme := mgr.GetScheme()
	modelServing := admission.WithValidator[*workloadv1alpha1.ModelServing](scheme, &modelServingValidator{around})
	vllmService := admission.WithValidator[*aiinfrav1alpha1.VLLMService](scheme, &vllmServiceValidator{around})
	scale := &admission.Webhook{Handler: &scaleHandler{around, admission.NewDecoder(scheme)}}
	pod := &admission.Webhook{Handler: &podHandler{around, admission.NewDecoder(scheme)}}

	handlers := map[string]http.Handler{}
	for path, wh := range map[string]*admission.Webhook{
		PathModelServing: modelServing, PathVLLMService: vllmService, PathScale: scale, PathPod: pod,
	} {
		wh.LogConstructor = logOf(path)
		handlers[path] = wh
	}
	return handlers, nil
}

// logOf names the path, since bodies that cannot be decoded tell nothing else.
func logOf(path string) func(logr.Logger, *admission.Request) logr.Logger {
	return func(base logr.Logger, req *admission.Request) logr.Logger {
		base = base.WithValues("path", path)
		if req == nil {
			return base
		}
		return base.WithValues("namespace", req.Namespace, "name", req.Name, "requestID", req.UID)
	}
}
