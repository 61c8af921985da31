package plan

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/recovery"
	"github.com/gangway-serving/gangway/plan/rollout"
	"github.com/gangway-serving/gangway/plan/scale"
	"github.com/gangway-serving/gangway/plan/state"
	"github.com/gangway-serving/gangway/plan/status"
)

// role is a role of a group that is to be kept.
type role struct {
	name string
	// replicas are those that are to be, by ordinal.
	replicas []*replica
}

// replica is a role replica that is to be.
type replica struct {
	role    string
	ordinal int
	id      string
	// seen is what is there of it; nil when nothing is.
	seen *state.Replica
	// target is what its Pods are to be made from; nil when nobody knows any more.
	target *state.Revision
	// outdated: it is to be replaced by a rollout of its role, when it is its turn.
	outdated bool
	// lost: a Pod of it vanished.
	lost bool
}

func (r *replica) exists() bool    { return r.seen != nil && r.seen.Exists() }
func (r *replica) available() bool { return r.seen != nil && r.seen.Available }
func (r *replica) removing() bool  { return r.seen != nil && r.seen.Removing }

// incomplete are the replicas of a role that lack Pods without being removed.
func (g *group) incomplete(name string) []*replica {
	var all []*replica
	for i := range g.roles {
		if g.roles[i].name != name {
			continue
		}
		for _, r := range g.roles[i].replicas {
			if (r.seen == nil || !r.seen.Complete) && !r.removing() {
				all = append(all, r)
			}
		}
	}
	return all
}

// shapeGroups decides which role replicas the groups are to have. A group that waits for its turn in
// a rollout keeps what it has.
func (c *computation) shapeGroups() {
	for _, g := range c.groups {
		if g.fate == keep && g.target != nil {
			c.shape(g)
		}
	}
}

func (c *computation) shape(g *group) {
	templates := g.target.Template.Roles
	g.roles = make([]role, 0, len(templates))
	for i := range templates {
		g.roles = append(g.roles, c.shapeRole(g, templates[i].Name))
	}
	for _, r := range g.Replicas {
		if slices.ContainsFunc(templates, func(t workloadv1alpha1.Role) bool { return t.Name == r.Role }) {
			continue
		}
		g.surplus = append(g.surplus, r)
		if r.Exists() {
			g.doom(r, whyRollout)
		}
	}
}

func (c *computation) shapeRole(g *group, name string) role {
	seen := g.OfRole(name)
	wanted := c.wantedReplicas(g, name)
	existing := 0
	for _, r := range seen {
		if r.Exists() {
			existing++
		}
	}
	if g.waiting {
		wanted = max(wanted, existing)
	}
	out := role{name: name, replicas: make([]*replica, 0, wanted)}
	var add, removed []int
	if existing != wanted {
		add, removed = scale.Decide(c.roleUnits(name, seen), wanted)
	}
	for _, ordinal := range add {
		out.replicas = append(out.replicas, c.newReplica(g, name, ordinal, g.Replica(name, ordinal)))
	}
	for _, r := range seen {
		if slices.Contains(add, r.Ordinal) {
			continue
		}
		if slices.Contains(removed, r.Ordinal) || !r.Exists() {
			g.surplus = append(g.surplus, r)
			if r.Exists() {
				g.doom(r, whyScaleDown)
			}
			continue
		}
		out.replicas = append(out.replicas, c.newReplica(g, name, r.Ordinal, r))
	}
	slices.SortFunc(out.replicas, func(a, b *replica) int { return cmp.Compare(a.ordinal, b.ordinal) })
	return out
}

func (c *computation) roleUnits(name string, seen []*state.Replica) []scale.Unit {
	var units []scale.Unit
	for _, r := range seen {
		if r.Exists() {
			units = append(units, scale.Unit{
				Ordinal: r.Ordinal, Protected: c.protectsReplica(name, r.Ordinal) || c.isCounted(name, r.Ordinal),
				Ended: r.Living == 0, Available: r.Available, Cost: r.Cost,
			})
		}
	}
	return units
}

func (c *computation) protectsReplica(name string, ordinal int) bool {
	return c.byRole && ordinal < c.roleLimits[name].Partition
}

// isCounted says that an autoscaler counts the groups by this role replica (status.labelSelector): a
// group that loses it for good would not be counted any more.
func (c *computation) isCounted(name string, ordinal int) bool {
	return ordinal == 0 && name == status.CountedRole(c.ms)
}

// newReplica decides what a role replica is made from: under a rollout of whole groups what the group
// is made from, else its own revision while it is protected.
func (c *computation) newReplica(g *group, name string, ordinal int, seen *state.Replica) *replica {
	r := &replica{role: name, ordinal: ordinal, seen: seen, target: g.target}
	if seen != nil {
		r.id = seen.ID
	} else {
		r.id = names.RoleReplica(name, ordinal)
	}
	if !c.byRole {
		return r
	}
	held := c.paused || c.protectsReplica(name, ordinal)
	if seen != nil && seen.Living > 0 {
		switch {
		case c.update.Matches(name, seen.Revision, seen.RoleHash):
			r.target = c.update
		case held:
			r.target = c.revisions.Get(seen.Revision)
		default:
			r.outdated = true
			r.target = c.revisions.Get(seen.Revision)
		}
		return r
	}
	if !held {
		return r
	}
	// Nothing of it stands: it is rebuilt as it was, if somebody knows how that was.
	var hashes []string
	for _, rec := range c.remembered[g.Name] {
		if rec.RoleID == r.id || rec.RoleID == "" {
			hashes = append(hashes, c.revisions.HashOf(rec.Revision))
		}
	}
	if seen != nil && !(seen.Removing && c.paused && !c.protectsReplica(name, ordinal)) {
		hashes = append(hashes, seen.Revision)
	}
	if c.protectsReplica(name, ordinal) {
		hashes = append(hashes, c.current)
	}
	for _, hash := range hashes {
		if rev := c.revisions.Get(hash); rev != nil && rev.Workers(name) >= 0 {
			r.target = rev
			return r
		}
	}
	return r
}

