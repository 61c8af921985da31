package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangway-serving/gangway/controllers/gather"
)

// leftAlone says that obj is not Gangway's any more: it is being deleted, which is the garbage
// collector's, or its Namespace is, with all that is in it. What the namespace controller deletes
// has not failed, and nothing could be made in its place.
func leftAlone(ctx context.Context, cache client.Reader, obj client.Object) (bool, error) {
	if obj.GetDeletionTimestamp() != nil {
		return true, nil
	}
	ns, err := gather.Namespace(ctx, cache, obj.GetNamespace())
	if err != nil {
		return false, err
	}
	return ns.DeletionTimestamp != nil, nil
}
