package validating_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// TestModelServingAccepted holds what must pass without a word.
func TestModelServingAccepted(t *testing.T) {
	wide := gateway(DefaultNamespace, listener("http", gatewayv1.HTTPProtocolType, "*.example.com"))
	selecting := listener("http", gatewayv1.HTTPSProtocolType, "")
	selecting.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{
		From:     ptr.To(gatewayv1.NamespacesFromSelector),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "llm"}},
	}}
	labelled := behind(gateway("infra", selecting))
	labelled.NamespaceLabels = map[string]string{"team": "llm"}
	hidden := installed
	hidden.GatewayHidden = true

	for _, tc := range []struct {
		name string
		ms   *workloadv1alpha1.ModelServing
		s    validating.Surroundings
	}{
		{"two roles, of which one has workers", quiet("sample").Obj(), installed},
		{"no replicas with any percentages", quiet("sample").Replicas(0).MaxUnavailable("25%").MaxSurge("20%").Partition("50%").Obj(), installed},
		{"20% of 3", quiet("sample").Replicas(3).MaxUnavailable("20%").Obj(), installed},
		{"no replicas of a role under RoleRollingUpdate", quiet("sample").Rollout(workloadv1alpha1.RoleRollingUpdate).
			Role(MakeRole("decode").Replicas(0).Obj()).Obj(), installed},
		{
			"the schema's default of maxUnavailable under RoleRollingUpdate",
			quiet("sample").Rollout(workloadv1alpha1.RoleRollingUpdate).MaxUnavailable("1").Obj(), installed,
		},
		{"roles' configuration under RoleRollingUpdate", quiet("sample").Rollout(workloadv1alpha1.RoleRollingUpdate).
			Role(MakeRole("decode").Replicas(2).MaxUnavailable("50%").Partition("7").Obj()).Obj(), installed},
		{"a partition above replicas", quiet("sample").Partition("9").Obj(), installed},
		{"a partition of all", quiet("sample").Partition("100%").Obj(), installed},
		{"maxUnavailable 0 with a surge", quiet("sample").MaxUnavailable("0").MaxSurge("1").Obj(), installed},
		{"maxUnavailable 0 with a surge in percent", quiet("sample").Replicas(0).MaxUnavailable("0").MaxSurge("10%").Obj(), installed},
		{"maxUnavailable 0%, which is never below 1", quiet("sample").MaxUnavailable("0%").Obj(), installed},
		{"fewer replicas than maxUnavailable", quiet("sample").Replicas(2).MaxUnavailable("5").Obj(), installed},
		{"a surge above 100%", quiet("sample").MaxSurge("200%").Obj(), installed},
		{"a single replica with a surge", quiet("sample").Replicas(1).MaxSurge("1").Obj(), installed},
		{"a single replica that a partition holds back", quiet("sample").Replicas(1).Partition("1").Obj(), installed},
		{"a gang of all replicas", quiet("sample").MinRoleReplicas("prefill", 2).MinRoleReplicas("decode", 2).Obj(), installed},
		{
			"another scheduler without Volcano", quiet("sample").SchedulerName("default-scheduler").Obj(),
			validating.Surroundings{Volcano: validating.Absent},
		},
		{"the spec's scheduler in a template", template(func(t *workloadv1alpha1.PodTemplateSpec) { t.Spec.SchedulerName = "volcano" }), installed},
		{"a sidecar with a probe", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.InitContainers = []corev1.Container{{
				Name: "proxy", Image: "a", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}},
			}}
		}), installed},
		{"one port for TCP and UDP", container(func(c *corev1.Container) {
			c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 8000, Protocol: corev1.ProtocolUDP})
		}), installed},
		{"an image by digest on a registry with a port", container(func(c *corev1.Container) {
			c.Image = "registry.example:5000/team/llm:1@sha256:" + strings.Repeat("0", 64)
		}), installed},
		{"the longest name that fits", quiet(strings.Repeat("a", 49)).Obj(), installed},
		{"a wildcard host on a wildcard listener", routed("*.models.example.com").Obj(), behind(wide)},
		{
			"a host on a listener without hostname", routed("anything.at.all").Obj(),
			behind(gateway(DefaultNamespace, listener("http", gatewayv1.HTTPProtocolType, ""))),
		},
		{
			"an HTTPS listener of another namespace whose selector admits this one",
			inNamespace(routed("llm.example.com"), "infra"), labelled,
		},
		{"allowedRoutes that are unset, in the Gateway's namespace", routed("llm.example.com").Obj(), behind(wide)},
		{
			"a Gateway that the requester may not read, and that is not there",
			inNamespace(routed("llm.example.com"), "infra"), required(hidden),
		},
		{"the default port of a role that lists none", quietPort(8000), behind(wide)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs, warnings := validating.ModelServing(tc.ms, tc.s)
			expectFindings(t, errs, warnings, nil, nil)
		})
	}
}

func quietPort(port int32) *workloadv1alpha1.ModelServing {
	w := quiet("sample").Role(MakeRole("prefill").Replicas(2).Obj()).GatewayRef("llm", "http", "llm.example.com")
	w.Spec.GatewayRef.Port = ptr.To(port)
	return w.Obj()
}

// TestVLLMServiceAccepted holds what must pass without a word.
func TestVLLMServiceAccepted(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*aiinfrav1alpha1.VLLMService)
	}{
		{"the sample", func(*aiinfrav1alpha1.VLLMService) {}},
		{"the model is the mount itself", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.ModelPath = "/data/models/" }},
		{"shares of a GPU up to all of it", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.EngineArgs.GPUMemoryUtilization = "1.0" }},
		{"a share without leading zero", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.EngineArgs.GPUMemoryUtilization = ".85" }},
		{"a flag that repeats a field", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.ExtraArgs = []string{"--dtype=auto", "--max-model-len", "4096"}
		}},
		{"a flag whose field is not set", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.ExtraArgs = []string{"--quantization", "awq"} }},
		{"vGPU resources", func(v *aiinfrav1alpha1.VLLMService) {
			for _, list := range []corev1.ResourceList{v.Spec.Resources.Limits, v.Spec.Resources.Requests} {
				list["volcano.sh/vgpu-number"] = list["nvidia.com/gpu"]
			}
		}},
		{"an interval of mixed units", func(v *aiinfrav1alpha1.VLLMService) {
			v.Spec.Monitoring = &aiinfrav1alpha1.Monitoring{Enabled: true, Path: "/metrics", Interval: "1m30s"}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs, warnings := validating.VLLMService(qwen(tc.change), installed)
			expectFindings(t, errs, warnings, nil, nil)
		})
	}
}

// expectFindings compares whole lists, as "rule field".
func expectFindings(t *testing.T, errs field.ErrorList, warnings []validating.Warning, wantErrs, wantWarnings []string) {
	t.Helper()
	var gotErrs, gotWarnings []string
	for _, err := range errs {
		gotErrs = append(gotErrs, err.Origin+" "+err.Field)
	}
	for _, w := range warnings {
		gotWarnings = append(gotWarnings, w.Rule+" "+w.Field)
	}
	if diff := cmp.Diff(wantErrs, gotErrs); diff != "" {
		t.Errorf("faults (-want +got):\n%s%v", diff, errs)
	}
	if diff := cmp.Diff(wantWarnings, gotWarnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s%v", diff, warnings)
	}
}