// doom has a role replica deleted.
func (g *group) doom(r *state.Replica, why string) {
	if g.doomed == nil {
		g.doomed = map[*state.Replica]string{}
	}
	g.doomed[r] = why
}

// rollRoles takes the next step of a rollout of role replicas.
func (c *computation) rollRoles() {
	if !c.byRole {
		return
	}
	for _, g := range c.groups {
		if g.fate != keep || g.Removing {
			continue
		}
		for i := range g.roles {
			c.rollRole(g, &g.roles[i])
		}
	}
}

func (c *computation) rollRole(g *group, role *role) {
	var units []rollout.Unit
	outdated := false
	for _, r := range role.replicas {
		outdated = outdated || r.outdated
		units = append(units, rollout.Unit{Ordinal: r.ordinal, Outdated: r.outdated, Available: r.available() && !r.lost && !g.isDoomed(r)})
	}
	if !outdated {
		return
	}
	wanted := c.wantedReplicas(g, role.name)
	for _, ordinal := range rollout.Step(units, c.roleLimits[role.name].MinAvailable(wanted)) {
		if r := g.Replica(role.name, ordinal); g.doomed[r] == "" {
			g.doom(r, whyRollout)
		}
	}
}

func (g *group) isDoomed(r *replica) bool { return r.seen != nil && g.doomed[r.seen] != "" }

// recover applies the recovery policy to the groups that stay. What it takes down no rollout may count
// on, so it comes first.
func (c *computation) recover() {
	grace := time.Duration(ptr.Deref(c.ms.Spec.Template.RestartGracePeriodSeconds, 0)) * time.Second
	deadline := time.Duration(ptr.Deref(c.ms.Spec.Template.ProgressDeadlineSeconds, 1800)) * time.Second
	whole := status.WholeSince(&c.ms.Status)
	for _, g := range c.groups {
		old := c.remembered[g.Name]
		switch {
		case g.fate != keep:
			// Recoveries of what goes are forgotten.
			continue
		case g.Removing, g.waiting, g.target == nil:
			c.records = append(c.records, old...)
			continue
		case len(old) == 0 && g.calm():
			continue
		}
		in := recovery.Input{
			Policy: c.ms.Spec.RecoveryPolicy, Grace: grace, Deadline: deadline,
			Group: g.Name, Available: g.available, WholeSince: whole, Revision: c.revisions.NameOf(g.own),
			Records: old, Now: c.now,
		}
		for i := range g.roles {
			for _, r := range g.roles[i].replicas {
				in.Replicas = append(in.Replicas, c.recoverable(g, r))
			}
		}
		c.carryOut(g, recovery.Decide(in))
	}
}

// calm says that there is nothing in the group for recovery to judge.
func (g *group) calm() bool {
	if g.lost || g.Going > 0 {
		return false
	}
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			if p.Ended() || restarted(p.Status.ContainerStatuses) || restarted(p.Status.InitContainerStatuses) {
				return false
			}
		}
	}
	return true
}

func restarted(containers []corev1.ContainerStatus) bool {
	for i := range containers {
		if containers[i].RestartCount > 0 {
			return true
		}
	}
	return false
}

func (c *computation) recoverable(g *group, r *replica) recovery.Replica {
	out := recovery.Replica{ID: r.id, Available: r.available(), Lost: r.lost}
	if r.target != nil {
		out.Size = 1 + r.target.Workers(r.role)
	}
	if r.seen != nil {
		out.Pods = r.seen.Pods
		out.Revision = c.revisions.NameOf(r.seen.Revision)
		// What is outdated and not available, the rollout takes at no cost.
		out.Removing = r.seen.Removing || g.isDoomed(r) || (r.outdated && !r.available())
	}
	return out
}

func (c *computation) carryOut(g *group, out recovery.Output) {
	c.records = append(c.records, out.Records...)
	for _, n := range out.Notes {
		c.notes = append(c.notes, action.Event{
			Type: corev1.EventTypeWarning, Reason: n.Reason, Message: n.Message, Field: names.RecoveryField(g.Name, n.RoleID),
		})
	}
	c.wake(out.Next)
	g.pending, g.stopped = out.Pending, out.Waiting
	if out.Group {
		if g.Exists() || g.PodGroup != nil {
			g.fate, g.why = rebuild, whyRecovery
		}
		return
	}
	for i := range g.roles {
		for _, r := range g.roles[i].replicas {
			if r.exists() && slices.Contains(out.Replicas, r.id) {
				g.doom(r.seen, whyRecovery)
			}
		}
	}
	g.doomedPods = out.Pods
}
