package plan

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
)

// findCurrent is the current revision of the status or, when it was never written or is gone, the
// oldest that there is.
func (c *computation) findCurrent() {
	c.current = c.revisions.HashOf(c.ms.Status.CurrentRevision)
	if c.revisions.Get(c.current) != nil {
		return
	}
	oldest := c.update
	for _, o := range c.snapshot.Revisions {
		if r := c.revisions.Get(c.revisions.HashOf(o.Name)); r != nil && r.Number < oldest.Number {
			oldest = r
		}
	}
	c.current = oldest.Hash
}

// moveCurrent finds the current revision: it moves to the update revision when every group has got
// there, and to the oldest that is left when all groups stand and none has the old one any more.
// While anything is being rebuilt it stays: a group that the partition protects may need it.
func (c *computation) moveCurrent() {
	done, standing, quiet, kept := true, true, true, 0
	oldest := c.update
	for _, g := range c.groups {
		if g.fate != remove {
			kept++
			done = done && g.fate == keep && g.available && !g.outdated
			standing = standing && g.Living > 0 && g.own != c.current
		}
		quiet = quiet && g.Going == 0
		if own := c.revisions.Get(g.own); own != nil && own.Number < oldest.Number {
			oldest = own
		}
	}
	switch {
	case kept < c.replicas, !quiet:
	case done:
		c.current = c.update.Hash
	case standing:
		c.current = oldest.Hash
	}
}

// trimHistory deletes the oldest ControllerRevisions beyond the limit. Those in use do not count:
// the update and the current one, those of Pods and PodGroups, and those that a recovery rebuilds.
func (c *computation) trimHistory() {
	limit := int(ptr.Deref(c.ms.Spec.RevisionHistoryLimit, 10))
	if len(c.snapshot.Revisions) <= limit {
		return
	}
	used := map[string]bool{
		c.update.Name:                 true,
		c.revisions.NameOf(c.current): true,
	}
	for _, r := range c.records {
		used[r.Revision] = true
	}
	for _, g := range c.groups {
		// What this very pass makes Pods from.
		if g.target != nil {
			used[g.target.Name] = true
		}
		for i := range g.roles {
			for _, r := range g.roles[i].replicas {
				if r.target != nil {
					used[r.target.Name] = true
				}
			}
		}
	}
	for _, g := range c.view.Groups {
		if g.PodGroup != nil {
			used[c.revisions.NameOf(g.PodGroup.Labels[names.LabelRevision])] = true
		}
		for _, r := range g.Replicas {
			for _, p := range r.Pods {
				used[c.revisions.NameOf(p.Revision())] = true
			}
		}
	}
	var unused []*appsv1.ControllerRevision
	for _, r := range c.snapshot.Revisions {
		if !used[r.Name] && r.DeletionTimestamp == nil {
			unused = append(unused, r)
		}
	}
	slices.SortFunc(unused, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range unused[:max(0, len(unused)-limit)] {
		c.plan.After = append(c.plan.After, action.Action{Verb: action.Delete, Object: r, Why: whyHistory})
	}
}
