// Package apply carries out what a planner asks for. It is the only place that writes.
//
// It decides nothing: an Action is done as it stands, or it becomes a Fault in the API server's own
// words. What makes writing safe lives here, once: creates succeed only against objects of the same
// owner, updates name the resourceVersion that was observed, deletes name the UID.
package apply

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/gangway-serving/gangway/controllers/metrics"
	"github.com/gangway-serving/gangway/plan/action"
)

// DefaultParallel is how many writes of one pass are under way at a time, at most.
const DefaultParallel = 32

// Writer writes for one kind of owner. It keeps no state between calls.
type Writer struct {
	// Client writes. It is never read from: its reads may be cached.
	Client client.Client
	// Live reads from the API server; it is asked only whose a taken name is.
	Live client.Reader
	// Recorder emits Events about the owner.
	Recorder recorder.EventRecorder
	// Parallel is the most writes under way at a time; 0 means DefaultParallel.
	Parallel int
}

// Work is what one pass writes beside the status, in the order of plan.Plan.
type Work struct {
	Before []action.Action
	Lanes  []action.Lane
	After  []action.Action
}

// Empty says that there is nothing to write.
func (w Work) Empty() bool { return len(w.Before) == 0 && len(w.Lanes) == 0 && len(w.After) == 0 }

// Do carries out work for owner and returns the faults, in the order of the work. Actions that were
// not begun because of a fault are no faults. No faults and a live ctx promise that everything is done.
func (w *Writer) Do(ctx context.Context, owner client.Object, work Work) []action.Fault {
	r := w.run(owner)
	var all []action.Fault
	for _, a := range work.Before {
		faults, done := r.stage(ctx, []action.Action{a})
		if all = append(all, faults...); !done {
			return all
		}
	}
	faults, done := r.lanes(ctx, work.Lanes)
	if all = append(all, faults...); !done {
		return all
	}
	faults, _ = r.stage(ctx, work.After)
	return append(all, faults...)
}

// run is one Do.
type run struct {
	*Writer
	owner   client.Object
	creates *gate
	others  *gate
	active  int
}

func (w *Writer) run(owner client.Object) *run {
	parallel := w.Parallel
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	return &run{
		Writer: w, owner: owner, active: parallel,
		creates: newGate(1, parallel),
		others:  newGate(parallel, parallel),
	}
}

// outcome is how one of several things that run in parallel went.
type outcome struct {
	faults []action.Fault
	done   bool
}

func gathered(all []outcome) (faults []action.Fault, done bool) {
	done = true
	for _, o := range all {
		faults = append(faults, o.faults...)
		done = done && o.done
	}
	return faults, done
}

// lanes runs the lanes in parallel. They are begun in order, so that the lowest ordinals come first
// when not all of them can be carried out.
func (r *run) lanes(ctx context.Context, lanes []action.Lane) ([]action.Fault, bool) {
	all := make([]outcome, len(lanes))
	active := make(chan struct{}, r.active)
	var wg sync.WaitGroup
	for i, lane := range lanes {
		active <- struct{}{}
		wg.Go(func() {
			defer func() { <-active }()
			for _, stage := range lane.Stages {
				faults, done := r.stage(ctx, stage)
				if all[i].faults = append(all[i].faults, faults...); !done {
					return
				}
			}
			all[i].done = true
		})
	}
	wg.Wait()
	return gathered(all)
}

// stage runs the actions of a stage in parallel. done says that every one of them has succeeded, or
// was overruled, in which case it is a fault that holds up nothing.
func (r *run) stage(ctx context.Context, actions []action.Action) (faults []action.Fault, done bool) {
	all := make([]outcome, len(actions))
	var wg sync.WaitGroup
	for i, a := range actions {
		wg.Go(func() { all[i] = r.act(ctx, a) })
	}
	wg.Wait()
	return gathered(all)
}

// act does one action once there is room for it.
func (r *run) act(ctx context.Context, a action.Action) outcome {
	door := r.others
	if a.Verb == action.Create {
		door = r.creates
	}
	if !door.enter(ctx) {
		return outcome{}
	}
	wrote, fault := r.write(ctx, a)
	overruled := fault != nil && fault.Kind == action.Overruled
	door.leave(fault == nil || overruled)
	kind := r.kind(a.Object)
	if overruled {
		return outcome{faults: []action.Fault{fault.Fault}, done: true}
	}
	if fault != nil {
		if fault.everyone {
			r.creates.close()
		}
		metrics.Failed(fault.Fault, kind)
		return outcome{faults: []action.Fault{fault.Fault}}
	}
	if wrote {
		metrics.Wrote(a, kind)
		if a.Event != nil {
			r.Emit(r.owner, string(a.Verb), *a.Event)
		}
	}
	return outcome{done: true}
}

// write does one action. wrote is false when there was nothing to write any more.
func (r *run) write(ctx context.Context, a action.Action) (wrote bool, fault *fault) {
	if !metav1.IsControlledBy(a.Object, r.owner) {
		return false, refused(a, fmt.Sprintf("%s %q is not controlled by %q (UID %s), so it is not written",
			r.kind(a.Object), a.Object.GetName(), r.owner.GetName(), r.owner.GetUID()))
	}
	// The planner's objects are read-only: observed ones live in the cache.
	obj := a.Object.DeepCopyObject().(client.Object)
	switch a.Verb {
	case action.Create:
		return r.create(ctx, a, obj)
	case action.Update:
		if err := r.Client.Update(ctx, obj); err != nil {
			return false, failed(a, err)
		}
		if obj.GetResourceVersion() == a.Object.GetResourceVersion() {
			return false, overruled(a, r.kind(a.Object))
		}
		return true, nil
	case action.Delete, action.ForceDelete:
		return r.delete(ctx, a, obj)
	default:
		return false, refused(a, fmt.Sprintf("there is no verb %q", a.Verb))
	}
}

func (r *run) create(ctx context.Context, a action.Action, obj client.Object) (bool, *fault) {
	err := r.Client.Create(ctx, obj)
	switch {
	case err == nil:
		return true, nil
	case !apierrors.IsAlreadyExists(err):
		return false, failed(a, err)
	}
	current := &metav1.PartialObjectMetadata{}
	gvk, err := apiutil.GVKForObject(a.Object, r.Client.Scheme())
	if err != nil {
		return false, failed(a, err)
	}
	current.SetGroupVersionKind(gvk)
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(a.Object), current); err != nil {
		return false, failed(a, fmt.Errorf("see whose %s %q is: %w", gvk.Kind, a.Object.GetName(), err))
	}
	return false, judge(a, gvk.Kind, current, r.owner)
}

// delete promises that the observed object is gone or going, and that no later one of that name was
// touched.
func (r *run) delete(ctx context.Context, a action.Action, obj client.Object) (bool, *fault) {
	opts := []client.DeleteOption{client.Preconditions{UID: ptr.To(obj.GetUID())}}
	if a.Verb == action.ForceDelete {
		opts = append(opts, client.GracePeriodSeconds(0))
	}
	err := r.Client.Delete(ctx, obj, opts...)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil
	default:
		return false, failed(a, err)
	}
}

func (r *run) kind(obj action.Object) string {
	gvk, err := apiutil.GVKForObject(obj, r.Client.Scheme())
	if err != nil {
		return "unknown"
	}
	return gvk.Kind
}
