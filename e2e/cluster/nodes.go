package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NodeOptions says how many simulated nodes there are and what each has.
type NodeOptions struct {
	// Count of nodes. Default 4.
	Count int
	// Resources of each node, by name. Default: DefaultResources.
	Resources map[corev1.ResourceName]string
}

// DefaultResources of a node: a GPU server, with its GPUs offered whole and in
// the shares of Volcano's vGPU device plugin.
func DefaultResources() map[corev1.ResourceName]string {
	return map[corev1.ResourceName]string{
		corev1.ResourceCPU:              "32",
		corev1.ResourceMemory:           "256Gi",
		corev1.ResourceEphemeralStorage: "1Ti",
		corev1.ResourcePods:             "250",
		"nvidia.com/gpu":                "8",
		"volcano.sh/vgpu-number":        "80",
		"volcano.sh/vgpu-memory":        "655360",
		"volcano.sh/vgpu-cores":         "800",
	}
}

const maxNodes = 5000

func (o *NodeOptions) complete() error {
	if o.Count == 0 {
		o.Count = 4
	}
	if o.Count < 0 || o.Count > maxNodes {
		return fmt.Errorf("%d nodes: give a number from 1 to %d", o.Count, maxNodes)
	}
	if o.Resources == nil {
		o.Resources = DefaultResources()
	}
	return nil
}

func (o *NodeOptions) list() (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, value := range o.Resources {
		q, err := resource.ParseQuantity(value)
		if err != nil {
			return nil, fmt.Errorf("resource %s of the nodes: %q is no quantity: %w", name, value, err)
		}
		list[name] = q
	}
	return list, nil
}

// NodeName of the i-th node, counted from 0.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func createNodes(ctx context.Context, cl client.Client, o NodeOptions) error {
	resources, err := o.list()
	if err != nil {
		return err
	}
	for i := range o.Count {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: NodeName(i),
				Labels: map[string]string{
					corev1.LabelHostname:      NodeName(i),
					corev1.LabelArchStable:    "amd64",
					corev1.LabelOSStable:      "linux",
					corev1.LabelTopologyZone:  fmt.Sprintf("zone-%d", i%2),
					"type":                    "kwok",
					"node.gangway.dev/origin": "e2e-cluster",
				},
			},
			Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
		}
		if err := cl.Create(ctx, node); err != nil {
			return fmt.Errorf("create Node %q: %w", node.Name, err)
		}
	}
	return nil
}
