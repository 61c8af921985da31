package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/recovery"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/rollout"
	"github.com/gangway-serving/gangway/plan/state"
)

// fate is what becomes of a ServingGroup in this pass.
type fate int

const (
	// keep it, and complete it.
	keep fate = iota
	// rebuild it: delete all of it; a later pass makes it anew.
	rebuild
	// remove it for good.
	remove
)

// group is a ServingGroup that is there or wanted.
type group struct {
	*state.Group
	fate fate
	// why is the reason of the fate.
	why string

	// target is what its Pods are to be made from; nil when nobody knows any more.
	target *state.Revision
	// own is the hash of the revision that the group has now; "" for none.
	own string
	// protected by the partition.
	protected bool
	// outdated: it has Pods, and not of the update revision. waiting: it is to be replaced when it is
	// its turn, and nothing is added to it before.
	outdated, waiting bool
	// available: all that is wanted of it is there and Ready.
	available bool
	// lost: a Pod of it vanished.
	lost bool

	roles []role
	// surplus are role replicas that are not wanted.
	surplus []*state.Replica
	// pending says what a recovery waits for.
	pending string
	// stopped are the role replicas in which nothing is created in this pass; "" is the group.
	stopped map[string]bool
	// doomed are the role replicas to be deleted in this pass, with the reason, and single Pods.
	doomed     map[*state.Replica]string
	doomedPods []*state.Pod
	// creates is the number of objects that this pass creates.
	creates int
}

// held says that no rollout step is to be taken with the group.
func (c *computation) held(g *group) bool { return g.protected || c.paused }

// assessGroups finds out which revision each group has, and which one it is to have.
func (c *computation) assessGroups() {
	c.groups = make([]*group, 0, max(len(c.view.Groups), c.replicas))
	for _, observed := range c.view.Groups {
		c.groups = append(c.groups, c.assess(observed))
	}
}

func (c *computation) assess(observed *state.Group) *group {
	g := &group{Group: observed, protected: !c.byRole && observed.Ordinal < c.limits.Partition}
	g.own = c.ownRevision(g)
	switch {
	case g.Living > 0 && c.isUpdated(g):
		g.target = c.update
	case g.Living > 0:
		g.outdated = true
		g.waiting = !c.held(g) && !c.byRole
		g.target = c.revisions.Get(g.own)
		if c.byRole && !c.paused {
			g.target = c.update
		}
	case !c.held(g) || g.own == "" && !g.protected:
		g.target = c.update
	default:
		g.target = c.revisions.Get(cmp.Or(g.own, c.current))
		if g.target == nil || (!g.Exists() && c.wantsNothing(g.target)) {
			// Of a group without Pods there is nothing to keep.
			g.own, g.target = "", c.update
		}
	}
	if g.target == nil {
		g.pending = fmt.Sprintf("its ControllerRevision %s is gone or damaged, so it cannot be completed; let the rollout replace it (partition, paused)",
			c.revisions.NameOf(g.own))
	}
	g.available = c.isAvailable(g)
	return g
}

// wantsNothing says that a group of that revision has no Pods.
func (c *computation) wantsNothing(r *state.Revision) bool {
	for i := range r.Template.Roles {
		if revision.RoleReplicas(c.ms, r.Template, r.Template.Roles[i].Name) > 0 {
			return false
		}
	}
	return true
}

// ownRevision is the hash of the revision that a group has: of its living Pods or, when it is to be
// rebuilt as it was, of its last incarnation.
func (c *computation) ownRevision(g *group) string {
	if g.Living > 0 {
		if !g.Mixed {
			return g.Revision
		}
		return c.newest(g.Group)
	}
	var fromRecord string
	for _, r := range c.remembered[g.Name] {
		if r.RoleID == "" || fromRecord == "" {
			fromRecord = c.revisions.HashOf(r.Revision)
		}
	}
	if fromRecord != "" && c.revisions.Get(fromRecord) != nil {
		return fromRecord
	}
	for _, r := range g.Replicas {
		if r.Revision != "" && c.revisions.Get(r.Revision) != nil {
			return r.Revision
		}
	}
	if g.PodGroup != nil {
		if hash := g.PodGroup.Labels[names.LabelRevision]; c.revisions.Get(hash) != nil {
			return hash
		}
	}
	return ""
}

// newest is the latest revision among the living Pods of a group that RoleRollingUpdate has mixed.
func (c *computation) newest(g *state.Group) string {
	best := g.Revision
	for _, r := range g.Replicas {
		if r.Living == 0 {
			continue
		}
		known, b := c.revisions.Get(r.Revision), c.revisions.Get(best)
		if known != nil && (b == nil || known.Number > b.Number) {
			best = r.Revision
		}
	}
	return best
}

// isUpdated says whether the living Pods are what the update revision makes. Within a group that was
// never mixed the revision decides, so that it is never mixed; otherwise the roles' own hashes do, so
// that changing the type of the rollout restarts nobody.
func (c *computation) isUpdated(g *group) bool {
	if !c.byRole && !g.Mixed {
		return g.Revision == c.update.Hash
	}
	for _, r := range g.Replicas {
		if r.Living > 0 && !c.update.Matches(r.Role, r.Revision, r.RoleHash) {
			return false
		}
	}
	return true
}

// isAvailable says whether all that is wanted of a group is there and Ready. A waiting group is
// judged by what its revision last had: what was asked for since is not added to it any more.
func (c *computation) isAvailable(g *group) bool {
	if g.Removing {
		return false
	}
	if g.target == nil {
		return c.isAvailableAsItIs(g)
	}
	for i := range g.target.Template.Roles {
		name := g.target.Template.Roles[i].Name
		if g.availableOf(name) < c.wantedReplicas(g, name) {
			return false
		}
	}
	return true
}

