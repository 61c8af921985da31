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

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// Result is how work went. Both lists are in the order of the work.
type Result struct {
	// Written is what a cache is yet to show.
	Written []Written
	// Faults are the writes that failed. Actions that were not begun because of a fault are no faults.
	Faults []action.Fault
}

// Written is what is known of an object from the API server's answer to a write. A create that found
// our object there and a delete that found it gone are writes, too: the cache was behind.
type Written struct {
	schema.GroupVersionKind
	Verb action.Verb
	Name string
	UID  types.UID
	// ResourceVersion is that of the object after a Create or an Update.
	ResourceVersion string
}

// Do carries out work for owner. No faults and a live ctx promise that everything is done.
func (w *Writer) Do(ctx context.Context, owner client.Object, work Work) Result {
	r := w.run(owner)
	all := outcome{done: true}
	for _, a := range work.Before {
		if all.add(r.stage(ctx, 0, []action.Action{a})); !all.done {
			return all.Result
		}
	}
	if all.add(r.lanes(ctx, work.Lanes)); !all.done {
		return all.Result
	}
	all.add(r.stage(ctx, 0, work.After))
	return all.Result
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

// outcome is how a part of the work went. done says that every action of it has succeeded, or was
// overruled, which is a fault that holds up nothing.
type outcome struct {
	Result
	done bool
}

func (o *outcome) add(part outcome) {
	o.Written = append(o.Written, part.Written...)
	o.Faults = append(o.Faults, part.Faults...)
	o.done = o.done && part.done
}

func sum(parts []outcome) outcome {
	all := outcome{done: true}
	for _, part := range parts {
		all.add(part)
	}
	return all
}

// lanes runs the lanes in parallel. They are begun in order, and what is created in a lane goes before
// what is created in a later one: the lowest ordinals come first when not all can be carried out.
func (r *run) lanes(ctx context.Context, lanes []action.Lane) outcome {
	all := make([]outcome, len(lanes))
	active := make(chan struct{}, r.active)
	var wg sync.WaitGroup
	for i, lane := range lanes {
		active <- struct{}{}
		wg.Go(func() {
			defer func() { <-active }()
			all[i].done = true
			for _, stage := range lane.Stages {
				if all[i].add(r.stage(ctx, i, stage)); !all[i].done {
					return
				}
			}
		})
	}
	wg.Wait()
	return sum(all)
}

// stage runs the actions of a stage in parallel. rank is that of their lane.
func (r *run) stage(ctx context.Context, rank int, actions []action.Action) outcome {
	if len(actions) == 1 {
		return r.act(ctx, rank, actions[0])
	}
	all := make([]outcome, len(actions))
	var wg sync.WaitGroup
	for i, a := range actions {
		wg.Go(func() { all[i] = r.act(ctx, rank, a) })
	}
	wg.Wait()
	return sum(all)
}

// act does one action once there is room for it.
func (r *run) act(ctx context.Context, rank int, a action.Action) outcome {
	door := r.others
	if a.Verb == action.Create {
		door = r.creates
	}
	if !door.enter(ctx, rank) {
		return outcome{}
	}
	written, wrote, fault := r.write(ctx, a)
	overruled := fault != nil && fault.Kind == action.Overruled
	door.leave(fault == nil || overruled)
	gvk := r.gvk(a.Object)
	if fault != nil {
		if fault.everyone {
			r.creates.close()
		}
		metrics.Failed(fault.Fault, gvk.Kind)
		return outcome{Result: Result{Faults: []action.Fault{fault.Fault}}, done: overruled || a.Optional}
	}
	if wrote {
		metrics.Wrote(a, gvk.Kind)
		if a.Event != nil {
			r.Emit(r.owner, string(a.Verb), *a.Event)
		}
	}
	return outcome{Result: Result{Written: []Written{{
		GroupVersionKind: gvk, Verb: a.Verb, Name: written.GetName(), UID: written.GetUID(), ResourceVersion: written.GetResourceVersion(),
	}}}, done: true}
}

// write does one action. written is the object as the API server has it now; wrote is false when there
// was nothing to write any more.
func (r *run) write(ctx context.Context, a action.Action) (written metav1.Object, wrote bool, fault *fault) {
	if !metav1.IsControlledBy(a.Object, r.owner) {
		return nil, false, refused(a, fmt.Sprintf("%s %q is not controlled by %q (UID %s), so it is not written",
			r.kind(a.Object), a.Object.GetName(), r.owner.GetName(), r.owner.GetUID()))
	}
	// The planner's objects are read-only: observed ones live in the cache.
	obj := a.Object.DeepCopyObject().(client.Object)
	switch a.Verb {
	case action.Create:
		return r.create(ctx, a, obj)
	case action.Update:
		if err := r.Client.Update(ctx, obj); err != nil {
			return nil, false, failed(a, err)
		}
		if obj.GetResourceVersion() == a.Object.GetResourceVersion() {
			return nil, false, overruled(a, r.kind(a.Object))
		}
		return obj, true, nil
	case action.Delete, action.ForceDelete:
		wrote, fault = r.delete(ctx, a, obj)
		return obj, wrote, fault
	default:
		return nil, false, refused(a, fmt.Sprintf("there is no verb %q", a.Verb))
	}
}

func (r *run) create(ctx context.Context, a action.Action, obj client.Object) (metav1.Object, bool, *fault) {
	err := r.Client.Create(ctx, obj)
	switch {
	case err == nil:
		return obj, true, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, false, failed(a, err)
	}
	if wanted, ok := a.Object.(*appsv1.ControllerRevision); ok {
		return r.existingRevision(ctx, a, wanted)
	}
	current := &metav1.PartialObjectMetadata{}
	gvk, err := apiutil.GVKForObject(a.Object, r.Client.Scheme())
	if err != nil {
		return nil, false, failed(a, err)
	}
	current.SetGroupVersionKind(gvk)
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(a.Object), current); err != nil {
		return nil, false, failed(a, fmt.Errorf("see whose %s %q is: %w", gvk.Kind, a.Object.GetName(), err))
	}
	return current, false, judge(a, gvk.Kind, current, r.owner)
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

func (r *run) kind(obj action.Object) string { return r.gvk(obj).Kind }

func (r *run) gvk(obj action.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(obj, r.Client.Scheme())
	if err != nil {
		return schema.GroupVersionKind{Kind: "unknown"}
	}
	return gvk
}
