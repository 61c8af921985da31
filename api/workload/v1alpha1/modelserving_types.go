package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ModelServing serves one large model with groups of Pods that are scheduled all or nothing.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ms,categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="ServingGroups whose Pods are all Ready"
// +kubebuilder:printcolumn:name="Groups",type=integer,JSONPath=`.spec.replicas`,description="ServingGroups that are wanted"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,description="ServingGroups at the update revision"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.gatewayRef.host`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.updateRevision`
type ModelServing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec ModelServingSpec `json:"spec"`

	// Status is what is so.
	// +optional
	Status ModelServingStatus `json:"status,omitempty"`
}

// ModelServingList is a list of ModelServings.
//
// +kubebuilder:object:root=true
type ModelServingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelServing `json:"items"`
}

// ModelServingSpec is the desired state of a ModelServing.
type ModelServingSpec struct {
	// Replicas is the number of ServingGroups.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// SchedulerName is the scheduler of every Pod. With "volcano" each ServingGroup is a gang.
	// +optional
	// +kubebuilder:default=volcano
	SchedulerName string `json:"schedulerName,omitempty"`

	// Template describes one ServingGroup.
	Template ServingGroup `json:"template"`

	// RecoveryPolicy says what is recreated when a Pod fails.
	// +optional
	// +kubebuilder:default=RoleRecreate
	// +kubebuilder:validation:Enum=ServingGroupRecreate;RoleRecreate;None
	RecoveryPolicy RecoveryPolicy `json:"recoveryPolicy,omitempty"`

	// RolloutStrategy says how a change of the template reaches the Pods.
	// +optional
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`

	// Plugins are accepted and kept, but not acted on.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Plugins []PluginSpec `json:"plugins,omitempty"`

	// GatewayRef attaches the ModelServing to a listener of an existing Gateway.
	// Without it there is no HTTPRoute.
	// +optional
	GatewayRef *GatewayReference `json:"gatewayRef,omitempty"`

	// RevisionHistoryLimit is the number of ControllerRevisions kept beyond those in use.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// RecoveryPolicy says what is recreated when a Pod fails.
type RecoveryPolicy string

const (
	// RecoverServingGroup recreates the whole ServingGroup of a failed Pod.
	RecoverServingGroup RecoveryPolicy = "ServingGroupRecreate"
	// RecoverRole recreates the role replica (entry and workers) of a failed Pod.
	RecoverRole RecoveryPolicy = "RoleRecreate"
	// RecoverNone leaves restarts to the kubelet and replaces only Pods that are gone or in phase Failed.
	RecoverNone RecoveryPolicy = "None"
)

// ServingGroup describes the Pods that serve one copy of the model.
type ServingGroup struct {
	// RestartGracePeriodSeconds is how long a Pod whose container restarted may take to be Ready again
	// before the recovery policy acts; 0 means at once. A Pod that was deleted or is in phase Failed
	// gets none.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	RestartGracePeriodSeconds *int64 `json:"restartGracePeriodSeconds,omitempty"`

	// ProgressDeadlineSeconds is how long a ServingGroup may stay unavailable after one of its
	// role replicas was recreated before the whole group is recreated, and how long a rollout
	// may stand still before it is reported as stalled.
	// +optional
	// +kubebuilder:default=1800
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// GangPolicy says how much of a ServingGroup must fit before any of it is scheduled.
	// +optional
	GangPolicy *GangPolicy `json:"gangPolicy,omitempty"`

	// NetworkTopology asks Volcano to place the Pods close to each other.
	// +optional
	NetworkTopology *NetworkTopology `json:"networkTopology,omitempty"`

	// Roles are the parts of a ServingGroup, for example prefill and decode.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Roles []Role `json:"roles"`
}

// GangPolicy says how much of a ServingGroup must fit before any of it is scheduled.
type GangPolicy struct {
	// MinRoleReplicas maps a role to the number of its replicas that the gang needs.
	// A role that a set map does not name is not needed. Without the map, all replicas of all
	// roles are needed.
	// +optional
	MinRoleReplicas map[string]int32 `json:"minRoleReplicas,omitempty"`
}

// NetworkTopology asks Volcano to place the Pods close to each other.
type NetworkTopology struct {
	// GroupPolicy holds for all Pods of a ServingGroup.
	// +optional
	GroupPolicy *NetworkTopologySpec `json:"groupPolicy,omitempty"`

	// RolePolicy holds for the Pods of each role replica.
	// +optional
	RolePolicy *NetworkTopologySpec `json:"rolePolicy,omitempty"`
}

// NetworkTopologySpec is the constraint of that name in Volcano's PodGroup API
// (scheduling.volcano.sh/v1beta1).
//
// +kubebuilder:validation:XValidation:rule="!(has(self.highestTierAllowed) && has(self.highestTierName))",message="highestTierAllowed and highestTierName exclude each other; keep one"
type NetworkTopologySpec struct {
	// Mode is hard (must) or soft (should).
	// +optional
	// +kubebuilder:default=hard
	// +kubebuilder:validation:Enum=hard;soft
	Mode string `json:"mode,omitempty"`

	// HighestTierAllowed is the highest tier of HyperNodes that the Pods may span.
	// +optional
	// +kubebuilder:validation:Minimum=0
	HighestTierAllowed *int `json:"highestTierAllowed,omitempty"`

	// HighestTierName is the name of that tier.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	HighestTierName string `json:"highestTierName,omitempty"`
}

// Role is one part of a ServingGroup: a number of role replicas, each an entry Pod and its workers.
type Role struct {
	// Name is a DNS-1035 label, unique among the roles.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Replicas is the number of role replicas in each ServingGroup.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// EntryTemplate describes the entry Pod of each role replica.
	EntryTemplate PodTemplateSpec `json:"entryTemplate"`

	// WorkerReplicas is the number of worker Pods of each role replica.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	WorkerReplicas int32 `json:"workerReplicas,omitempty"`

	// WorkerTemplate describes the worker Pods. Required when workerReplicas is above 0.
	// +optional
	WorkerTemplate *PodTemplateSpec `json:"workerTemplate,omitempty"`

	// MaxUnavailable is the number or percentage of this role's replicas that a
	// RoleRollingUpdate may make unavailable at a time. Percentages round down, but not below 1.
	// Default 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Partition is the number or percentage of this role's replicas, counted from ordinal 0,
	// that a RoleRollingUpdate leaves alone. Percentages round up. Default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	Partition *intstr.IntOrString `json:"partition,omitempty"`
}

// PodTemplateSpec describes a Pod. Of the metadata, labels and annotations are used.
type PodTemplateSpec struct {
	// Metadata holds labels and annotations for the Pod.
	// +optional
	Metadata *PodMetadata `json:"metadata,omitempty"`

	// Spec is the Pod's specification.
	Spec corev1.PodSpec `json:"spec"`
}

// PodMetadata is the part of a Pod's metadata that a template may set.
type PodMetadata struct {
	// Labels are added to the Pod. Gangway's own labels win.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to the Pod.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RolloutStrategy says how a change of the template reaches the Pods.
type RolloutStrategy struct {
	// Type is what a rollout replaces at a time: ServingGroups or role replicas.
	// +optional
	// +kubebuilder:default=ServingGroupRollingUpdate
	// +kubebuilder:validation:Enum=ServingGroupRollingUpdate;RoleRollingUpdate
	Type RolloutStrategyType `json:"type,omitempty"`

	// RollingUpdateConfiguration tunes a ServingGroupRollingUpdate.
	// +optional
	RollingUpdateConfiguration *RollingUpdateConfiguration `json:"rollingUpdateConfiguration,omitempty"`

	// Paused stops the rollout before its next step. Scaling and recovery go on.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// RolloutStrategyType is what a rollout replaces at a time.
type RolloutStrategyType string

const (
	// ServingGroupRollingUpdate replaces whole ServingGroups.
	ServingGroupRollingUpdate RolloutStrategyType = "ServingGroupRollingUpdate"
	// RoleRollingUpdate replaces, within each ServingGroup, the role replicas whose template changed.
	RoleRollingUpdate RolloutStrategyType = "RoleRollingUpdate"
)

// RollingUpdateConfiguration tunes a ServingGroupRollingUpdate.
type RollingUpdateConfiguration struct {
	// MaxUnavailable is the number or percentage of ServingGroups that the rollout may make
	// unavailable at a time. Percentages round down, but not below 1 unless maxSurge is above 0.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is the number or percentage of ServingGroups that the rollout may add
	// above replicas. Percentages round up. Default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Partition is the number or percentage of ServingGroups, counted from ordinal 0,
	// that keep their revision. Percentages round up. Default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	Partition *intstr.IntOrString `json:"partition,omitempty"`
}

// PluginSpec is accepted for compatibility, kept, and not acted on.
type PluginSpec struct {
	// Name of the plugin.
	Name string `json:"name"`

	// Type of the plugin.
	// +optional
	// +kubebuilder:default=BuiltIn
	Type string `json:"type,omitempty"`

	// Config is the plugin's own.
	// +optional
	Config *apiextensionsv1.JSON `json:"config,omitempty"`

	// Scope narrows the plugin to roles and Pods.
	// +optional
	Scope *PluginScope `json:"scope,omitempty"`
}

// PluginScope narrows a plugin to roles and Pods.
type PluginScope struct {
	// Roles are the names of the roles; none means all.
	// +optional
	Roles []string `json:"roles,omitempty"`

	// Target is All, Entry or Worker.
	// +optional
	Target string `json:"target,omitempty"`
}