// isAvailableAsItIs judges a group whose revision nobody knows any more. Replicas are no part of a
// revision, so the live spec says how many are wanted of its roles; of a role that the spec has no
// more, all that is there is to be Ready.
func (c *computation) isAvailableAsItIs(g *group) bool {
	live := map[string]bool{}
	for i := range c.ms.Spec.Template.Roles {
		r := &c.ms.Spec.Template.Roles[i]
		if live[r.Name] = true; g.availableOf(r.Name) < int(ptr.Deref(r.Replicas, 1)) {
			return false
		}
	}
	return g.Living > 0 && !slices.ContainsFunc(g.Replicas, func(r *state.Replica) bool {
		return r.Exists() && !r.Available && !live[r.Role]
	})
}

// availableOf is the number of role replicas of a role that are available, and stay.
func (g *group) availableOf(role string) int {
	n := 0
	for _, r := range g.OfRole(role) {
		if _, doomed := g.doomed[r]; r.Available && !doomed {
			n++
		}
	}
	return n
}

// wantedReplicas is how many replicas of a role a group is to have.
func (c *computation) wantedReplicas(g *group, role string) int {
	live := revision.RoleReplicas(c.ms, g.target.Template, role)
	if !g.waiting {
		return live
	}
	if r, ok := g.target.Template.Role(role); ok && r.Replicas != nil {
		return min(int(*r.Replicas), live)
	}
	return min(1, live)
}

// findLosses marks the groups and role replicas that lost Pods without anybody seeing it.
func (c *computation) findLosses() {
	for i := range c.ms.Status.Roles {
		had := &c.ms.Status.Roles[i]
		has := 0
		for _, g := range c.view.Groups {
			for _, r := range g.OfRole(had.Name) {
				if r.Complete && !r.Removing {
					has++
				}
			}
		}
		if has >= int(had.Replicas) {
			continue
		}
		asked := c.askedBefore(had.Name)
		var units []recovery.Incomplete
		var owners []*group
		var replicas []*replica
		for _, g := range c.groups {
			if g.fate != keep || g.Removing {
				continue
			}
			for _, r := range g.incomplete(had.Name) {
				u := recovery.Incomplete{Touched: r.seen != nil && r.seen.Living > 0, Empty: !g.Exists(), New: r.ordinal >= asked}
				if r.seen != nil {
					for _, p := range r.seen.Pods {
						u.Taken = u.Taken || p.Taken()
					}
				}
				units, owners, replicas = append(units, u), append(owners, g), append(replicas, r)
			}
		}
		for _, i := range recovery.Lost(int(had.Replicas), has, units) {
			replicas[i].lost = true
			owners[i].lost = true
		}
	}
}

// askedBefore is how many replicas of a role the spec asked for in the pass before, as the stored
// update revision remembers; when it does not, as many as there may be.
func (c *computation) askedBefore(role string) int {
	for _, stored := range c.snapshot.Revisions {
		if stored.Name != c.update.Name {
			continue
		}
		if t, err := revision.Decode(stored); err == nil {
			if r, ok := t.Role(role); ok && r.Replicas != nil {
				return int(*r.Replicas)
			}
		}
	}
	return math.MaxInt
}

// isGrowing says that a group serves, but not yet with all that was asked for: each role has a role
// replica that is Ready, and none that is not was ever wholly Ready. Whether it served with less
// before cannot be seen: readiness may have blipped since.
func (c *computation) isGrowing(g *group) bool {
	if g.lost || g.Going > 0 || g.target == nil {
		return false
	}
	for _, r := range g.Replicas {
		if !r.Available && r.Complete && !slices.ContainsFunc(r.Pods, func(p *state.Pod) bool { return !p.EverReady() }) {
			return false
		}
	}
	for i := range g.target.Template.Roles {
		name := g.target.Template.Roles[i].Name
		available := func(r *state.Replica) bool { return r.Available }
		if c.wantedReplicas(g, name) > 0 && !slices.ContainsFunc(g.OfRole(name), available) {
			return false
		}
	}
	return true
}

// rollGroups takes the next step of a rollout of whole groups.
func (c *computation) rollGroups() {
	if c.byRole {
		return
	}
	var units []rollout.Unit
	for _, g := range c.groups {
		if g.fate != keep {
			continue
		}
		// Scaling a role down may leave a replica that is not Ready, and the group without.
		available := g.available && (len(g.doomed) == 0 || c.isAvailable(g))
		units = append(units, rollout.Unit{Ordinal: g.Ordinal, Outdated: g.waiting, Available: available, Growing: g.waiting && !available && c.isGrowing(g)})
	}
	down := rollout.Step(units, c.limits.MinAvailable(c.replicas))
	for _, g := range c.groups {
		if g.fate != keep || g.Removing {
			continue
		}
		if _, ok := slices.BinarySearch(down, g.Ordinal); ok {
			c.replace(g)
			continue
		}
		// The gang of an incarnation that is over, of another revision, is not the next one's.
		if g.Living == 0 && g.PodGroup != nil && g.target != nil {
			if hash := g.PodGroup.Labels[names.LabelRevision]; hash != "" && hash != g.target.Hash {
				c.replace(g)
			}
		}
	}
}

// replace has a rollout rebuild a group. What failed in it before is forgotten.
func (c *computation) replace(g *group) {
	g.fate, g.why = rebuild, whyRollout
	c.records = slices.DeleteFunc(c.records, func(r workloadv1alpha1.RecoveryStatus) bool { return r.Group == g.Name })
}
