package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VLLMServicePhase sums a VLLMService up in one word.
type VLLMServicePhase string

const (
	// PhasePending: not all replicas are Ready yet.
	PhasePending VLLMServicePhase = "Pending"
	// PhaseRunning: all replicas are Ready.
	PhaseRunning VLLMServicePhase = "Running"
	// PhaseFailed: it will not become Ready without a change.
	PhaseFailed VLLMServicePhase = "Failed"
)

// VLLMServiceStatus is the observed state of a VLLMService.
type VLLMServiceStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Phase is Pending, Running or Failed.
	// +optional
	Phase VLLMServicePhase `json:"phase,omitempty"`

	// Message says what is wrong first, or that all is well.
	// +optional
	Message string `json:"message,omitempty"`

	// Replicas is the number of Pods that exist.
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of Pods that are Ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// LabelSelector selects the Pods, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`

	// DeploymentName is the name of the Deployment, once it exists.
	// +optional
	DeploymentName string `json:"deploymentName,omitempty"`

	// ServiceName is the name of the Service, once it exists.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`

	// HTTPRouteName is the name of the HTTPRoute, once it exists.
	// +optional
	HTTPRouteName string `json:"httpRouteName,omitempty"`

	// GatewayRefName is the name of the Gateway that the gatewayRef means.
	// +optional
	GatewayRefName string `json:"gatewayRefName,omitempty"`

	// GatewayRefNamespace is the namespace of that Gateway.
	// +optional
	GatewayRefNamespace string `json:"gatewayRefNamespace,omitempty"`

	// ServiceMonitorName is the name of the ServiceMonitor, once it exists.
	// +optional
	ServiceMonitorName string `json:"serviceMonitorName,omitempty"`

	// Address is the URL of the model, once its route is accepted.
	// +optional
	Address string `json:"address,omitempty"`

	// Conditions: Ready, Available, DeploymentReady, StorageReady, RouteReady, MonitoringReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
