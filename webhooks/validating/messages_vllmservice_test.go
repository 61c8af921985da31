package validating_test

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// qwen is a VLLMService about which nothing is to be said.
func qwen(changes ...func(*aiinfrav1alpha1.VLLMService)) *aiinfrav1alpha1.VLLMService {
	v := &aiinfrav1alpha1.VLLMService{}
	v.Name, v.Namespace = "qwen", "default"
	v.Spec = aiinfrav1alpha1.VLLMServiceSpec{
		Image:     "vllm/vllm-openai:latest",
		ModelPath: "/data/models/Qwen2.5-1.5B-Instruct",
		ModelName: "qwen",
		Replicas:  ptr.To[int32](1),
		Port:      8000,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "nvidia.com/gpu": resource.MustParse("1")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("4"), "nvidia.com/gpu": resource.MustParse("1")},
		},
		Storage:    aiinfrav1alpha1.Storage{PVCName: "models", MountPath: "/data/models", ReadOnly: ptr.To(true)},
		EngineArgs: aiinfrav1alpha1.EngineArgs{Dtype: "auto", MaxModelLen: 4096, MaxNumSeqs: 8},
	}
	for _, change := range changes {
		change(v)
	}
	return v
}

func served(name string, change func(*aiinfrav1alpha1.VLLMService)) messageCase {
	return messageCase{"VLLMService: " + name, func() (field.ErrorList, []validating.Warning) {
		return validating.VLLMService(qwen(change), installed)
	}}
}

func vllmServiceMessages() []messageCase {
	return []messageCase{
		served("a name with a dot that is too long", func(v *aiinfrav1alpha1.VLLMService) { v.Name = "qwen2.5" + strings.Repeat("a", 60) }),
		served("nothing filled in", func(v *aiinfrav1alpha1.VLLMService) { v.Spec = aiinfrav1alpha1.VLLMServiceSpec{} }),
		served("a bad image, port and number of replicas", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Image, v.Spec.Port, v.Spec.Replicas = "vLLM", 70000, ptr.To[int32](-1)
		}),
		served("paths that are not absolute", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.ModelPath, v.Spec.Storage.MountPath, v.Spec.Storage.SubPath = "./qwen", "data/models", "/abs"
		}),
		served("a mount over the root", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Storage.MountPath = "/data/.." }),
		served("a model outside the mount, and a claim with a bad name", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.ModelPath, v.Spec.Storage.PVCName = "/data/models-2/qwen", "My Claim"
		}),
		served("a hub id", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.ModelPath = "Qwen/Qwen2.5-1.5B-Instruct" }),
		served("bad engine arguments", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.EngineArgs = aiinfrav1alpha1.EngineArgs{
				GPUMemoryUtilization: "90%", MaxModelLen: -1, MaxNumSeqs: -1,
				TensorParallelSize: ptr.To[int32](0), PipelineParallelSize: ptr.To[int32](-1),
			}
		}),
		served("extra arguments that contradict fields", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.EngineArgs.TensorParallelSize = ptr.To[int32](2)
			v.Spec.ExtraArgs = []string{"--max_model_len=8192", "-tp", "4", "--port", "9000", "--model", "/other", "--dtype", "auto", "--enforce-eager"}
		}),
		served("labels: the selector's, and malformed ones", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Labels = map[string]string{names.LabelVLLMService: "x", "team": "a b"}
			v.Spec.Monitoring = &aiinfrav1alpha1.Monitoring{Path: "metrics", Interval: "30 seconds", Labels: map[string]string{"a b": ""}}
		}),
		served("probes with bad paths and numbers", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.StartupProbe = &aiinfrav1alpha1.Probe{Path: "health", InitialDelaySeconds: ptr.To[int32](-1), PeriodSeconds: ptr.To[int32](0)}
		}),
		served("an interval of nothing", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Monitoring = &aiinfrav1alpha1.Monitoring{Interval: "0s"}
		}),
		served("a strategy of both kinds", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Strategy = &appsv1.DeploymentStrategy{Type: "Recreate", RollingUpdate: &appsv1.RollingUpdateDeployment{}}
		}),
		served("an unknown strategy", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Strategy = &appsv1.DeploymentStrategy{Type: "BlueGreen"}
		}),
		served("a strategy that cannot take a step", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Strategy = &appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromString("0%")), MaxSurge: ptr.To(intstr.FromInt32(0)),
			}}
		}),
		served("a shared memory of nothing", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.ShmSize = ptr.To(resource.MustParse("0")) }),
		served("resources, variables and references that the Pods would be refused for", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Resources.Limits["nvidia.com/gpu"] = resource.MustParse("2")
			v.Spec.Resources.Requests["cpu"] = resource.MustParse("8")
			v.Spec.Env = []corev1.EnvVar{{Name: "A"}, {Name: "A"}}
			v.Spec.EnvFrom = []corev1.EnvFromSource{{}}
			v.Spec.ServiceAccountName, v.Spec.PriorityClassName, v.Spec.RuntimeClassName = "A", "B", ptr.To("C")
			v.Spec.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To[int64](-1)}
		}),
		served("a gatewayRef of nothing", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.GatewayRef = &aiinfrav1alpha1.GatewayReference{} }),
	}
}
