package validating_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

func template(change func(*workloadv1alpha1.PodTemplateSpec)) *workloadv1alpha1.ModelServing {
	return quiet("sample").Role(MakeRole("prefill").Replicas(2).Port(8000).Entry(change).Obj()).Obj()
}

func container(change func(*corev1.Container)) *workloadv1alpha1.ModelServing {
	return template(func(t *workloadv1alpha1.PodTemplateSpec) { change(&t.Spec.Containers[0]) })
}

func podTemplateMessages() []messageCase {
	quantities := func(pairs ...string) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return list
	}
	return []messageCase{
		created("a worker template without containers", quiet("sample").Role(MakeRole("decode").Replicas(2).Workers(1).
			Worker(func(t *workloadv1alpha1.PodTemplateSpec) { t.Spec.Containers = nil }).Obj()).Obj()),
		created("container names that are empty, malformed and used twice", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{Name: "server", Image: "a"}}
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Image: "a"}, corev1.Container{Name: "vLLM", Image: "a"})
		})),
		created("images that are missing and malformed", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Containers[0].Image = ""
			t.Spec.Containers = append(t.Spec.Containers,
				corev1.Container{Name: "upper", Image: "registry.example/LLM:1"},
				corev1.Container{Name: "tags", Image: "llm:1:2"},
				corev1.Container{Name: "space", Image: " llm:1"})
		})),
		created("an init container with a probe", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
			t.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "a", ReadinessProbe: probe, Lifecycle: &corev1.Lifecycle{}}}
		})),
		created("ports that are out of range, misnamed and listed twice", container(func(c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{
				{ContainerPort: 0},
				{ContainerPort: 8000, Name: "metrics-and-health"},
				{ContainerPort: 8001, Name: "http"},
				{ContainerPort: 8001},
				{ContainerPort: 8002, Name: "http", Protocol: "QUIC"},
				{ContainerPort: 8003, HostPort: 9000},
				{ContainerPort: 8004, HostPort: 9000},
				{ContainerPort: 8005, HostPort: 70000},
			}
		})),
		created("a host port beside hostNetwork", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.HostNetwork = true
			t.Spec.Containers[0].Ports[0].HostPort = 9000
		})),
		created("variables that are misnamed, set twice, and without one source", container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{
				{Name: ""},
				{Name: "A=B"},
				{Name: "HF_HOME", Value: "/a"},
				{Name: "HF_HOME", Value: "/b"},
				{Name: "C", Value: "x", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				{Name: "D", ValueFrom: &corev1.EnvVarSource{}},
			}
			c.EnvFrom = []corev1.EnvFromSource{{}}
		})),
		created("a variable that Gangway sets", container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: names.EnvGroupSize, Value: "4"}}
		})),
		created("probes without handler, with a bad port, and with negative numbers", container(func(c *corev1.Container) {
			c.StartupProbe = &corev1.Probe{PeriodSeconds: -1}
			c.LivenessProbe = &corev1.Probe{SuccessThreshold: 2, ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(0), Scheme: "http"},
			}}
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("not a port")}, GRPC: &corev1.GRPCAction{Port: 70000},
			}}
		})),
		created("resources: an unknown name, a part of a GPU, more than the limit, an overcommitted GPU", container(func(c *corev1.Container) {
			c.Resources = corev1.ResourceRequirements{
				Limits:   quantities("gpu", "1", "example.com/half", "500m", "memory", "8Gi", "nvidia.com/gpu", "2", "cpu", "-1"),
				Requests: quantities("memory", "16Gi", "nvidia.com/gpu", "1", "example.com/unlimited", "1"),
				Claims:   []corev1.ResourceClaim{{Name: "gpu"}},
			}
		})),
		created("volumes and mounts that do not fit", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Volumes = []corev1.Volume{
				{Name: "models"},
				{Name: "models"},
				{Name: ""},
				{Name: "Cache"},
				{Name: "both", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}, HostPath: &corev1.HostPathVolumeSource{}}},
			}
			t.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{
				{Name: "model", MountPath: "/a"},
				{Name: "weights-of-the-other-team", MountPath: "/b"},
				{Name: "models", MountPath: ""},
				{Name: "models", MountPath: "/c:d"},
				{Name: "models", MountPath: "/e"},
				{Name: "models", MountPath: "/e"},
				{Name: "models", MountPath: "/f", SubPath: "../secret"},
				{Name: "models", MountPath: "/g", SubPath: "a", SubPathExpr: "b"},
			}
		})),
		created("reserved and malformed labels and annotations", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Metadata = &workloadv1alpha1.PodMetadata{
				Labels:      map[string]string{names.LabelRole: "x", "app": "my app", "a/b/c": "d"},
				Annotations: map[string]string{names.AnnotationGroupName: "x", "not a key": ""},
			}
		})),
		created("a scheduler, a host name, a restart policy and an ephemeral container of the template's own", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.SchedulerName = "default-scheduler"
			t.Spec.Hostname, t.Spec.Subdomain = "server", "servers"
			t.Spec.RestartPolicy = corev1.RestartPolicyNever
			t.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
		})),
		created("names of objects that cannot exist", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.ServiceAccountName, t.Spec.PriorityClassName, t.Spec.NodeName = "My_Account", "High Priority", "node 1"
			t.Spec.RuntimeClassName = ptr.To("NVIDIA")
		})),
		created("values that Kubernetes does not know", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.DNSPolicy = "Cluster"
			t.Spec.PreemptionPolicy = ptr.To(corev1.PreemptionPolicy("Sometimes"))
			t.Spec.Containers[0].ImagePullPolicy = "Sometimes"
			t.Spec.Containers[0].TerminationMessagePolicy = "Log"
		})),
		created("dnsPolicy None without a name server, and a deadline of zero", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.DNSPolicy = corev1.DNSNone
			t.Spec.ActiveDeadlineSeconds = ptr.To[int64](0)
		})),
		created("security contexts that contradict themselves", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](-1), SupplementalGroups: []int64{1 << 40}}
			t.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
				RunAsGroup: ptr.To[int64](-2), Privileged: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false),
			}
		})),
		created("hooks that do nothing, and restart policies of containers", container(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{
				PostStart: &corev1.LifecycleHandler{},
				PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{}, Sleep: &corev1.SleepAction{Seconds: -1}, HTTPGet: &corev1.HTTPGetAction{
					Port: intstr.FromInt32(80), HTTPHeaders: []corev1.HTTPHeader{{Name: "a b"}},
				}},
			}
			c.RestartPolicyRules = []corev1.ContainerRestartRule{{}, {Action: "Restart", ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: "Is"}}}
			c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "gpu", RestartPolicy: "Maybe"}}
		})),
		created("a container that is never restarted, and a readiness probe with a grace period", container(func(c *corev1.Container) {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
			c.ReadinessProbe = &corev1.Probe{TerminationGracePeriodSeconds: ptr.To[int64](5), ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}
		})),
		created("name servers and host aliases without addresses", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.DNSConfig = &corev1.PodDNSConfig{
				Nameservers: []string{"dns", "10.0.0.1", "10.0.0.2", "10.0.0.3"}, Searches: []string{"a b", "."}, Options: []corev1.PodDNSConfigOption{{}},
			}
			t.Spec.HostAliases = []corev1.HostAlias{{IP: "db", Hostnames: []string{"DB"}}}
		})),
		created("what only the API server computes", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Priority, t.Spec.PreemptionPolicy = ptr.To[int32](1000), ptr.To(corev1.PreemptNever)
			t.Spec.Overhead = quantities("cpu", "1")
			t.Spec.OS = &corev1.PodOS{}
		})),
		created("gates and claims", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "a b"}}
			t.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}, {Name: "gate"}}
			t.Spec.ResourceClaims = []corev1.PodResourceClaim{
				{Name: "gpu"}, {Name: "gpu", ResourceClaimName: ptr.To("")}, {Name: "A", ResourceClaimTemplateName: ptr.To("A")},
			}
			t.Spec.Resources = &corev1.ResourceRequirements{
				Limits: quantities("nvidia.com/gpu", "1"), Claims: []corev1.ResourceClaim{{Name: "gpu"}},
			}
		})),
		created("profiles without files, and files without profiles", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.SecurityContext = &corev1.PodSecurityContext{
				SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost},
				AppArmorProfile:          &corev1.AppArmorProfile{Type: "Strict"},
				SupplementalGroupsPolicy: ptr.To(corev1.SupplementalGroupsPolicy("None")),
			}
			t.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{SeccompProfile: &corev1.SeccompProfile{
				Type: corev1.SeccompProfileTypeRuntimeDefault, LocalhostProfile: ptr.To("a.json"),
			}}
		})),
		created("sources of variables that name nothing", container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{
				{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{}}},
				{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.replicas"}}},
				{Name: "C", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{}}},
			}
			c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}}
		})),
		created("volumes whose source is not filled in", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Volumes = []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
				{Name: "c", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}},
				{Name: "d", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a/../b"}}},
				{Name: "e", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Path: "models"}}},
				{Name: "f", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}},
				{Name: "g", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("-1"))}}},
			}
		})),
	}
}
