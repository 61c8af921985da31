// Package action is the vocabulary in which planners ask for writes and hear how they went.
// It decides nothing and writes nothing.
package action

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Verb is what is done to an object.
type Verb string

const (
	// Create makes the object. That it exists already is success only when it has our owner.
	Create Verb = "Create"
	// Update replaces the object, at the resourceVersion that was observed.
	Update Verb = "Update"
	// Delete deletes the observed object; its UID is the precondition. That it is gone is success.
	Delete Verb = "Delete"
	// ForceDelete is Delete with a grace period of 0, for Pods on nodes that are gone.
	ForceDelete Verb = "ForceDelete"
)

// Action is one write.
type Action struct {
	Verb Verb
	// Object is the whole desired object for Create and Update, the observed one for the deletes.
	Object Object
	// Why is a CamelCase word for logs, metrics and the offline planner: ScaleDown, Rollout, ...
	Why string
	// Event is emitted once the write has succeeded; nil for none.
	Event *Event
	// Optional: what comes after it is done even when it fails.
	Optional bool
}

// Event is a Kubernetes Event about the object that is being planned for.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type    string
	Reason  string
	Message string
	// Field is the part of the object that it tells of, as in "spec.template.roles{decode}"; "" for all
	// of it. Recorders take Events of one reason and field for the same, whatever they say.
	Field string
}

// Lane is a sequence of stages that depends on no other lane. The actions of a stage may run in
// any order and in parallel. A stage begins when the one before it has wholly succeeded.
type Lane struct {
	// Name says whose lane it is, for example a ServingGroup's name.
	Name   string
	Stages [][]Action
}

// FaultKind says what a planner may conclude from a write that failed.
type FaultKind string

const (
	// NameConflict: the name is taken by an object that is not ours. Nothing was touched.
	NameConflict FaultKind = "NameConflict"
	// HashCollision: the name, which holds a hash, is that of an object of ours with other content.
	HashCollision FaultKind = "HashCollision"
	// QuotaExceeded: a ResourceQuota forbids the object.
	QuotaExceeded FaultKind = "QuotaExceeded"
	// Refused: the API server or an admission plugin refuses the object as it is.
	Refused FaultKind = "Refused"
	// Transient: anything that is worth the same try again.
	Transient FaultKind = "Transient"
	// Overruled: the update was taken, and the object is as it was: what admits objects to the cluster
	// undoes it. The same try again would change nothing either.
	Overruled FaultKind = "Overruled"
)

// Fault is a write that failed.
type Fault struct {
	Action Action
	Kind   FaultKind
	// Message holds the API server's own words or, for a NameConflict, whose the object is.
	Message string
}

// Retriable are the faults that are worth another try without an event: all but the Overruled.
func Retriable(faults []Fault) []Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return f.Kind == Overruled })
}
