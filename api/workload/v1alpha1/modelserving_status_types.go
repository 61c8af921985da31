package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModelServingStatus is the observed state of a ModelServing.
type ModelServingStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Replicas is the number of ServingGroups that exist.
	// +optional
	Replicas int32 `json:"replicas"`

	// CurrentReplicas is the number of ServingGroups at the current revision.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`

	// UpdatedReplicas is the number of ServingGroups at the update revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// AvailableReplicas is the number of ServingGroups whose Pods are all there and Ready.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// CurrentRevision is the name of the ControllerRevision that the ServingGroups come from
	// that are not updated yet.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// UpdateRevision is the name of the ControllerRevision of the current spec.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// CollisionCount tells apart revisions whose hashes collide.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`

	// LabelSelector selects one Pod of each ServingGroup, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// Roles sums up each role over all ServingGroups.
	// +optional
	// +listType=map
	// +listMapKey=name
	Roles []RoleStatus `json:"roles,omitempty"`

	// Recoveries are the units that are in back-off or progressing after a recovery.
	// +optional
	// +listType=atomic
	Recoveries []RecoveryStatus `json:"recoveries,omitempty"`

	// Removals are the units that Gangway has decided to delete and of which something is left.
	// They tell its own deletions from everybody else's.
	// +optional
	// +listType=atomic
	Removals []RemovalStatus `json:"removals,omitempty"`

	// SurgeReplicas is the number of ServingGroups above spec.replicas that a rollout has asked for.
	// +optional
	SurgeReplicas int32 `json:"surgeReplicas,omitempty"`

	// Address is the URL of the model, once its route is accepted.
	// +optional
	Address string `json:"address,omitempty"`

	// Conditions: Ready, Available, Progressing, UpdateInProgress, GangSchedulingReady, RouteReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RoleStatus sums up one role over all ServingGroups, counted in role replicas.
type RoleStatus struct {
	// Name of the role.
	Name string `json:"name"`

	// Replicas that exist: all of their Pods are there.
	Replicas int32 `json:"replicas"`

	// ReadyReplicas are those whose Pods are all there and Ready.
	ReadyReplicas int32 `json:"readyReplicas"`

	// UpdatedReplicas are those made from the current template of the role.
	UpdatedReplicas int32 `json:"updatedReplicas"`
}

// RecoveryStatus is the memory of the recoveries of one unit: a ServingGroup or a role replica.
type RecoveryStatus struct {
	// Group is the name of the ServingGroup.
	Group string `json:"group"`

	// RoleID is the role replica, for example "prefill-0". Empty: the whole group.
	// +optional
	RoleID string `json:"roleID,omitempty"`

	// Count is the number of recoveries since the unit was last Ready for 10 minutes.
	Count int32 `json:"count"`

	// LastRecoveryTime is when the unit was last recreated. The next recovery waits
	// 10 s, doubled for each recovery after the second, at most 5 min, from here.
	LastRecoveryTime metav1.Time `json:"lastRecoveryTime"`

	// ProgressingSince is when a role replica of a group that has not been available since was
	// first recreated; progressDeadlineSeconds counts from here.
	// +optional
	ProgressingSince *metav1.Time `json:"progressingSince,omitempty"`

	// Revision is the name of the ControllerRevision that the unit had, and has again if it is
	// protected from the rollout.
	// +optional
	Revision string `json:"revision,omitempty"`

	// Lost is true while a Pod that somebody else deleted waits for the unit's next recovery.
	// +optional
	Lost bool `json:"lost,omitempty"`
}

// RemovalStatus is the memory of a deletion that Gangway has decided on. It is written before the
// first of the Pods is deleted, and goes when the last of them is gone.
type RemovalStatus struct {
	// Group is the name of the ServingGroup.
	Group string `json:"group"`

	// RoleID is the role replica. Empty: the whole group, with its PodGroup.
	// +optional
	RoleID string `json:"roleID,omitempty"`

	// Pod is the name of the Pod. Empty: all Pods of the unit.
	// +optional
	Pod string `json:"pod,omitempty"`

	// CreatedUntil is the creationTimestamp of the youngest object that goes. Younger ones stay.
	CreatedUntil metav1.Time `json:"createdUntil"`
}
