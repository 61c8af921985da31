package apply

import (
	"context"
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangway-serving/gangway/plan/action"
)

// maxNote is the longest note that the API server takes in an Event, in bytes.
const maxNote = 1024

// Status writes what set makes of the status of a copy of observed, at the resourceVersion that was
// observed, and only when it differs. It returns the object as it is now; observed is left alone.
func Status[T client.Object](ctx context.Context, c client.Client, observed T, set func(T)) (now T, wrote bool, err error) {
	wanted := observed.DeepCopyObject().(T)
	set(wanted)
	if equality.Semantic.DeepEqual(observed, wanted) {
		return observed, false, nil
	}
	if err := c.Status().Update(ctx, wanted); err != nil {
		return observed, false, fmt.Errorf("write the status of %q: %w", observed.GetName(), err)
	}
	return wanted, true, nil
}

// Emit emits an Event about owner. what is the machine-readable action that it tells of.
func (w *Writer) Emit(owner client.Object, what string, e action.Event) {
	note := e.Message
	if len(note) > maxNote {
		note = note[:maxNote-len("...")]
		for !utf8.ValidString(note) {
			note = note[:len(note)-1]
		}
		note += "..."
	}
	var regarding runtime.Object = owner
	if ref, err := reference.GetPartialReference(w.Client.Scheme(), owner, e.Field); err == nil {
		regarding = ref
	}
	w.Recorder.Eventf(regarding, nil, e.Type, e.Reason, what, "%s", note)
}
