package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// quotaWords are those of the ResourceQuota admission plugin; its answer has no cause of its own.
const quotaWords = "exceeded quota"

// kindOf says what a planner may conclude from an error of the API server.
//
// 4xx answers are judgements on the object, which the same try again would only repeat; the
// exceptions among them are conflicts, timeouts, throttling and a namespace that is going. All else,
// a webhook that cannot be called and a broken connection included, is worth another try.
func kindOf(err error) action.FaultKind {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return action.Transient
	}
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), quotaWords):
		return action.QuotaExceeded
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause),
		apierrors.IsConflict(err),
		apierrors.IsNotFound(err),
		apierrors.IsTooManyRequests(err),
		apierrors.IsTimeout(err),
		apierrors.IsUnauthorized(err),
		apierrors.IsResourceExpired(err):
		return action.Transient
	}
	if code := status.Status().Code; code >= http.StatusBadRequest && code < http.StatusInternalServerError {
		return action.Refused
	}
	return action.Transient
}

// fault is an action.Fault that also says how far it reaches.
type fault struct {
	action.Fault
	// everyone: the next create would most probably meet the same.
	everyone bool
}

// failed makes a fault of an error. A quota that is used up, an admission that refuses and a server
// that does not answer stop the other creates too: they are worth one try, not a thousand.
func failed(a action.Action, err error) *fault {
	kind := kindOf(err)
	return &fault{
		Fault:    action.Fault{Action: a, Kind: kind, Message: err.Error()},
		everyone: !apierrors.IsConflict(err) && !apierrors.IsNotFound(err),
	}
}

func refused(a action.Action, message string) *fault {
	return &fault{Fault: action.Fault{Action: a, Kind: action.Refused, Message: message}}
}

// collision is the fault of a name that holds a hash and is that of an object of ours with other
// content.
func collision(a action.Action, kind string) *fault {
	return &fault{Fault: action.Fault{Action: a, Kind: action.HashCollision, Message: fmt.Sprintf(
		"%s %q is ours and holds other content: the hash is the same", kind, a.Object.GetName())}}
}

// overruled is the fault of an update that the API server took, and that changed nothing.
func overruled(a action.Action, kind string) *fault {
	return &fault{Fault: action.Fault{Action: a, Kind: action.Overruled, Message: fmt.Sprintf(
		"%s %q stays as it is: an admission webhook or policy of the cluster undoes the update", kind, a.Object.GetName())}}
}

// judge says what it means that current has the name of the object that a creates for owner; nil:
// it is that object.
func judge(a action.Action, kind string, current *metav1.PartialObjectMetadata, owner metav1.Object) *fault {
	found := func(k action.FaultKind, format string, args ...any) *fault {
		return &fault{Fault: action.Fault{
			Action: a, Kind: k,
			Message: fmt.Sprintf("%s %q ", kind, current.Name) + fmt.Sprintf(format, args...),
		}}
	}
	if current.DeletionTimestamp != nil {
		return found(action.Transient, "is still terminating; its successor waits for it")
	}
	if !metav1.IsControlledBy(current, owner) {
		return found(action.NameConflict, "exists already and is not ours: %s", ownerWords(current, owner))
	}
	for _, key := range []string{names.LabelModelServing, names.LabelManagedBy} {
		if want := a.Object.GetLabels()[key]; want != current.Labels[key] {
			return found(action.NameConflict,
				"is ours, but its label %s is %q instead of %q, so that nothing finds it: set the label back or delete the object",
				key, current.Labels[key], want)
		}
	}
	return nil
}

// ownerWords says whose an object is, and the way out.
func ownerWords(current *metav1.PartialObjectMetadata, owner metav1.Object) string {
	controller := metav1.GetControllerOf(current)
	switch {
	case controller == nil:
		return "nothing controls it; delete or rename it, or rename what needs the name"
	case controller.Name == owner.GetName() && controller.UID != owner.GetUID():
		return fmt.Sprintf("it is left over from an earlier %s %q (UID %s), which the garbage collector has not removed yet",
			controller.Kind, controller.Name, controller.UID)
	default:
		return fmt.Sprintf("it is controlled by %s %q; delete or rename it, or rename what needs the name",
			controller.Kind, controller.Name)
	}
}
