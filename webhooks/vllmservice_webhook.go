package webhooks

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

type vllmServiceValidator struct {
	around *cluster
}

var kindVLLMService = aiinfrav1alpha1.GroupVersion.WithKind(aiinfrav1alpha1.VLLMServiceKind).GroupKind()

func (v *vllmServiceValidator) ValidateCreate(ctx context.Context, s *aiinfrav1alpha1.VLLMService) (admission.Warnings, error) {
	errs, warnings := validating.VLLMService(s, v.around.surroundings(ctx, route.ForVLLMService(s)))
	return verdict(kindVLLMService, s.Name, errs, warnings)
}

func (v *vllmServiceValidator) ValidateUpdate(ctx context.Context, old, s *aiinfrav1alpha1.VLLMService) (admission.Warnings, error) {
	var around validating.Surroundings
	if s.DeletionTimestamp == nil && !reflect.DeepEqual(s.Spec, old.Spec) {
		around = v.around.surroundings(ctx, route.ForVLLMService(s))
	}
	errs, warnings := validating.VLLMServiceUpdate(s, old, around)
	return verdict(kindVLLMService, s.Name, errs, warnings)
}

func (v *vllmServiceValidator) ValidateDelete(context.Context, *aiinfrav1alpha1.VLLMService) (admission.Warnings, error) {
	return nil, nil
}
