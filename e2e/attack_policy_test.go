package e2e

import (
	"context"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// A policy of the cluster that relabels what Gangway makes takes it out of Gangway's sight. That is
// told, and holds up nothing else of the ModelServing.
func TestAttackAPolicyThatRelabels(t *testing.T) {
	ms := single(t, 2, 1)
	relabel(t, ms.Namespace, "services", names.LabelManagedBy, "platform-team")
	create(t, ms)
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonNameConflict)
	mustSay(t, kubectl(t, "-n", ms.Namespace, "get", "modelserving", ms.Name),
		`Service "single-`, names.LabelManagedBy, `"platform-team" instead of "gangway"`)

	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](1) })
	eventually(t, timeout, func(ctx context.Context) string {
		list, err := pods(ctx, ms, nil)
		if err != nil || len(list) != 2 {
			return fmt.Sprintf("%d Pods, want 2 (%v)", len(list), err)
		}
		return ""
	})
	for _, s := range objects(t, listed(t, &corev1.ServiceList{}, ms.Namespace)) {
		patch := client.MergeFrom(s.DeepCopyObject().(client.Object))
		s.SetLabels(map[string]string{
			names.LabelModelServing: ms.Name, names.LabelManagedBy: names.ManagedByGangway,
		})
		if err := k8s.Patch(t.Context(), s, patch); err != nil {
			t.Fatal(err)
		}
	}
	waitRest(t, ms)
}

func listed(t *testing.T, list client.ObjectList, namespace string) client.ObjectList {
	t.Helper()
	if err := k8s.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return list
}

// relabel has a policy set a label on whatever of a resource of the core group is created in a
// namespace, and waits until it does.
func relabel(t *testing.T, namespace, resource, key, value string) {
	t.Helper()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource},
						},
					},
				}},
			},
			ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: fmt.Sprintf(`Object{metadata: Object.metadata{labels: {%q: %q}}}`, key, value),
				},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	create(t, policy, binding)
	t.Cleanup(func() {
		for _, o := range []client.Object{binding, policy} {
			if err := k8s.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
	})
	eventually(t, timeout, func(ctx context.Context) string {
		probe := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		if err := k8s.Create(ctx, probe, client.DryRunAll); err != nil {
			return err.Error()
		}
		if probe.Labels[key] != value {
			return "the policy is not in force yet"
		}
		return ""
	})
}
