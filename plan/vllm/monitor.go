package vllm

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/route"
)

// ServiceMonitorKind is the Prometheus operator's ServiceMonitor.
func ServiceMonitorKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}
}

const (
	defaultMetricsPath     = "/metrics"
	defaultMetricsInterval = "30s"
)

func monitored(v *aiinfrav1alpha1.VLLMService) bool {
	return v.Spec.Monitoring != nil && v.Spec.Monitoring.Enabled
}

// ServiceMonitor is the one that v wants. It is unstructured, so that Gangway does not depend on
// the operator's release.
func ServiceMonitor(v *aiinfrav1alpha1.VLLMService) *unstructured.Unstructured {
	m := &unstructured.Unstructured{Object: map[string]any{}}
	m.SetGroupVersionKind(ServiceMonitorKind())
	m.SetNamespace(v.Namespace)
	m.SetName(names.ServiceMonitor(v.Name))
	setServiceMonitor(m, v)
	return m
}

func serviceMonitorUpdate(v *aiinfrav1alpha1.VLLMService, current *unstructured.Unstructured) (updated *unstructured.Unstructured, changed bool) {
	updated = current.DeepCopy()
	setServiceMonitor(updated, v)
	return updated, !equality.Semantic.DeepEqual(current.Object, updated.Object)
}

// setServiceMonitor writes what is ours. Further keys of spec and of its one endpoint stay: they
// may be defaults of the operator's CRD, which differ from release to release.
func setServiceMonitor(m *unstructured.Unstructured, v *aiinfrav1alpha1.VLLMService) {
	in := route.ForVLLMService(v)
	userLabels := map[string]string{}
	maps.Copy(userLabels, v.Spec.Labels)
	maps.Copy(userLabels, v.Spec.Monitoring.Labels)
	in.Owner.Stamp(m, in.Labels, userLabels)

	spec, _, _ := unstructured.NestedMap(m.Object, "spec")
	if spec == nil {
		spec = map[string]any{}
	}
	spec["selector"] = map[string]any{"matchLabels": map[string]any{names.LabelVLLMService: v.Name}}
	endpoint := map[string]any{}
	if endpoints, _, _ := unstructured.NestedSlice(m.Object, "spec", "endpoints"); len(endpoints) > 0 {
		if e, ok := endpoints[0].(map[string]any); ok {
			endpoint = e
		}
	}
	endpoint["port"] = names.PortHTTP
	endpoint["path"] = orString(v.Spec.Monitoring.Path, defaultMetricsPath)
	endpoint["interval"] = orString(v.Spec.Monitoring.Interval, defaultMetricsInterval)
	spec["endpoints"] = []any{endpoint}
	m.Object["spec"] = spec
}
