package gateway

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// ref is a gatewayRef of either kind.
type ref struct{ namespace, name, section, host string }

// service is an object of either kind with a gatewayRef; its model is called as itself.
type service struct {
	client.Object
	route func(*ref) // sets the gatewayRef, or takes it away
	// status of what was last read.
	status func() (observed int64, conditions []metav1.Condition, address string)
}

// kinds are what every scenario about routes runs for: one piece of code routes both.
var kinds = map[string]func(t *testing.T, namespace, name string, r *ref) *service{
	"ModelServing": modelServing,
	"VLLMService":  vllmService,
}

func eachKind(t *testing.T, scenario func(t *testing.T, build func(t *testing.T, namespace, name string, r *ref) *service)) {
	t.Helper()
	for kind, build := range kinds {
		t.Run(kind, func(t *testing.T) { scenario(t, build) })
	}
}

// vllm is a container that runs vLLM, which the bed serves.
func vllm(model string) corev1.Container {
	return corev1.Container{
		Name:  "vllm",
		Image: "registry.example.com/vllm-openai:v1",
		Args:  []string{"--model", "/data/models/" + model, "--served-model-name", model, "--port", "8000"},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8000}},
	}
}

// modelServing is one of two roles; only entry Pods of the first get traffic, and only those
// serve the model.
func modelServing(_ *testing.T, namespace, name string, r *ref) *service {
	idle := corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "registry.example.com/worker:v1"}}}
	ms := &workloadv1alpha1.ModelServing{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: workloadv1alpha1.ModelServingSpec{
			Replicas: ptr.To[int32](1),
			Template: workloadv1alpha1.ServingGroup{Roles: []workloadv1alpha1.Role{
				{
					Name:           "front",
					Replicas:       ptr.To[int32](1),
					EntryTemplate:  workloadv1alpha1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{vllm(name)}}},
					WorkerReplicas: 1,
					WorkerTemplate: &workloadv1alpha1.PodTemplateSpec{Spec: idle},
				},
				{
					Name:          "back",
					Replicas:      ptr.To[int32](1),
					EntryTemplate: workloadv1alpha1.PodTemplateSpec{Spec: idle},
				},
			}},
		},
	}
	s := &service{
		Object: ms,
		route: func(r *ref) {
			ms.Spec.GatewayRef = nil
			if r != nil {
				ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Namespace: r.namespace, Name: r.name, SectionName: r.section, Host: r.host}
			}
		},
		status: func() (int64, []metav1.Condition, string) {
			return ms.Status.ObservedGeneration, ms.Status.Conditions, ms.Status.Address
		},
	}
	s.route(r)
	return s
}

// vllmService comes with a volume of its own.
func vllmService(t *testing.T, namespace, name string, r *ref) *service {
	t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data/models"}},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      volume.Spec.AccessModes,
			StorageClassName: ptr.To(""),
			VolumeName:       volume.Name,
			Resources:        corev1.VolumeResourceRequirements{Requests: volume.Spec.Capacity},
		},
	}
	create(t, volume, claim)
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(k8s.Delete(context.Background(), volume)); err != nil {
			t.Errorf("delete PersistentVolume %q: %v", volume.Name, err)
		}
	})
	v := &aiinfrav1alpha1.VLLMService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: aiinfrav1alpha1.VLLMServiceSpec{
			Image:     "registry.example.com/vllm-openai:v1",
			ModelPath: "/data/models/" + name,
			ModelName: name,
			Storage:   aiinfrav1alpha1.Storage{PVCName: claim.Name, MountPath: "/data/models"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
		},
	}
	s := &service{
		Object: v,
		route: func(r *ref) {
			v.Spec.GatewayRef = nil
			if r != nil {
				v.Spec.GatewayRef = &aiinfrav1alpha1.GatewayReference{Namespace: r.namespace, Name: r.name, SectionName: r.section, Host: r.host}
			}
		},
		status: func() (int64, []metav1.Condition, string) {
			return v.Status.ObservedGeneration, v.Status.Conditions, v.Status.Address
		},
	}
	s.route(r)
	return s
}

// reroute changes the gatewayRef of a service that exists.
func (s *service) reroute(t *testing.T, r *ref) {
	t.Helper()
	edit(t, s.Object, func(client.Object) { s.route(r) })
}

// condition says what is missing until the condition has that status and, unless it is "", reason.
func (s *service) condition(ctx context.Context, kind string, status metav1.ConditionStatus, reason string) string {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(s), s.Object); err != nil {
		return err.Error()
	}
	observed, conditions, _ := s.status()
	if observed != s.GetGeneration() {
		return fmt.Sprintf("status of generation %d, want %d", observed, s.GetGeneration())
	}
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return "no condition " + kind
	}
	if c.Status != status || (reason != "" && c.Reason != reason) {
		return fmt.Sprintf("%s is %s (%s: %s), want %s %s", kind, c.Status, c.Reason, c.Message, status, reason)
	}
	return ""
}

// waitReady waits until the Gateway has accepted the route and the Pods run, and gives the address.
func (s *service) waitReady(t *testing.T) string {
	t.Helper()
	for _, kind := range []string{workloadv1alpha1.ConditionRouteReady, workloadv1alpha1.ConditionReady} {
		eventually(t, func(ctx context.Context) string { return s.condition(ctx, kind, metav1.ConditionTrue, "") })
	}
	_, _, address := s.status()
	return address
}

// waitRefused waits until RouteReady is False for a reason, and no address is promised.
func (s *service) waitRefused(t *testing.T, reason string) {
	t.Helper()
	eventually(t, func(ctx context.Context) string {
		return s.condition(ctx, workloadv1alpha1.ConditionRouteReady, metav1.ConditionFalse, reason)
	})
	if _, _, address := s.status(); address != "" {
		t.Errorf("RouteReady is False, and yet the address is %q", address)
	}
}

// waitRoute waits until the HTTPRoute is there, or is not.
func (s *service) waitRoute(t *testing.T, there bool) {
	t.Helper()
	eventually(t, func(ctx context.Context) string {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(s), &gatewayv1.HTTPRoute{})
		if client.IgnoreNotFound(err) != nil {
			return err.Error()
		}
		if (err == nil) != there {
			return fmt.Sprintf("the HTTPRoute exists: %v, want %v", err == nil, there)
		}
		return ""
	})
}
