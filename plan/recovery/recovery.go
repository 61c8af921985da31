// Package recovery decides what is recreated when Pods fail.
//
// A unit is what the recovery policy recreates: a ServingGroup or a role replica. What makes this
// hard is that a recovery is many deletions, that a manager may die between any two of them, and that
// a Pod which is not there says nothing about why. The rule that tells the three cases apart uses
// what is observed and the status, and writes nothing on Pods:
//
//   - Gangway's own deletions (rollout, scaling, recovery) are always of whole units, and
//     status.removals names each unit before its first Pod is deleted, until its last Pod is gone.
//     A Pod that a removal covers is going, whatever the cache shows, and is no failure. A removal
//     that was interrupted is finished, whatever the policy, and counted only once.
//   - A Pod that terminates and that no removal covers was deleted by somebody else.
//   - A Pod that vanished without being seen to terminate is told from one that was never made (a
//     quota refused it) by status.roles[].replicas: it says how many role replicas of a role had all
//     of their Pods when the status was last written. When fewer have, apart from those that
//     removals cover, somebody took the difference: Lost finds the units that lack Pods. Everything
//     else that is missing was never made, and is made.
//
// A container that ended and is Ready again was seen by no manager if none ran. What the status says
// of that time is that every group was wholly Ready since a time before: Input.WholeSince.
//
// status.removals and status.recoveries are written, with the optimistic lock, before the deletions
// that they tell of. A decision that was taken on a status that is not the latest is therefore never
// carried out.
//
// The grace period is given to Pods that can use it: those whose containers restarted. A Pod that was
// deleted or is in phase Failed will never be Ready again, and is acted on at once.
package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/state"
)

// Input is one ServingGroup that is to be kept.
type Input struct {
	Policy workloadv1alpha1.RecoveryPolicy
	// Grace is restartGracePeriodSeconds, Deadline progressDeadlineSeconds.
	Grace, Deadline time.Duration
	// Group is the name of the ServingGroup.
	Group string
	// Available: all that is wanted of the group is there and Ready.
	Available bool
	// WholeSince: then every ServingGroup was wholly Ready, and the status says so ever since; zero
	// when that is not known.
	WholeSince time.Time
	// Revision is the name of the ControllerRevision that the group has; "" when that is not known.
	Revision string
	// Replicas are the role replicas that are wanted.
	Replicas []Replica
	// Records are those of this group in status.recoveries.
	Records []workloadv1alpha1.RecoveryStatus
	Now     time.Time
}

// Replica is a role replica that is wanted.
type Replica struct {
	ID string
	// Size is the number of its Pods, going by its own revision.
	Size int
	// Pods are those that there are.
	Pods []*state.Pod
	// Removing: Gangway is deleting it.
	Removing bool
	// Available: all of its Pods are there and Ready.
	Available bool
	// Lost: a Pod of it vanished that somebody else deleted.
	Lost bool
	// Revision is the name of the ControllerRevision that it has; "" when that is not known.
	Revision string
}

// Output is what is to be done for the group.
type Output struct {
	// Group: delete all of the group. Replicas: delete these role replicas. Pods: delete these Pods.
	Group    bool
	Replicas []string
	Pods     []*state.Pod
	// Waiting are the role replicas that have failed and wait for grace or back-off; "" is the group.
	// Nothing is created in them.
	Waiting map[string]bool
	// Records are to replace those of the group in status.recoveries, sorted.
	Records []workloadv1alpha1.RecoveryStatus
	// Notes tell of recoveries that begin now.
	Notes []Note
	// Pending says what waits, for the status; "" for nothing.
	Pending string
	// Next is when to look again; zero for never.
	Next time.Time
}

// Note is the content of an Event about a role replica; RoleID "" is the group.
type Note struct{ Reason, Message, RoleID string }

