package controllers_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/vllm"
)

func vllmService(name string, mutate ...func(*aiinfrav1alpha1.VLLMService)) *aiinfrav1alpha1.VLLMService {
	v := &aiinfrav1alpha1.VLLMService{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: aiinfrav1alpha1.VLLMServiceSpec{
			Image: "vllm/vllm-openai:v0.11.0", ModelPath: "/models/qwen", ModelName: "qwen",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
			Storage:   aiinfrav1alpha1.Storage{PVCName: "models", MountPath: "/models"},
		},
	}
	for _, m := range mutate {
		m(v)
	}
	return v
}

// routedTo gives a VLLMService a gatewayRef to the listener http of a Gateway.
func (r *rig) routedTo(gateway, host string) func(*aiinfrav1alpha1.VLLMService) {
	return func(v *aiinfrav1alpha1.VLLMService) {
		v.Spec.GatewayRef = &aiinfrav1alpha1.GatewayReference{Name: gateway, Namespace: r.infra, SectionName: "http", Host: host}
	}
}

// gateway makes a Gateway with a listener http on port 80 for all namespaces.
func (r *rig) gateway(name string, mutate ...func(*gatewayv1.Listener)) *gatewayv1.Gateway {
	l := gatewayv1.Listener{
		Name: "http", Protocol: gatewayv1.HTTPProtocolType, Port: 80,
		AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)}},
	}
	for _, m := range mutate {
		m(&l)
	}
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.infra, Name: name},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: "demo", Listeners: []gatewayv1.Listener{l}},
	}
}

func objectMeta(owner client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName()}
}

func deploymentOf(owner client.Object) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: objectMeta(owner)}
}

func serviceOf(owner client.Object) *corev1.Service {
	return &corev1.Service{ObjectMeta: objectMeta(owner)}
}

func routeOf(owner client.Object) *gatewayv1.HTTPRoute {
	return &gatewayv1.HTTPRoute{ObjectMeta: objectMeta(owner)}
}

// bound makes the claim of the models, bound to a volume.
func (r *rig) bound() *corev1.PersistentVolumeClaim {
	r.Helper()
	pvc := claim()
	r.create(pvc)
	changeStatus(r, pvc, func(pvc *corev1.PersistentVolumeClaim) { pvc.Status.Phase = corev1.ClaimBound })
	return pvc
}

func claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "models"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

var zero = resource.NewQuantity(0, resource.DecimalSI)

func monitorOf(owner client.Object) *unstructured.Unstructured {
	m := &unstructured.Unstructured{}
	m.SetGroupVersionKind(vllm.ServiceMonitorKind())
	m.SetNamespace(owner.GetNamespace())
	m.SetName(owner.GetName())
	return m
}
