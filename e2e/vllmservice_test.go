package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

func vllmCondition(ctx context.Context, v *aiinfrav1alpha1.VLLMService, kind string, status metav1.ConditionStatus, reason string) string {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(v), v); err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(v.Status.Conditions, kind)
	if c == nil {
		return "no condition " + kind
	}
	if c.Status != status || (reason != "" && c.Reason != reason) {
		return fmt.Sprintf("%s is %s (%s: %s), want %s %s", kind, c.Status, c.Reason, c.Message, status, reason)
	}
	return ""
}

func TestVLLMServiceFromManifestToRoute(t *testing.T) {
	v := &aiinfrav1alpha1.VLLMService{}
	readManifest(t, "config/samples/vllmservice.yaml", v)
	ns := namespace(t)
	v.Namespace, v.Spec.GatewayRef.Namespace = ns, ns
	create(t, v)
	key := client.ObjectKey{Namespace: ns, Name: v.Name}

	eventually(t, timeout, func(ctx context.Context) string {
		if missing := vllmCondition(ctx, v, aiinfrav1alpha1.ConditionStorageReady, metav1.ConditionFalse, ""); missing != "" {
			return missing
		}
		return vllmCondition(ctx, v, aiinfrav1alpha1.ConditionRouteReady, metav1.ConditionFalse, "GatewayNotFound")
	})
	var route gatewayv1.HTTPRoute
	if err := k8s.Get(t.Context(), key, &route); !apierrors.IsNotFound(err) {
		t.Fatalf("an HTTPRoute before its Gateway: %v", err)
	}

	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v.Spec.Storage.PVCName},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: ptr.To(""),
			VolumeName:       "models-" + ns,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "models-" + ns},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            claim.Spec.AccessModes,
			Capacity:               claim.Spec.Resources.Requests,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data/models"}},
		},
	}
	gateway := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v.Spec.GatewayRef.Name},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "demo",
			Listeners:        []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}},
		},
	}
	create(t, volume, claim, gateway)
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), volume) })

	eventually(t, timeout, func(ctx context.Context) string {
		for _, kind := range []string{aiinfrav1alpha1.ConditionStorageReady, aiinfrav1alpha1.ConditionDeploymentReady, aiinfrav1alpha1.ConditionAvailable} {
			if missing := vllmCondition(ctx, v, kind, metav1.ConditionTrue, ""); missing != "" {
				return missing
			}
		}
		return vllmCondition(ctx, v, aiinfrav1alpha1.ConditionRouteReady, metav1.ConditionFalse, "WaitingForGatewayController")
	})
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &route} {
		if err := k8s.Get(t.Context(), key, o); err != nil {
			t.Fatal(err)
		}
		if !metav1.IsControlledBy(o, v) {
			t.Errorf("%T %q is not owned by the VLLMService", o, o.GetName())
		}
	}

	// What a Gateway controller writes once it carries the route.
	route.Status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef:      route.Spec.ParentRefs[0],
		ControllerName: "example.com/gateway-controller",
		Conditions: []metav1.Condition{
			{Type: string(gatewayv1.RouteConditionAccepted), Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: route.Generation, LastTransitionTime: metav1.Now()},
			{Type: string(gatewayv1.RouteConditionResolvedRefs), Status: metav1.ConditionTrue, Reason: "ResolvedRefs", ObservedGeneration: route.Generation, LastTransitionTime: metav1.Now()},
		},
	}}
	if err := k8s.Status().Update(t.Context(), &route); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, func(ctx context.Context) string {
		return vllmCondition(ctx, v, aiinfrav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	if v.Status.Address != "http://llm.example.local" || v.Status.Phase != aiinfrav1alpha1.PhaseRunning {
		t.Errorf("address %q and phase %q, want http://llm.example.local and Running", v.Status.Address, v.Status.Phase)
	}

	if err := k8s.Delete(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	waitGone(t, ns, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &gatewayv1.HTTPRouteList{}, &corev1.PodList{})
}