// Decide applies the recovery policy to a group.
func Decide(in Input) Output {
	d := &decision{Input: in, book: open(in.Records), out: Output{}}
	d.tidy()
	switch in.Policy {
	case workloadv1alpha1.RecoverNone:
		d.none()
	case workloadv1alpha1.RecoverServingGroup:
		d.group()
	default:
		d.roles()
	}
	for _, r := range d.book {
		d.out.Records = append(d.out.Records, *r)
	}
	slices.SortFunc(d.out.Records, func(a, b workloadv1alpha1.RecoveryStatus) int { return cmp.Compare(a.RoleID, b.RoleID) })
	return d.out
}

type decision struct {
	Input
	book book
	out  Output
}

func (d *decision) wake(t time.Time) {
	if d.out.Next.IsZero() || t.Before(d.out.Next) {
		d.out.Next = t
	}
}

func (d *decision) note(roleID, reason, format string, args ...any) {
	d.out.Notes = append(d.out.Notes, Note{Reason: reason, Message: fmt.Sprintf(format, args...), RoleID: roleID})
}

func (d *decision) waits(unit, why string) {
	if d.out.Waiting == nil {
		d.out.Waiting = map[string]bool{}
	}
	d.out.Waiting[unit] = true
	if d.out.Pending == "" {
		d.out.Pending = why
	}
}

// tidy forgets what is over: role replicas that nobody wants any more, groups that became available,
// and units that have been Ready for long.
func (d *decision) tidy() {
	byID := make(map[string]*Replica, len(d.Replicas))
	for i := range d.Replicas {
		byID[d.Replicas[i].ID] = &d.Replicas[i]
	}
	for unit, r := range d.book {
		// A clock that was ahead when this was written must not hold recoveries up for as long.
		if now := seconds(d.Now); now.Before(&r.LastRecoveryTime) {
			r.LastRecoveryTime = now
		}
		replica, wanted := byID[unit]
		if unit != "" && !wanted {
			delete(d.book, unit)
			continue
		}
		if d.Available {
			r.ProgressingSince = nil
		}
		available, pods := d.Available, d.pods()
		if unit != "" {
			available, pods = replica.Available, replica.Pods
		}
		if !available {
			continue
		}
		if at := readySince(pods).Add(resetAfter); d.Now.Before(at) {
			d.wake(at)
			continue
		}
		if r.Count = 0; r.ProgressingSince == nil {
			delete(d.book, unit)
		}
	}
}

func (d *decision) pods() []*state.Pod {
	var all []*state.Pod
	for _, r := range d.Replicas {
		all = append(all, r.Pods...)
	}
	return all
}

func readySince(pods []*state.Pod) time.Time {
	var since time.Time
	for _, p := range pods {
		if at := p.ReadySince(); at.After(since) {
			since = at
		}
	}
	return since
}

// none leaves restarts to the kubelet. A Pod in phase Failed is replaced on its own, with the back-off
// of its role replica; one that is gone is simply made again.
func (d *decision) none() {
	for i := range d.Replicas {
		r := &d.Replicas[i]
		if rec := d.book[r.ID]; rec != nil {
			rec.Lost = false
		}
		var over []*state.Pod
		for _, p := range r.Pods {
			if p.Ended() && !p.Going() {
				over = append(over, p)
			}
		}
		if len(over) == 0 || r.Removing {
			continue
		}
		what := ended(over[0], past{}, 0, d.Now).what
		if at := d.book.allowed(r.ID); d.Now.Before(at) {
			d.wake(at)
			if d.out.Pending == "" {
				d.out.Pending = what + "; its replacement waits for the back-off"
			}
			continue
		}
		d.book.count(d.Group, r.ID, cmp.Or(r.Revision, d.Revision), d.Now)
		d.out.Pods = append(d.out.Pods, over...)
		d.note(r.ID, workloadv1alpha1.EventRoleRecreating, "replacing a Pod of role replica %s/%s: %s", d.Group, r.ID, what)
	}
}

