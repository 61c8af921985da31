package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/state"
)

// A quota that is too small for all groups must not be spread over several that then are all
// incomplete: no gang of them could ever run. While the last pass met a quota, Pods are made for the
// lowest group alone that lacks some; and a higher one that lacks some, too, and never served gives
// back what it has, one group a pass, the highest first.
//
// Neither goes on for ever: what was given back is made again only once the lower group is complete
// or the quota is met no more, and each gift leaves one group less to take from.

// isQuotaMet says that a quota refused a Pod in the last pass.
func (c *computation) isQuotaMet() bool {
	p := meta.FindStatusCondition(c.ms.Status.Conditions, workloadv1alpha1.ConditionProgressing)
	return p != nil && p.Reason == workloadv1alpha1.ReasonQuotaExceeded
}

// giveBack takes down the highest group that only holds what a lower one lacks.
func (c *computation) giveBack() {
	if !c.isQuotaMet() {
		return
	}
	lowest := slices.IndexFunc(c.groups, c.lacksPods)
	if lowest < 0 {
		return
	}
	for _, g := range slices.Backward(c.groups[lowest+1:]) {
		if g.Living > 0 && c.comesBackAlike(g) && c.lacksPods(g) && !everServed(g.Group) {
			g.fate, g.why = rebuild, whyQuota
			return
		}
	}
}

// comesBackAlike says that a group which is taken down is made again of the revision that it has: of the
// update revision or, behind a partition, of the current one.
func (c *computation) comesBackAlike(g *group) bool {
	partition := g.protected
	for _, l := range c.roleLimits {
		partition = partition || (c.byRole && l.Partition > 0)
	}
	return !g.outdated && (!partition || g.own == c.current)
}

// lacksPods says that Pods of the group are to be created now, and that their names are free.
func (c *computation) lacksPods(g *group) bool {
	if g.fate != keep || g.Removing || g.waiting || g.target == nil || g.stopped[""] {
		return false
	}
	for i := range g.roles {
		for _, r := range g.roles[i].replicas {
			if r.target == nil || r.removing() || r.outdated || g.stopped[r.id] {
				continue
			}
			if r.seen == nil || len(r.seen.Pods) < 1+r.target.Workers(r.role) {
				return true
			}
		}
	}
	return false
}

// everServed says that a Pod of the group has been Ready.
func everServed(g *state.Group) bool {
	return slices.ContainsFunc(g.Replicas, func(r *state.Replica) bool {
		return slices.ContainsFunc(r.Pods, func(p *state.Pod) bool { return p.EverReady() })
	})
}
