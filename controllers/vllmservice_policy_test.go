package controllers_test

import (
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

// prioritizing is a policy of the cluster by which the Pods of every Deployment of the team have a
// PriorityClass, whatever its owner writes.
func (r *rig) prioritizing(class string) {
	r.Helper()
	match := &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: r.team}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}}},
	}
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "prioritize-" + r.team},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: match, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: fmt.Sprintf(
					`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{priorityClassName: %q}}}}`, class)},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	for _, obj := range []client.Object{policy, binding} {
		if err := r.client.Create(background, obj); err != nil {
			r.Fatalf("create %T: %v", obj, err)
		}
		r.Cleanup(func() { r.remove(obj) })
	}
	r.until("the policy is in force", func() error {
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.team, Name: "probe"},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}},
				},
			},
		}
		if err := r.client.Create(background, d, client.DryRunAll); err != nil {
			return err
		}
		if d.Spec.Template.Spec.PriorityClassName != class {
			return fmt.Errorf("the Deployment has PriorityClass %q", d.Spec.Template.Spec.PriorityClassName)
		}
		return nil
	})
}

// A cluster may have a policy that changes what we write. The model is Ready all the same, and its own
// changes arrive.
func TestPolicyOfTheClusterThatChangesTheDeployment(t *testing.T) {
	r := newRig(t)
	r.prioritizing("policy")
	r.bound()
	v := vllmService("qwen")
	r.create(v)
	d := deploymentOf(v)
	r.rolledOut(d)
	r.condition(v, "Ready", metav1.ConditionTrue, "Ready")
	if got := d.Spec.Template.Spec.PriorityClassName; got != "policy" {
		t.Errorf("the policy was undone: PriorityClass %q", got)
	}

	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Replicas = ptr.To[int32](2) })
	r.until("the Deployment follows", func() error {
		r.appears(d)
		if *d.Spec.Replicas != 2 {
			return fmt.Errorf("it wants %d", *d.Spec.Replicas)
		}
		return nil
	})
	r.rolledOut(d)
	r.condition(v, "Ready", metav1.ConditionTrue, "Ready", "2 of 2")
	version := d.ResourceVersion
	r.pass(func() {
		change(r, serviceOf(v), func(s *corev1.Service) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, "test.example/poke", fmt.Sprint(time.Now().UnixNano()))
		})
	})
	r.appears(d)
	if d.ResourceVersion != version {
		t.Error("two writers undo each other for ever")
	}
}
