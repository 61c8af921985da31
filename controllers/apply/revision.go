package apply

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/revision"
)

// existingRevision says what it means that the name of a ControllerRevision is taken. One of ours with
// the same content is the one that was to be created: it has lost the label that the cache goes by,
// which is set back, since Pods are of it. One of ours with other content has the same hash.
func (r *run) existingRevision(ctx context.Context, a action.Action, wanted *appsv1.ControllerRevision) (metav1.Object, bool, *fault) {
	const kind = "ControllerRevision"
	current := &appsv1.ControllerRevision{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), current); err != nil {
		return nil, false, failed(a, fmt.Errorf("see whose %s %q is: %w", kind, wanted.Name, err))
	}
	if current.DeletionTimestamp != nil || !metav1.IsControlledBy(current, r.owner) {
		return current, false, judge(a, kind, &metav1.PartialObjectMetadata{ObjectMeta: current.ObjectMeta}, r.owner)
	}
	if !revision.Equal(current, wanted) {
		return nil, false, collision(a, kind)
	}
	labels := maps.Clone(current.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if maps.Copy(labels, wanted.Labels); maps.Equal(labels, current.Labels) {
		return current, false, nil
	}
	current.Labels = labels
	if err := r.Client.Update(ctx, current); err != nil {
		return nil, false, failed(a, fmt.Errorf("set the labels of %s %q back: %w", kind, current.Name, err))
	}
	return current, true, nil
}
