package controllers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

func TestVLLMServiceBecomesReady(t *testing.T) {
	r := newRig(t)
	r.bound()
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(r.gateway("llm"), v)
	r.condition(v, "Ready", metav1.ConditionFalse, "ReplicasNotReady", "0 of 1 replicas are Ready")
	r.rolledOut(deploymentOf(v))
	r.condition(v, "Ready", metav1.ConditionFalse, "WaitingForGatewayController")
	r.accept(v)
	r.condition(v, "Ready", metav1.ConditionTrue, "Ready")
	r.condition(v, "Available", metav1.ConditionTrue, "ReplicasReady")
	r.condition(v, "DeploymentReady", metav1.ConditionTrue, "RolledOut")
	r.condition(v, "StorageReady", metav1.ConditionTrue, "PVCBound")

	want := aiinfrav1alpha1.VLLMServiceStatus{
		ObservedGeneration: v.Generation, Phase: "Running", Message: "1 of 1 replicas are Ready",
		Replicas: 1, ReadyReplicas: 1, LabelSelector: "gangway.dev/vllmservice=qwen",
		DeploymentName: "qwen", ServiceName: "qwen", HTTPRouteName: "qwen",
		GatewayRefName: "llm", GatewayRefNamespace: r.infra, Address: "http://qwen.example.com",
		Conditions: v.Status.Conditions,
	}
	if diff := cmp.Diff(want, v.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	r.quiet(v)
}

// Every spec of the planner's golden files is taken by the API server, and a second pass over what
// it made of the objects writes nothing: the defaults are written out in full.
func TestSecondPassWritesNothingForEverySpec(t *testing.T) {
	inputs, err := filepath.Glob("../plan/vllm/testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	r := newRig(t)
	for _, in := range inputs {
		name := strings.TrimSuffix(filepath.Base(in), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			r := *r
			r.TB = t
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			v := &aiinfrav1alpha1.VLLMService{}
			if err := yaml.UnmarshalStrict(data, v); err != nil {
				t.Fatal(err)
			}
			v.ObjectMeta = metav1.ObjectMeta{Name: name}
			if v.Spec.GatewayRef != nil {
				v.Spec.GatewayRef.Namespace = r.infra
				gateway := r.gateway(v.Spec.GatewayRef.Name)
				r.create(gateway)
			}
			r.create(v)
			r.settled(v)
			r.rolledOut(deploymentOf(v))
			if v.Spec.GatewayRef != nil {
				r.accept(v)
			}
			r.condition(v, "DeploymentReady", metav1.ConditionTrue, "RolledOut")
			r.quiet(v)
		})
	}
}

func TestRolloutRestartSurvives(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen")
	r.create(v)
	d := deploymentOf(v)
	r.appears(d)
	// As kubectl rollout restart does.
	patch := `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-02T03:04:05Z"}}}}}`
	if err := r.client.Patch(background, d, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	r.rolledOut(d)
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.EngineArgs.MaxNumSeqs = 16 })
	r.until("the new argument arrives", func() error {
		r.appears(d)
		if !strings.Contains(strings.Join(d.Spec.Template.Spec.Containers[0].Args, " "), "--max-num-seqs 16") {
			return fmt.Errorf("args are %q", d.Spec.Template.Spec.Containers[0].Args)
		}
		return nil
	})
	if got := d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]; got != "2026-01-02T03:04:05Z" {
		t.Errorf("the restart was undone: %q", got)
	}
	r.quiet(v)
}

func TestScaleSubresourceScales(t *testing.T) {
	r := newRig(t)
	r.bound()
	v := vllmService("qwen")
	r.create(v)
	r.rolledOut(deploymentOf(v))
	r.condition(v, "Available", metav1.ConditionTrue, "ReplicasReady")

	// As an HPA does: read the scale for its selector, then write the replicas.
	scale := &autoscalingv1.Scale{}
	if err := r.client.SubResource("scale").Get(background, v, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Status.Replicas != 1 || scale.Status.Selector != "gangway.dev/vllmservice=qwen" {
		t.Errorf("the scale is %+v", scale.Status)
	}
	scale.Spec.Replicas = 3
	if err := r.client.SubResource("scale").Update(background, v, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	d := deploymentOf(v)
	r.until("the Deployment follows", func() error {
		r.appears(d)
		if *d.Spec.Replicas != 3 {
			return fmt.Errorf("it wants %d", *d.Spec.Replicas)
		}
		return nil
	})
	r.condition(v, "Available", metav1.ConditionFalse, "ReplicasNotReady", "1 of 3")
	r.rolledOut(d)
	r.condition(v, "Ready", metav1.ConditionTrue, "Ready", "3 of 3")
	r.quiet(v)

	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Replicas = ptr.To[int32](0) })
	r.until("the Deployment follows to zero", func() error {
		r.appears(d)
		if *d.Spec.Replicas != 0 {
			return fmt.Errorf("it wants %d", *d.Spec.Replicas)
		}
		return nil
	})
	r.rolledOut(d)
	r.condition(v, "Ready", metav1.ConditionTrue, "Ready", "no replica is wanted")
}

