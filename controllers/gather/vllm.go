package gather

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/vllm"
)

// VLLMServices gathers Snapshots of VLLMServices.
type VLLMServices struct {
	// Cache, Live: as of Routes.
	Cache, Live client.Reader
	// Pods is a cache of the Pods of VLLMServices.
	Pods client.Reader
	// Monitors says whether ServiceMonitors are served.
	Monitors func(context.Context) (bool, error)
	// Routes gathers the route and the Service.
	Routes *Routes
}

// Snapshot gathers what is known of v.
func (g *VLLMServices) Snapshot(ctx context.Context, v *aiinfrav1alpha1.VLLMService) (vllm.Snapshot, error) {
	s := vllm.Snapshot{VLLMService: v}
	fail := func(err error) (vllm.Snapshot, error) {
		return s, fmt.Errorf("gather the objects of VLLMService %q: %w", v.Name, err)
	}
	var err error
	if s.Route, err = g.Routes.ForVLLMService(ctx, v); err != nil {
		return s, err
	}
	key := client.ObjectKey{Namespace: v.Namespace, Name: names.Deployment(v.Name)}
	if s.Deployment, err = observed(ctx, g.Cache, g.Live, key, &appsv1.Deployment{}); err != nil {
		return fail(err)
	}
	key.Name = v.Spec.Storage.PVCName
	if s.PVC, err = observed(ctx, g.Cache, nil, key, &corev1.PersistentVolumeClaim{}); err != nil {
		return fail(err)
	}
	var pods corev1.PodList
	err = g.Pods.List(ctx, &pods, client.InNamespace(v.Namespace),
		client.MatchingLabels{names.LabelVLLMService: v.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fail(err)
	}
	s.Pods = pointers(pods.Items)
	if s.Monitors, err = g.Monitors(ctx); err != nil {
		return fail(err)
	}
	if !s.Monitors {
		return s, nil
	}
	wanted := g.Live
	if v.Spec.Monitoring == nil || !v.Spec.Monitoring.Enabled {
		wanted = nil
	}
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(vllm.ServiceMonitorKind())
	key.Name = names.ServiceMonitor(v.Name)
	if s.ServiceMonitor, err = observed(ctx, g.Cache, wanted, key, monitor); err != nil {
		return fail(err)
	}
	return s, nil
}
