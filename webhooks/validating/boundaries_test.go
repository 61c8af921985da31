package validating_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// TestBoundaries holds on which side of a limit the limit itself lies: the first value passes, the
// second is refused.
func TestBoundaries(t *testing.T) {
	port := func(n int32) *workloadv1alpha1.ModelServing {
		return container(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: n}} })
	}
	empty := func(replicas int32) *workloadv1alpha1.ModelServing {
		return MakeModelServing("sample").Replicas(replicas).Role(MakeRole("a").Replicas(0).Obj()).Obj()
	}
	gpus := func(each string) *workloadv1alpha1.ModelServing {
		w := MakeModelServing("sample").Replicas(2).Role(MakeRole("a").Replicas(2).Obj())
		w.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			"nvidia.com/gpu": resource.MustParse(each),
		}
		return w.Obj()
	}
	role := func(name string) *workloadv1alpha1.ModelServing {
		return MakeModelServing("sample").Replicas(2).Role(MakeRole(name).Replicas(2).Obj()).Obj()
	}
	for _, tc := range []struct {
		name          string
		passes, fails *workloadv1alpha1.ModelServing
		rule          string
	}{
		{
			"what a gang needs of a role", quiet("sample").MinRoleReplicas("prefill", 2).MinRoleReplicas("decode", 0).Obj(),
			quiet("sample").MinRoleReplicas("prefill", 3).MinRoleReplicas("decode", 0).Obj(),
			"gang-above-replicas spec.template.gangPolicy.minRoleReplicas[prefill]",
		},
		{
			"a gang of nothing of a role", quiet("sample").MinRoleReplicas("prefill", 0).MinRoleReplicas("decode", 1).Obj(),
			quiet("sample").MinRoleReplicas("prefill", -1).MinRoleReplicas("decode", 1).Obj(),
			"gang-negative spec.template.gangPolicy.minRoleReplicas[prefill]",
		},
		{
			"a partition in percent", quiet("sample").Partition("100%").Obj(), quiet("sample").Partition("101%").Obj(),
			"percent-above-100 spec.rolloutStrategy.rollingUpdateConfiguration.partition",
		},
		{
			"all Pods", quiet("sample").Replicas(25_000).Obj(), quiet("sample").Replicas(25_001).Obj(),
			"size spec.replicas",
		},
		{
			"groups without Pods", empty(150_000), empty(150_001), "size spec.replicas",
		},
		{
			"what a group requests", gpus("4611686018427387"), gpus("4611686018427388"), "requests spec.template.roles",
		},
		{
			"the length of names", quiet(strings.Repeat("a", 49)).Obj(), quiet(strings.Repeat("a", 50)).Obj(),
			"name-length metadata.name",
		},
		{
			"the length of a role's name", role(strings.Repeat("a", 12)), role(strings.Repeat("a", 13)),
			"role-name spec.template.roles[0].name",
		},
		{"the lowest port", port(1), port(0), "pod-port spec.template.roles[0].entryTemplate.spec.containers[0].ports[0].containerPort"},
		{"the highest port", port(65535), port(65536), "pod-port spec.template.roles[0].entryTemplate.spec.containers[0].ports[0].containerPort"},
		{
			"the deadline", quiet("sample").ProgressDeadlineSeconds(1).Obj(), quiet("sample").ProgressDeadlineSeconds(0).Obj(),
			"progress-deadline spec.template.progressDeadlineSeconds",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			errs, warnings := validating.ModelServing(tc.passes, installed)
			expectFindings(t, errs, warnings, nil, nil)
			errs, warnings = validating.ModelServing(tc.fails, installed)
			expectFindings(t, errs, warnings, []string{tc.rule}, nil)
		})
	}
}