// group recreates the whole group for any failure in it.
func (d *decision) group() {
	unit := past{groupWasReady(d.Replicas), d.since(d.pods())}
	var first *failure
	for i := range d.Replicas {
		if f := d.failureOf(&d.Replicas[i], unit); f != nil && (first == nil || f.due.Before(first.due)) {
			first = f
		}
	}
	if rec := d.book[""]; rec != nil && rec.Lost && first == nil {
		first = &failure{what: "a Pod was deleted", due: d.Now, gone: true}
	}
	if first == nil || !d.ready("", first) {
		return
	}
	d.recoverGroup(workloadv1alpha1.EventGroupRecreating, "recreating ServingGroup "+d.Group+": "+first.what)
}

// roles recreates the role replicas that failed, and the whole group when it has not become available
// in time after that.
func (d *decision) roles() {
	if since := d.book.progressingSince(); since != nil && !d.Available {
		deadline := since.Add(d.Deadline)
		at := deadline
		if allowed := d.book.allowed(""); allowed.After(at) {
			at = allowed
		}
		if !d.Now.Before(at) {
			d.recoverGroup(workloadv1alpha1.EventRecoveryEscalated, fmt.Sprintf(
				"recreating ServingGroup %s: it is not available %s after one of its role replicas was recreated", d.Group, d.Deadline))
			return
		}
		d.wake(at)
	}
	if rec := d.book[""]; rec != nil {
		rec.Lost = false
	}
	for i := range d.Replicas {
		r := &d.Replicas[i]
		f := d.failureOf(r, past{replicaWasReady(r.Pods, r.Size), d.since(r.Pods)})
		if f == nil || !d.ready(r.ID, f) {
			continue
		}
		since := d.book.progressingSince()
		rec := d.book.count(d.Group, r.ID, cmp.Or(r.Revision, d.Revision), d.Now)
		if since == nil {
			since = ptr.To(rec.LastRecoveryTime)
		}
		rec.ProgressingSince = since
		d.wake(since.Add(d.Deadline))
		d.out.Replicas = append(d.out.Replicas, r.ID)
		d.note(r.ID, workloadv1alpha1.EventRoleRecreating, "recreating role replica %s/%s: %s", d.Group, r.ID, f.what)
	}
}

// failureOf is the failure of a role replica that is due first; nil for none.
func (d *decision) failureOf(r *Replica, unit past) *failure {
	if r.Removing {
		return nil
	}
	if rec := d.book[r.ID]; r.Lost || (rec != nil && rec.Lost) {
		return &failure{what: fmt.Sprintf("a Pod of role replica %q was deleted", r.ID), due: d.Now, gone: true}
	}
	var first *failure
	for _, p := range r.Pods {
		if f := judge(p, unit, d.Grace, d.Now); f != nil && (first == nil || f.due.Before(first.due)) {
			first = f
		}
	}
	return first
}

// ready says whether a failed unit may be recovered now. If not, it waits, and what would be
// forgotten is written down.
func (d *decision) ready(unit string, f *failure) bool {
	at, why := f.due, "its grace period is on"
	if allowed := d.book.allowed(unit); allowed.After(at) {
		at, why = allowed, "its recreation waits for the back-off"
	}
	if !d.Now.Before(at) {
		return true
	}
	if rec := d.book[unit]; rec != nil && f.gone {
		rec.Lost = true
	}
	d.wake(at)
	d.waits(unit, f.what+"; "+why)
	return false
}

// recoverGroup writes the recovery of the whole group down. The role replicas begin anew.
func (d *decision) recoverGroup(reason, message string) {
	for unit := range d.book {
		if unit != "" {
			delete(d.book, unit)
		}
	}
	d.book.count(d.Group, "", d.Revision, d.Now)
	d.out.Group = true
	d.out.Waiting = nil
	d.out.Pending = ""
	d.note("", reason, "%s", message)
}
