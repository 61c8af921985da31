package v1alpha1

// GatewayReference attaches a ModelServing to a listener of an existing Gateway.
//
// Name, sectionName and host are required. The validating webhook says so, not the schema:
// the API server stops at the schema's faults, and the user would see the others one apply later.
type GatewayReference struct {
	// Name of an existing Gateway. Required.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Namespace of the Gateway. Default: the ModelServing's own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// SectionName is the name of the Gateway's listener. Required.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName,omitempty"`

	// Host is the host name of the model; it may start with "*.". Required.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`

	// Role whose entry Pods get the traffic. Default: the first role.
	// +optional
	// +kubebuilder:validation:MaxLength=12
	Role string `json:"role,omitempty"`

	// Port is the number of the container port that gets the traffic.
	// Default: the first container port of the role's entry template, else 8000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
}
