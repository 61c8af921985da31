package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gangway-serving/gangway/webhooks/validating"
)

// scaleHandler judges kubectl scale and what an autoscaler does. A Scale says nothing of the object,
// so that the object is read.
type scaleHandler struct {
	around  *cluster
	decoder admission.Decoder
}

// Handle implements admission.Handler.
func (h *scaleHandler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	scale := &autoscalingv1.Scale{}
	if err := h.decoder.DecodeRaw(req.Object, scale); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the Scale: %w", err))
	}
	ms, err := h.around.modelServing(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Name}, "")
	switch {
	case errors.Is(err, errGone):
		return admission.Allowed("") // the API server says NotFound itself
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case ms.DeletionTimestamp != nil:
		return admission.Allowed("")
	}
	_, err = verdict(kindModelServing, ms.Name, validating.Scale(ms, scale.Spec.Replicas), nil)
	return respond(err)
}

func respond(err error) admission.Response {
	if err == nil {
		return admission.Allowed("")
	}
	resp := admission.Denied(err.Error())
	var invalid apierrors.APIStatus
	if errors.As(err, &invalid) {
		status := invalid.Status()
		resp.Result = &status
	}
	return resp
}
