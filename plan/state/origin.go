package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gangway-serving/gangway/plan/names"
)

// origin is what a Pod was made from. Two of its labels tell of it, the revision's hash and the
// role's. When somebody edited one of them, the other one and the rest of the group still tell; a Pod
// of which neither can be believed is of a revision that nobody knows, and goes when it is its turn.
type origin struct{ revision, roleHash string }

// member is a living Pod of a group, with the name of its role.
type member struct {
	*Pod
	role string
}

// isOf says whether a Pod's labels name a revision, and agree with it.
func (m member) isOf(r *Revision) bool {
	return r != nil && m.Revision() == r.Hash && r.makes(m.role, m.RoleHash())
}

// mayBeOf says whether one of the labels tells of the revision.
func (m member) mayBeOf(r *Revision) bool {
	return r.makes(m.role, m.RoleHash()) || (m.Revision() == r.Hash && r.Workers(m.role) >= 0)
}

func (m member) setOrigin(r *Revision) { m.origin = &origin{r.Hash, r.Template.RoleHashes[m.role]} }

// makes says whether the revision makes Pods with that hash of a role.
func (r *Revision) makes(role, roleHash string) bool {
	return roleHash != "" && r.Template.RoleHashes[role] == roleHash
}

// findOrigins finds out what those living Pods were made from whose labels agree with no revision.
// It never makes a group look as if it were of more revisions than its other Pods are. Where byRole
// says that each role has a template of its own, the rest of a group proves little, and the role's hash
// is believed: it stands for the content.
func (g *Group) findOrigins(revisions *Revisions, byRole bool) {
	var damaged []member
	sound := map[*Revision]bool{}
	for _, r := range g.Replicas {
		for _, p := range r.Pods {
			if p.Going() {
				continue
			}
			m := member{p, r.Role}
			own := revisions.Get(p.Revision())
			switch {
			case m.isOf(own):
				sound[own] = true
			case own != nil && m.mayBeOf(own) && revisions.making(r.Role, p.RoleHash()) == nil:
				// No revision makes such a Pod, so the role's hash is wrong.
				m.setOrigin(own)
				sound[own] = true
			default:
				damaged = append(damaged, m)
			}
		}
	}
	if len(damaged) == 0 {
		return
	}
	candidates := slices.Collect(maps.Keys(sound))
	if len(sound) == 0 {
		candidates = g.revisionOfAll(revisions, damaged)
	}
	newestFirst(candidates)
	for _, m := range damaged {
		fits := m.mayBeOf
		if byRole {
			candidates = revisions.making(m.role, m.RoleHash())
			fits = func(r *Revision) bool { return sound[r] }
		}
		if i := slices.IndexFunc(candidates, fits); i >= 0 {
			m.setOrigin(candidates[i])
		} else if byRole && len(candidates) > 0 {
			m.setOrigin(candidates[0])
		}
	}
}

// revisionOfAll is the revision that all members may be of: the PodGroup's, or the one that has just
// their roles and makes all of them.
func (g *Group) revisionOfAll(revisions *Revisions, members []member) []*Revision {
	all := func(is func(member) bool) bool {
		return !slices.ContainsFunc(members, func(m member) bool { return !is(m) })
	}
	if g.PodGroup != nil {
		r := revisions.Get(g.PodGroup.Labels[names.LabelRevision])
		if r != nil && all(func(m member) bool { return m.mayBeOf(r) }) {
			return []*Revision{r}
		}
	}
	roles := map[string]bool{}
	for _, m := range members {
		roles[m.role] = true
	}
	for _, r := range revisions.making(members[0].role, members[0].RoleHash()) {
		if len(r.Template.Roles) == len(roles) && all(func(m member) bool { return r.makes(m.role, m.RoleHash()) }) {
			return []*Revision{r}
		}
	}
	return nil
}

// making are the revisions that make Pods with that hash of a role, the newest first.
func (r *Revisions) making(role, roleHash string) []*Revision {
	var all []*Revision
	for hash := range r.objects {
		if rev := r.Get(hash); rev != nil && rev.makes(role, roleHash) {
			all = append(all, rev)
		}
	}
	newestFirst(all)
	return all
}

func newestFirst(all []*Revision) {
	slices.SortFunc(all, func(a, b *Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Hash, b.Hash))
	})
}
