package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gangway-serving/gangway/plan/names"
)

// vllmPods is a cache of the Pods of VLLMServices, and of what their status says. The manager's own
// holds those of ModelServings, and one cache has one label selector for a kind.
func vllmPods(mgr ctrl.Manager, namespaces []string) (cache.Cache, error) {
	opts := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: exists(names.LabelVLLMService), Transform: statusOnly},
		},
	}
	for _, ns := range namespaces {
		if opts.DefaultNamespaces == nil {
			opts.DefaultNamespaces = map[string]cache.Config{}
		}
		opts.DefaultNamespaces[ns] = cache.Config{}
	}
	pods, err := cache.New(mgr.GetConfig(), opts)
	if err != nil {
		return nil, fmt.Errorf("make a cache of Pods: %w", err)
	}
	if err := mgr.Add(pods); err != nil {
		return nil, fmt.Errorf("add the cache of Pods to the manager: %w", err)
	}
	return pods, nil
}

// statusOnly keeps of a Pod whose it is and how it does.
func statusOnly(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{TypeMeta: pod.TypeMeta, Status: pod.Status}
	kept.Namespace, kept.Name, kept.UID, kept.ResourceVersion = pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion
	kept.Labels = map[string]string{names.LabelVLLMService: pod.Labels[names.LabelVLLMService]}
	kept.DeletionTimestamp = pod.DeletionTimestamp
	return kept, nil
}

// ofPod finds the VLLMService that a Pod serves.
func ofPod(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: pod.GetNamespace(), Name: pod.GetLabels()[names.LabelVLLMService],
	}}}
}
