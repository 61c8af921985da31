package validating_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

func schedulingMessages() []messageCase {
	return []messageCase{
		created("a nodeSelector with spaces", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.NodeSelector = map[string]string{"gpu type": "a100", "zone": "a b"}
		})),
		created("tolerations that tolerate nothing", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Tolerations = []corev1.Toleration{
				{Operator: corev1.TolerationOpExists, Value: "true"},
				{Operator: corev1.TolerationOpEqual},
				{Key: "a b", Operator: "Like", Effect: "Evict"},
				{Key: "gpu", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](5)},
			}
		})),
		created("affinities with bad terms", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Affinity = &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
						{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "Is", Values: []string{"a"}}}},
					}},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 0}},
				},
				PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}},
				},
				PodAntiAffinity: &corev1.PodAntiAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
						Weight: 101, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "a key", LabelSelector: &metav1.LabelSelector{
							MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}},
						}},
					}},
				},
			}
		})),
		created("an affinity to namespaces and labels that cannot be", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: "zone", Namespaces: []string{"A"}, MatchLabelKeys: []string{"a b"},
				}},
			}}
		})),
		created("a required node affinity without terms", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{},
			}}
		})),
		created("spread constraints that constrain nothing", template(func(t *workloadv1alpha1.PodTemplateSpec) {
			t.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{}, {MaxSkew: 1, TopologyKey: "a key", WhenUnsatisfiable: corev1.DoNotSchedule},
			}
		})),
	}
}
