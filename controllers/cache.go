package controllers

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/vllm"
)

// The caches hold what has these labels.
var (
	ofModelServing = exists(names.LabelModelServing)
	managed        = labels.SelectorFromSet(labels.Set{names.LabelManagedBy: names.ManagedByGangway})
)

// CacheOptions keep the informers to what is used: objects with Gangway's labels, without managed
// fields; of Nodes, claims and CRDs what planners read.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                               {Label: ofModelServing},
			&corev1.Service{}:                           {Label: managed},
			&appsv1.Deployment{}:                        {Label: managed},
			&appsv1.ControllerRevision{}:                {Label: ofModelServing},
			&corev1.Node{}:                              {Transform: taintsAndReadiness},
			&corev1.PersistentVolumeClaim{}:             {Transform: phaseOnly},
			&apiextensionsv1.CustomResourceDefinition{}: {Transform: nameOnly},
		},
		NewInformer: func(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			// ByObject cannot name a type whose CRD may be missing.
			switch o := obj.(type) {
			case *schedulingv1beta1.PodGroup:
				lw = selecting(lw, ofModelServing)
			case *gatewayv1.HTTPRoute:
				lw = selecting(lw, managed)
			case *unstructured.Unstructured:
				if o.GroupVersionKind() == vllm.ServiceMonitorKind() {
					lw = selecting(lw, managed)
				}
			}
			return toolscache.NewSharedIndexInformer(lw, obj, resync, indexers)
		},
	}
}

func exists(label string) labels.Selector {
	r, err := labels.NewRequirement(label, selection.Exists, nil)
	if err != nil {
		panic(err) // The label is a constant of ours.
	}
	return labels.NewSelector().Add(*r)
}

// selecting narrows what an informer lists and watches.
func selecting(lw toolscache.ListerWatcher, s labels.Selector) toolscache.ListerWatcher {
	full := toolscache.ToListerWatcherWithContext(lw)
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = s.String()
			return full.ListWithContext(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = s.String()
			return full.WatchWithContext(ctx, o)
		},
	}
}

// taintsAndReadiness keeps of a Node what tells whether it is gone.
func taintsAndReadiness(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Node{TypeMeta: node.TypeMeta}
	kept.Name, kept.UID, kept.ResourceVersion = node.Name, node.UID, node.ResourceVersion
	kept.CreationTimestamp, kept.DeletionTimestamp = node.CreationTimestamp, node.DeletionTimestamp
	kept.Spec.Taints = node.Spec.Taints
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			kept.Status.Conditions = append(kept.Status.Conditions, c)
		}
	}
	return kept, nil
}

// phaseOnly keeps of a PersistentVolumeClaim what tells whether it is bound.
func phaseOnly(obj any) (any, error) {
	pvc, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	kept := &corev1.PersistentVolumeClaim{TypeMeta: pvc.TypeMeta}
	kept.Namespace, kept.Name, kept.UID, kept.ResourceVersion = pvc.Namespace, pvc.Name, pvc.UID, pvc.ResourceVersion
	kept.Status.Phase = pvc.Status.Phase
	return kept, nil
}

// nameOnly keeps of a CRD's metadata what tells that it has changed.
func nameOnly(obj any) (any, error) {
	if crd, ok := obj.(*metav1.PartialObjectMetadata); ok {
		crd.Annotations, crd.Labels, crd.ManagedFields = nil, nil, nil
	}
	return obj, nil
}