func TestHandMadeChangesOfTheDeploymentAreUndone(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen")
	r.create(v)
	d := deploymentOf(v)
	r.appears(d)
	want := d.Spec.DeepCopy()
	change(r, d, func(d *appsv1.Deployment) {
		d.Spec.Replicas = ptr.To[int32](7)
		d.Spec.Template.Spec.Containers[0].Image = "example.com/other:1"
		d.Spec.Template.Spec.NodeSelector = map[string]string{"by": "hand"}
		d.Labels["team"] = "mine"
	})
	r.until("the Deployment is as before", func() error {
		r.appears(d)
		if diff := cmp.Diff(*want, d.Spec); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	if d.Labels["team"] != "mine" {
		t.Error("a label of somebody else was taken away")
	}
	r.remove(d)
	r.appears(d)
	r.quiet(v)
}

func TestLabelsComeAndGo(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen", func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Labels = map[string]string{"a": "1", "b": "1"} })
	r.create(v)
	d, s := deploymentOf(v), serviceOf(v)
	r.appears(d)
	r.appears(s)
	for _, obj := range []client.Object{d, s} {
		if obj.GetLabels()["a"] != "1" || obj.GetLabels()["b"] != "1" {
			t.Errorf("%T has labels %v", obj, obj.GetLabels())
		}
	}
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.Labels = map[string]string{"b": "2"} })
	r.until("label a goes, and b changes", func() error {
		r.appears(d)
		r.appears(s)
		for _, labels := range []map[string]string{d.Labels, s.Labels, d.Spec.Template.Labels} {
			if _, ok := labels["a"]; ok || labels["b"] != "2" {
				return fmt.Errorf("labels are %v", labels)
			}
		}
		return nil
	})
	r.quiet(v)
}

func TestPersistentVolumeClaimIsWatched(t *testing.T) {
	r := newRig(t)
	v := vllmService("qwen")
	r.create(v)
	r.condition(v, "StorageReady", metav1.ConditionFalse, "PVCNotFound", `"models"`)
	r.condition(v, "Ready", metav1.ConditionFalse, "PVCNotFound")
	pvc := claim()
	r.create(pvc)
	r.condition(v, "StorageReady", metav1.ConditionFalse, "PVCNotBound", "Pending")
	changeStatus(r, pvc, func(pvc *corev1.PersistentVolumeClaim) { pvc.Status.Phase = corev1.ClaimBound })
	r.condition(v, "StorageReady", metav1.ConditionTrue, "PVCBound")
	changeStatus(r, pvc, func(pvc *corev1.PersistentVolumeClaim) { pvc.Status.Phase = corev1.ClaimLost })
	r.condition(v, "StorageReady", metav1.ConditionFalse, "PVCLost")
	if v.Status.Phase != aiinfrav1alpha1.PhaseFailed {
		t.Errorf("the phase is %q", v.Status.Phase)
	}
}

func TestWhatThePodsLackIsToldInTheKubeletsWords(t *testing.T) {
	r := newRig(t)
	r.bound()
	v := vllmService("qwen")
	r.create(v)
	r.appears(deploymentOf(v))
	template := deploymentOf(v)
	r.appears(template)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "qwen-abc", Labels: template.Spec.Template.Labels},
		Spec:       template.Spec.Template.Spec,
	}
	r.create(pod)
	r.condition(v, "Ready", metav1.ConditionFalse, "ReplicasNotReady", `0 of 1 replicas are Ready; Pod "qwen-abc"`)
	changeStatus(r, pod, func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "vllm", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: "not found",
			}},
		}}
	})
	r.condition(v, "Ready", metav1.ConditionFalse, "ImagePullFailed", `container "vllm"`, "not found")
	r.condition(v, "Available", metav1.ConditionFalse, "ImagePullFailed")
	r.remove(pod, client.GracePeriodSeconds(0))
	r.condition(v, "Ready", metav1.ConditionFalse, "ReplicasNotReady")
}

