package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/state"
)

// ownWrites knows which of this manager's writes the cache does not show yet. A planner that did not
// see them might delete the PodGroup of Pods that it has just made, or mix revisions in a group; so a
// pass over a snapshot that lags behind them is put off. It is no state that a restart could lose:
// the cache of a new manager begins with what the API server holds by then.
type ownWrites struct {
	mu sync.Mutex
	of map[types.NamespacedName]*unseen
}

// unseen are the writes for one ModelServing.
type unseen struct {
	owner types.UID
	// status is the resourceVersion that the ModelServing got with its status; "" when it is seen.
	status string
	writes []apply.Written
	// at is the time of the last of them.
	at time.Time
}

func newOwnWrites() *ownWrites { return &ownWrites{of: map[types.NamespacedName]*unseen{}} }

// note adds the writes of a pass over ms.
func (o *ownWrites) note(ms *workloadv1alpha1.ModelServing, writes []apply.Written) {
	for _, w := range writes {
		if gathered[w.Kind] != nil {
			u := o.get(ms)
			u.writes, u.at = append(u.writes, w), time.Now()
		}
	}
}

// noteStatus adds that the status of ms was written.
func (o *ownWrites) noteStatus(ms *workloadv1alpha1.ModelServing) {
	u := o.get(ms)
	u.status, u.at = ms.ResourceVersion, time.Now()
}

func (o *ownWrites) get(ms *workloadv1alpha1.ModelServing) *unseen {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := client.ObjectKeyFromObject(ms)
	u := o.of[key]
	if u == nil || u.owner != ms.UID {
		u = &unseen{owner: ms.UID}
		o.of[key] = u
	}
	return u
}

func (o *ownWrites) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, key)
}

// behind is what the snapshot does not show; nil for nothing. What it shows is not asked for again.
func (o *ownWrites) behind(s state.Snapshot) *unseen {
	u := o.get(s.ModelServing)
	if u.status != "" && !older(s.ModelServing.ResourceVersion, u.status) {
		u.status = ""
	}
	if len(u.writes) > 0 {
		shown := index(s)
		u.writes = slices.DeleteFunc(u.writes, shown.shows)
	}
	if u.status != "" || len(u.writes) > 0 {
		return u
	}
	o.forget(client.ObjectKeyFromObject(s.ModelServing))
	return nil
}

// verify asks the API server about what is not shown for long, and waits no more for what the snapshot
// will never show or shows as it is by now: an object may be gone, may have lost the labels that the
// caches go by, or may be held by somebody's finalizer.
func (u *unseen) verify(ctx context.Context, live client.Reader, s state.Snapshot) error {
	shown := index(s)
	var left []apply.Written
	for _, w := range u.writes {
		current := &metav1.PartialObjectMetadata{}
		current.SetGroupVersionKind(w.GroupVersionKind)
		err := live.Get(ctx, client.ObjectKey{Namespace: s.ModelServing.Namespace, Name: w.Name}, current)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			current = nil
		case err != nil:
			return fmt.Errorf("see what has become of %s %q: %w", w.Kind, w.Name, err)
		case !metav1.IsControlledBy(current, s.ModelServing), !gathered[w.Kind].Matches(labels.Set(current.Labels)):
			current = nil
		}
		if !shown.isUpToDate(w, current) {
			left = append(left, w)
		}
	}
	u.writes = left
	return nil
}

// isUpToDate says whether the snapshot shows an object as it is; nil: it is not to be shown.
func (all shown) isUpToDate(w apply.Written, current *metav1.PartialObjectMetadata) bool {
	o, ok := all[[2]string{w.Kind, w.Name}]
	if current == nil || !ok {
		return current == nil && !ok
	}
	return o.GetUID() == current.UID && o.GetResourceVersion() == current.ResourceVersion
}

// first names one thing that is waited for.
func (u *unseen) first() string {
	if len(u.writes) == 0 {
		return "its own status"
	}
	return fmt.Sprintf("the %s of %s %q", u.writes[0].Verb, u.writes[0].Kind, u.writes[0].Name)
}

// The kinds that a snapshot lists. An HTTPRoute is judged by its own resourceVersion alone.
const (
	kindPod                = "Pod"
	kindService            = "Service"
	kindPodGroup           = "PodGroup"
	kindControllerRevision = "ControllerRevision"
)

// gathered are the labels by which the caches hold those kinds.
var gathered = map[string]labels.Selector{
	kindPod: ofModelServing, kindService: managed, kindPodGroup: ofModelServing, kindControllerRevision: ofModelServing,
}

// shown are the objects of a snapshot by kind and name.
type shown map[[2]string]metav1.Object

func index(s state.Snapshot) shown {
	all := make(shown, len(s.Pods)+len(s.Services)+len(s.PodGroups)+len(s.Revisions))
	add(all, kindPod, s.Pods)
	add(all, kindService, s.Services)
	add(all, kindPodGroup, s.PodGroups)
	add(all, kindControllerRevision, s.Revisions)
	return all
}

func add[T metav1.Object](all shown, kind string, objects []T) {
	for _, o := range objects {
		all[[2]string{kind, o.GetName()}] = o
	}
}

// shows says that a write is in the snapshot, or was overtaken by what is.
func (all shown) shows(w apply.Written) bool {
	current, ok := all[[2]string{w.Kind, w.Name}]
	switch w.Verb {
	case action.Create:
		return ok && !older(current.GetResourceVersion(), w.ResourceVersion)
	case action.Update:
		return !ok || current.GetUID() != w.UID || !older(current.GetResourceVersion(), w.ResourceVersion)
	case action.Delete:
		return !ok || current.GetUID() != w.UID || current.GetDeletionTimestamp() != nil
	case action.ForceDelete:
		// A finalizer may keep it for as long as it likes.
		return !ok || current.GetUID() != w.UID || ptr.Deref(current.GetDeletionGracePeriodSeconds(), 1) == 0
	default:
		return true
	}
}

// older compares resourceVersions of one kind; what is no number compares as not older.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
