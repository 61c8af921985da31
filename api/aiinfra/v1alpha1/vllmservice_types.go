package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VLLMService serves one model with vLLM: a Deployment, a Service and, with a gatewayRef, an HTTPRoute.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=vllm,categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.readyReplicas`,description="Replicas that are Ready"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,description="Replicas that are wanted"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.gatewayRef.host`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Model",type=string,priority=1,JSONPath=`.spec.modelName`
// +kubebuilder:printcolumn:name="Address",type=string,priority=1,JSONPath=`.status.address`
type VLLMService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec VLLMServiceSpec `json:"spec"`

	// Status is what is so.
	// +optional
	Status VLLMServiceStatus `json:"status,omitempty"`
}

// VLLMServiceList is a list of VLLMServices.
//
// +kubebuilder:object:root=true
type VLLMServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VLLMService `json:"items"`
}

// VLLMServiceSpec is the desired state of a VLLMService.
type VLLMServiceSpec struct {
	// Image of vLLM's OpenAI-compatible server.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`

	// ModelPath is the folder of the model below storage.mountPath, or a hub id.
	// +kubebuilder:validation:MinLength=1
	ModelPath string `json:"modelPath"`

	// ModelName is the name under which the model is served.
	// +kubebuilder:validation:MinLength=1
	ModelName string `json:"modelName"`

	// Replicas is the number of Pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Port on which vLLM listens and the Service answers.
	// +optional
	// +kubebuilder:default=8000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// GatewayRef attaches the service to a listener of an existing Gateway.
	// Without it there is no HTTPRoute.
	// +optional
	GatewayRef *GatewayReference `json:"gatewayRef,omitempty"`

	// Resources of the vLLM container.
	Resources corev1.ResourceRequirements `json:"resources"`

	// Storage is where the model comes from.
	Storage Storage `json:"storage"`

	// RuntimeClassName of the Pods.
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`

	// SchedulerName of the Pods. Default: the cluster's default scheduler.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`

	// NodeSelector of the Pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// HostIPC shares the node's IPC namespace with the Pods.
	// +optional
	HostIPC bool `json:"hostIPC,omitempty"`

	// Labels are added to every object that is made, and to the Pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// EngineArgs are the arguments of the vLLM engine.
	// +optional
	// +kubebuilder:default={}
	EngineArgs EngineArgs `json:"engineArgs,omitempty"`

	// ExtraArgs are appended to the arguments of vLLM as they stand.
	// +optional
	// +listType=atomic
	ExtraArgs []string `json:"extraArgs,omitempty"`

	// Monitoring makes a ServiceMonitor, where the Prometheus operator is installed.
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`

	// StartupProbe is on by default: GET /health, for up to 30 minutes.
	// +optional
	StartupProbe *Probe `json:"startupProbe,omitempty"`

	// LivenessProbe is off by default. It runs once the startup probe has passed.
	// +optional
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`

	// ReadinessProbe is on by default: GET /health.
	// +optional
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`

	// Env of the vLLM container.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom of the vLLM container.
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// ImagePullSecrets of the Pods.
	// +optional
	// +listType=atomic
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// Tolerations of the Pods.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of the Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// ServiceAccountName of the Pods.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// SecurityContext of the vLLM container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// PriorityClassName of the Pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// ShmSize mounts a memory-backed /dev/shm of this size.
	// +optional
	ShmSize *resource.Quantity `json:"shmSize,omitempty"`

	// Strategy of the Deployment. Default: rolling, maxSurge 0, maxUnavailable 1,
	// since a surge Pod never fits on a full GPU node.
	// +optional
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`
}

// Storage is where the model comes from.
type Storage struct {
	// PVCName is the PersistentVolumeClaim that holds the model.
	// +kubebuilder:validation:MinLength=1
	PVCName string `json:"pvcName"`

	// MountPath is where the claim is mounted.
	// +kubebuilder:validation:MinLength=1
	MountPath string `json:"mountPath"`

	// ReadOnly mounts the claim read-only.
	// +optional
	// +kubebuilder:default=true
	ReadOnly *bool `json:"readOnly,omitempty"`

	// SubPath within the claim.
	// +optional
	SubPath string `json:"subPath,omitempty"`
}

// EngineArgs are arguments of the vLLM engine; each becomes the flag that vLLM documents for it.
type EngineArgs struct {
	// Dtype of weights and activations (--dtype).
	// +optional
	// +kubebuilder:default=auto
	Dtype string `json:"dtype,omitempty"`

	// MaxModelLen is the context length in tokens (--max-model-len).
	// +optional
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=1
	MaxModelLen int32 `json:"maxModelLen,omitempty"`

	// GPUMemoryUtilization is the share of GPU memory to use, a decimal in (0, 1]
	// (--gpu-memory-utilization).
	// +optional
	GPUMemoryUtilization string `json:"gpuMemoryUtilization,omitempty"`

	// MaxNumSeqs is the number of sequences in one batch (--max-num-seqs).
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	MaxNumSeqs int32 `json:"maxNumSeqs,omitempty"`

	// TensorParallelSize is the number of GPUs that share each layer (--tensor-parallel-size).
	// +optional
	// +kubebuilder:validation:Minimum=1
	TensorParallelSize *int32 `json:"tensorParallelSize,omitempty"`

	// PipelineParallelSize is the number of pipeline stages (--pipeline-parallel-size).
	// +optional
	// +kubebuilder:validation:Minimum=1
	PipelineParallelSize *int32 `json:"pipelineParallelSize,omitempty"`

	// Quantization is the method of the weights (--quantization).
	// +optional
	Quantization string `json:"quantization,omitempty"`
}

// Monitoring makes a ServiceMonitor, where the Prometheus operator is installed.
type Monitoring struct {
	// Enabled turns monitoring on.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// Path of the metrics.
	// +optional
	// +kubebuilder:default=/metrics
	Path string `json:"path,omitempty"`

	// Interval of the scrapes.
	// +optional
	// +kubebuilder:default="30s"
	Interval string `json:"interval,omitempty"`

	// Labels of the ServiceMonitor, by which Prometheus selects it.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// Probe is an HTTP probe of the vLLM server.
type Probe struct {
	// Enabled turns the probe on or off.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Path of the probe. Default /health.
	// +optional
	Path string `json:"path,omitempty"`

	// InitialDelaySeconds before the first probe.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`

	// PeriodSeconds between probes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`

	// TimeoutSeconds of one probe.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// FailureThreshold is the number of failures in a row that count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// GatewayReference attaches a VLLMService to a listener of an existing Gateway.
//
// Name, sectionName and host are required. The validating webhook says so, not the schema:
// the API server stops at the schema's faults, and the user would see the others one apply later.
type GatewayReference struct {
	// Name of an existing Gateway. Required.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Namespace of the Gateway. Default: the VLLMService's own.
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
}