func TestForeignDeploymentAndServiceAreNeverTouched(t *testing.T) {
	r := newRig(t)
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "qwen"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1"}}},
			},
		},
	}
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "qwen"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	r.create(d, s, r.gateway("llm"))
	v := vllmService("qwen", r.routedTo("llm", "qwen.example.com"))
	r.create(v)
	r.condition(v, "DeploymentReady", metav1.ConditionFalse, "NameConflict", `Deployment "qwen"`)
	r.condition(v, "RouteReady", metav1.ConditionFalse, "NameConflict", `Service "qwen"`)
	r.condition(v, "Ready", metav1.ConditionFalse, "NameConflict")
	if v.Status.Phase != aiinfrav1alpha1.PhaseFailed || v.Status.DeploymentName != "" || v.Status.ServiceName != "" {
		t.Errorf("the status is %+v", v.Status)
	}
	if r.exists(routeOf(v)) {
		t.Error("an HTTPRoute of ours leads to somebody else's Service")
	}
	for _, before := range []client.Object{d, s} {
		now := before.DeepCopyObject().(client.Object)
		r.appears(now)
		if diff := cmp.Diff(before.GetResourceVersion(), now.GetResourceVersion()); diff != "" {
			t.Errorf("%T was touched", before)
		}
	}
}

// Without the webhook such a name comes through; control says what the API server says. (From
// Kubernetes 1.37 on a Service name may begin with a digit; a dot it may never have.)
func TestNameThatCannotBeAServiceName(t *testing.T) {
	r := newRig(t)
	r.bound()
	v := vllmService("qwen.v2")
	r.create(v)
	r.condition(v, "Ready", metav1.ConditionFalse, "CreateFailed", "metadata.name", "must not contain dots")
	if v.Status.Phase != aiinfrav1alpha1.PhaseFailed || v.Status.ServiceName != "" {
		t.Errorf("the status is %+v", v.Status)
	}
}

func TestNothingIsRecreatedDuringForegroundDeletion(t *testing.T) {
	r := newRig(t)
	v, barrier := vllmService("qwen", r.routedTo("llm", "qwen.example.com")), vllmService("barrier")
	r.create(r.gateway("llm"), v)
	r.appears(routeOf(v))
	r.settled(v)
	r.remove(v, client.PropagationPolicy(metav1.DeletePropagationForeground))
	r.until("the deletion has begun", func() error {
		r.conditionsOf(v)
		if v.DeletionTimestamp == nil {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	before := len(r.net.writes())
	// As the garbage collector does, children first.
	for _, obj := range []client.Object{deploymentOf(v), serviceOf(v), routeOf(v)} {
		r.remove(obj)
		r.vanishes(obj)
	}
	change(r, v, func(v *aiinfrav1alpha1.VLLMService) { v.Spec.EngineArgs.MaxNumSeqs = 9 })
	// What comes later has been worked on: the events above came before it.
	r.create(barrier)
	r.settled(barrier)
	for _, w := range r.net.writes()[before:] {
		if strings.Contains(w, "/qwen") || !strings.Contains(w, "barrier") && !strings.HasPrefix(w, "POST") {
			t.Errorf("during the deletion: %s", w)
		}
	}
	for _, obj := range []client.Object{deploymentOf(v), serviceOf(v), routeOf(v)} {
		if r.exists(obj) {
			t.Errorf("%T was recreated", obj)
		}
	}
}

func TestQuotaIsToldInTheServersWords(t *testing.T) {
	r := newRig(t)
	r.bound()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": *zero}},
	}
	r.create(quota)
	changeStatus(r, quota, func(q *corev1.ResourceQuota) {
		q.Status.Hard = q.Spec.Hard
		q.Status.Used = corev1.ResourceList{"count/deployments.apps": *zero}
	})
	v := vllmService("qwen")
	r.create(v)
	r.condition(v, "DeploymentReady", metav1.ConditionFalse, "CreateFailed", "exceeded quota")
	r.condition(v, "Ready", metav1.ConditionFalse, "CreateFailed", "exceeded quota")
	r.remove(quota)
	r.appears(deploymentOf(v))
	r.condition(v, "DeploymentReady", metav1.ConditionFalse, "DeploymentProgressing")
}
