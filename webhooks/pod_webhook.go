package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gangway-serving/gangway/webhooks/mutating"
)

// podHandler ties the Pods of a ServingGroup to their gang, whoever creates them, and refuses
// strangers.
type podHandler struct {
	around  *cluster
	decoder admission.Decoder
}

// Handle implements admission.Handler.
func (h *podHandler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return admission.Allowed("")
	}
	pod := &corev1.Pod{}
	if err := h.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the Pod: %w", err))
	}
	if !mutating.IsMember(pod) {
		return admission.Allowed("")
	}
	ref, fault := mutating.Owner(pod)
	if fault != nil {
		return admission.Denied(fault.Error())
	}
	ms, err := h.around.modelServing(ctx, client.ObjectKey{Namespace: req.Namespace, Name: ref.Name}, ref.UID)
	switch {
	case errors.Is(err, errGone):
		return admission.Denied(mutating.Missing(ref, req.Namespace).Error())
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	}
	pod.Namespace = req.Namespace // a request may leave it out
	injection, fault := mutating.ForPod(pod, ms)
	if fault != nil {
		return admission.Denied(fault.Error())
	}
	return admission.Patched("", injection.Patch(pod)...)
}
