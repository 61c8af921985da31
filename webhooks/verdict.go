package webhooks

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gangway-serving/gangway/webhooks/validating"
)

const (
	// maxFaults bounds an answer: nobody reads more, and a list without end is no answer.
	maxFaults   = 100
	maxWarnings = 20
)

// verdict makes an answer of faults and warnings: an Invalid status, whose causes kubectl shows one
// by one.
func verdict(kind schema.GroupKind, name string, errs field.ErrorList, warnings []validating.Warning) (admission.Warnings, error) {
	var shown admission.Warnings
	for i, w := range warnings {
		if i == maxWarnings {
			shown = append(shown, fmt.Sprintf("and %d more warnings", len(warnings)-maxWarnings))
			break
		}
		shown = append(shown, w.String())
	}
	if len(errs) == 0 {
		return shown, nil
	}
	if more := len(errs) - maxFaults; more > 0 {
		errs = append(errs[:maxFaults:maxFaults], field.Invalid(field.NewPath(""), field.OmitValueType{},
			fmt.Sprintf("and %d more faults; correct these first", more)))
	}
	return shown, apierrors.NewInvalid(kind, name, errs)
}
