// Package gather reads what planners judge by. It concludes nothing.
package gather

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/route"
	"github.com/gangway-serving/gangway/plan/state"
)

// ModelServings gathers Snapshots.
type ModelServings struct {
	// Cache is the manager's cached reader, with the indexes of Index.
	Cache client.Reader
	// Live reads from the API server. It is asked for a node that the cache does not know.
	Live client.Reader
	// Gang says what the installed Volcano can do. When it has PodGroups, the index of
	// IndexPodGroups is there.
	Gang func(context.Context) (state.GangSupport, error)
	// Route gathers what the route is decided from.
	Route func(context.Context, *workloadv1alpha1.ModelServing) (route.Input, error)
}

// Snapshot gathers what is known of ms. Its objects are the cache's own: they must not be changed.
func (g *ModelServings) Snapshot(ctx context.Context, ms *workloadv1alpha1.ModelServing) (state.Snapshot, error) {
	s := state.Snapshot{ModelServing: ms}
	var err error
	if s.Gang, err = g.Gang(ctx); err != nil {
		return s, err
	}
	if s.Route, err = g.Route(ctx, ms); err != nil {
		return s, err
	}

	var revisions appsv1.ControllerRevisionList
	var pods corev1.PodList
	var services corev1.ServiceList
	for _, list := range []client.ObjectList{&revisions, &pods, &services} {
		if err := g.owned(ctx, ms, list); err != nil {
			return s, err
		}
	}
	s.Revisions, s.Pods, s.Services = pointers(revisions.Items), pointers(pods.Items), pointers(services.Items)
	if s.Gang.PodGroups {
		var podGroups schedulingv1beta1.PodGroupList
		if err := g.owned(ctx, ms, &podGroups); err != nil {
			return s, err
		}
		s.PodGroups = pointers(podGroups.Items)
	}

	s.Nodes, err = g.nodes(ctx, s.Pods)
	return s, err
}

// owned lists the objects whose controller is ms.
func (g *ModelServings) owned(ctx context.Context, ms *workloadv1alpha1.ModelServing, list client.ObjectList) error {
	err := g.Cache.List(ctx, list, client.InNamespace(ms.Namespace),
		client.MatchingFields{IndexOwner: string(ms.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the %T of ModelServing %q: %w", list, ms.Name, err)
	}
	return nil
}

// nodes finds the nodes of terminating Pods.
func (g *ModelServings) nodes(ctx context.Context, pods []*corev1.Pod) (map[string]*corev1.Node, error) {
	var nodes map[string]*corev1.Node
	asked := map[string]bool{}
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if pod.DeletionTimestamp == nil || name == "" || asked[name] {
			continue
		}
		asked[name] = true
		node := &corev1.Node{}
		err := g.Cache.Get(ctx, client.ObjectKey{Name: name}, node)
		if apierrors.IsNotFound(err) {
			// That a node is gone lets its Pods be force deleted, so a cache that lags is not believed.
			err = g.Live.Get(ctx, client.ObjectKey{Name: name}, node)
		}
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("get Node %q of terminating Pod %q: %w", name, pod.Name, err)
		}
		if nodes == nil {
			nodes = map[string]*corev1.Node{}
		}
		nodes[name] = node
	}
	return nodes, nil
}

func pointers[T any](items []T) []*T {
	if len(items) == 0 {
		return nil
	}
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
