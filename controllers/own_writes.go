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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
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
	u := o.get(ms)
	for _, w := range writes {
		if gathered[w.Kind] {
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

// verify asks the API server for what was created and is not shown for long: it may be gone, or have
// lost the label that the cache goes by. What is as it was written is still waited for.
func (u *unseen) verify(ctx context.Context, live client.Reader, ms *workloadv1alpha1.ModelServing) error {
	var left []apply.Written
	for _, w := range u.writes {
		if w.Verb == action.Create {
			current := &metav1.PartialObjectMetadata{}
			current.SetGroupVersionKind(w.GroupVersionKind)
			err := live.Get(ctx, client.ObjectKey{Namespace: ms.Namespace, Name: w.Name}, current)
			switch {
			case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
				continue
			case err != nil:
				return fmt.Errorf("see whether %s %q is still there: %w", w.Kind, w.Name, err)
			case current.UID != w.UID, current.Labels[names.LabelModelServing] != ms.Name, !metav1.IsControlledBy(current, ms):
				continue
			}
		}
		left = append(left, w)
	}
	u.writes = left
	return nil
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

var gathered = map[string]bool{kindPod: true, kindService: true, kindPodGroup: true, kindControllerRevision: true}

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
	default:
		return !ok || current.GetUID() != w.UID
	}
}

// older compares resourceVersions of one kind; what is no number compares as not older.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
