package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

const metricsAPI = "/apis/metrics.k8s.io/v1beta1"

// podMetrics answers for a metrics server: a single Pod of those that are selected uses three times
// what it should, several use just what they should.
func podMetrics(w http.ResponseWriter, r *http.Request) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var list corev1.PodList
	if err := k8s.List(r.Context(), &list, client.InNamespace(r.PathValue("namespace")), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	usage := "100Mi"
	if len(list.Items) == 1 {
		usage = "300Mi"
	}
	items := []any{}
	for _, p := range list.Items {
		items = append(items, map[string]any{
			"metadata":  map[string]any{"name": p.Name, "namespace": p.Namespace},
			"timestamp": time.Now().UTC().Format(time.RFC3339), "window": "1s",
			"containers": []any{map[string]any{"name": p.Spec.Containers[0].Name, "usage": map[string]any{"cpu": "1", "memory": usage}}},
		})
	}
	answer(w, map[string]any{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": items})
}

func answer(w http.ResponseWriter, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// metricsServer has the API server ask this process for the metrics of Pods.
func metricsServer(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsAPI, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1", "resources": []any{
			map[string]any{"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics", "verbs": []any{"get", "list"}},
		}})
	})
	mux.HandleFunc("GET "+metricsAPI+"/namespaces/{namespace}/pods", podMetrics)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics", Namespace: namespace(t)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	registration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": service.Namespace, "name": service.Name, "port": port},
		},
	}}
	create(t, service, registration)
	t.Cleanup(func() {
		// Namespaces cannot be deleted while a registered API does not answer.
		if err := k8s.Delete(context.Background(), registration); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	eventually(t, timeout, func(context.Context) string {
		out, err := kubectlErr(t, "get", "--raw", metricsAPI+"/namespaces/default/pods")
		if err != nil {
			return out
		}
		return ""
	})
}

// Kubernetes' own autoscaler counts groups: it reads the selector, finds one Pod of each group, and
// writes the number of groups through the webhook.
func TestAnAutoscalerCountsGroups(t *testing.T) {
	t.Parallel()
	metricsServer(t)
	ms := single(t, 1, 1)
	create(t, ms)
	waitReady(t, ms)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: ms.Name, Namespace: ms.Namespace},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: workloadv1alpha1.GroupVersion.String(), Kind: workloadv1alpha1.ModelServingKind, Name: ms.Name,
			},
			MinReplicas: ptr.To[int32](1), MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceMemory,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("100Mi"))},
			}}},
		},
	}
	create(t, autoscaler)
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(ms), ms); err != nil {
			return err.Error()
		}
		if n := ptr.Deref(ms.Spec.Replicas, 1); n != 3 {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(autoscaler), autoscaler); err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%d groups are asked for, want 3; the autoscaler says %+v", n, autoscaler.Status.Conditions)
		}
		return ""
	})
	waitRest(t, ms)
	eventually(t, timeout, func(ctx context.Context) string {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(autoscaler), autoscaler); err != nil {
			return err.Error()
		}
		if s := autoscaler.Status; s.CurrentReplicas != 3 || s.DesiredReplicas != 3 {
			return fmt.Sprintf("the autoscaler counts %d groups and wants %d, want 3 and 3", s.CurrentReplicas, s.DesiredReplicas)
		}
		return ""
	})
}
