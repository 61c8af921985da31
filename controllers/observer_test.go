package controllers_test

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// observer follows the Pods of a ModelServing at the API server and keeps the worst moment.
type observer struct {
	w    *world
	size int
	end  func()
	done sync.WaitGroup

	pods   map[string]*corev1.Pod
	lowest int
	// mixed names a group that had Pods of two revisions at one moment, terminating ones aside.
	mixed string
}

// observe begins to follow the Pods; size is the number of Pods of a whole group.
func (w *world) observe(ms *workloadv1alpha1.ModelServing, size int) *observer {
	w.Helper()
	o := &observer{w: w, size: size, pods: map[string]*corev1.Pod{}, lowest: -1}
	present := w.allPods(ms)
	watcher, err := w.kubelet.client.Watch(context.Background(), &corev1.PodList{}, client.InNamespace(w.ns),
		client.MatchingLabels{names.LabelModelServing: ms.Name})
	if err != nil {
		w.Fatal(err)
	}
	o.end = watcher.Stop
	ready := make(chan struct{})
	o.done.Go(func() {
		began := false
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if event.Type == watch.Deleted {
				delete(o.pods, pod.Name)
			} else {
				o.pods[pod.Name] = pod
			}
			if !began && len(o.pods) == len(present) {
				began = true
				close(ready)
			}
			if began {
				o.judge()
			}
		}
	})
	<-ready
	return o
}

// judge counts the groups that are available now.
func (o *observer) judge() {
	ready, revisions := map[string]int{}, map[string]string{}
	for _, pod := range o.pods {
		group := pod.Labels[names.LabelGroup]
		if pod.DeletionTimestamp != nil {
			continue
		}
		if other, ok := revisions[group]; ok && other != pod.Labels[names.LabelRevision] {
			o.mixed = fmt.Sprintf("%s has %s and %s", group, other, pod.Labels[names.LabelRevision])
		}
		revisions[group] = pod.Labels[names.LabelRevision]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready[group]++
			}
		}
	}
	available := 0
	for _, n := range ready {
		if n >= o.size {
			available++
		}
	}
	if o.lowest < 0 || available < o.lowest {
		o.lowest = available
	}
}

// stop returns the lowest number of groups that were available at one moment.
func (o *observer) stop() int {
	o.end()
	o.done.Wait()
	return o.lowest
}
