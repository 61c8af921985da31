package webhooks

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

type modelServingValidator struct {
	around *cluster
}

var kindModelServing = workloadv1alpha1.GroupVersion.WithKind(workloadv1alpha1.ModelServingKind).GroupKind()

func (v *modelServingValidator) ValidateCreate(ctx context.Context, ms *workloadv1alpha1.ModelServing) (admission.Warnings, error) {
	errs, warnings := validating.ModelServing(ms, v.around.surroundings(ctx, route.ForModelServing(ms)))
	return verdict(kindModelServing, ms.Name, errs, warnings)
}

func (v *modelServingValidator) ValidateUpdate(ctx context.Context, old, ms *workloadv1alpha1.ModelServing) (admission.Warnings, error) {
	var s validating.Surroundings
	if ms.DeletionTimestamp == nil && !reflect.DeepEqual(ms.Spec, old.Spec) {
		s = v.around.surroundings(ctx, route.ForModelServing(ms))
	}
	errs, warnings := validating.ModelServingUpdate(ms, old, s)
	return verdict(kindModelServing, ms.Name, errs, warnings)
}

func (v *modelServingValidator) ValidateDelete(context.Context, *workloadv1alpha1.ModelServing) (admission.Warnings, error) {
	return nil, nil
}
