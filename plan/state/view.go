package state

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// View is a Snapshot, sorted.
type View struct {
	Snapshot
	Revisions *Revisions
	// Groups are those of which anything is there, by ordinal.
	Groups []*Group
	// Strays are owned Pods whose names have no place, StrayPodGroups owned PodGroups likewise.
	Strays         []*corev1.Pod
	StrayPodGroups []*schedulingv1beta1.PodGroup

	byOrdinal map[int]*Group
}

// Group is what is there of a ServingGroup.
type Group struct {
	Ordinal int
	Name    string
	// Replicas are those of which anything is there, by role and ordinal.
	Replicas []*Replica
	PodGroup *schedulingv1beta1.PodGroup
	// Removing: Gangway has decided to delete the whole group, and some of it is left. Nothing is
	// created in the group until all of it is gone.
	Removing bool
	// PodGroupRemoving: the PodGroup is one of the things that go.
	PodGroupRemoving bool
	// Living and Going are the numbers of its Pods that stay and that go.
	Living, Going int
	// Revision is the hash on the first of the living Pods. Mixed: there are others.
	Revision string
	Mixed    bool
}

// Replica is what is there of a role replica.
type Replica struct {
	Group   *Group
	Role    string
	Ordinal int
	// ID is unique in the group.
	ID string
	// Pods are in the order of their index.
	Pods []*Pod
	// Service is the headless Service; nil when there is none.
	Service *corev1.Service
	// Removing is as in Group, for this role replica; also true when the whole group goes.
	Removing bool
	Living   int
	// Revision and RoleHash are those of the first living Pod or, without one, of the first.
	Revision, RoleHash string
	// Complete: the entry and all workers that its own revision asks for are there.
	Complete bool
	// Available: it is complete, and all of its Pods are Ready.
	Available bool
	// Cost is the sum of the pod-deletion-costs.
	Cost int64
}

// Observe sorts a snapshot. It takes time in proportion to the number of objects.
func Observe(s Snapshot, revisions *Revisions) *View {
	v := &View{Snapshot: s, Revisions: revisions, byOrdinal: map[int]*Group{}}
	ms := s.ModelServing
	removals := indexRemovals(ms.Status.Removals)

	pods := make([]Pod, len(s.Pods))
	for i, pod := range s.Pods {
		g, role, r, n, ok := names.ParsePod(ms.Name, pod.Name)
		if !ok {
			v.Strays = append(v.Strays, pod)
			continue
		}
		p := &pods[i]
		ready := condition(pod, corev1.PodReady)
		*p = Pod{Pod: pod, Index: n, Ready: ready != nil && ready.Status == corev1.ConditionTrue}
		replica := v.group(g).replica(role, r)
		replica.Pods = append(replica.Pods, p)
	}
	for _, service := range s.Services {
		// The Service of the route has a name without ordinals.
		if g, role, r, n, ok := names.ParsePod(ms.Name, service.Name); ok && n == 0 {
			v.group(g).replica(role, r).Service = service
		}
	}
	for _, pg := range s.PodGroups {
		if g, ok := names.GroupOrdinal(ms.Name, pg.Name); ok {
			v.group(g).PodGroup = pg
		} else {
			v.StrayPodGroups = append(v.StrayPodGroups, pg)
		}
	}

	slices.SortFunc(v.Groups, func(a, b *Group) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	slices.SortFunc(v.Strays, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(v.StrayPodGroups, func(a, b *schedulingv1beta1.PodGroup) int { return cmp.Compare(a.Name, b.Name) })
	byRole := ms.Spec.RolloutStrategy != nil && ms.Spec.RolloutStrategy.Type == workloadv1alpha1.RoleRollingUpdate
	for _, g := range v.Groups {
		for _, r := range g.Replicas {
			r.sort(removals)
		}
		g.findOrigins(revisions, byRole)
		g.finish(revisions, removals)
	}
	return v
}

// Group is nil when nothing of it is there.
func (v *View) Group(ordinal int) *Group { return v.byOrdinal[ordinal] }

func (v *View) group(ordinal int) *Group {
	g, ok := v.byOrdinal[ordinal]
	if !ok {
		g = &Group{Ordinal: ordinal, Name: names.Group(v.ModelServing.Name, ordinal)}
		v.byOrdinal[ordinal] = g
		v.Groups = append(v.Groups, g)
	}
	return g
}

// Exists says that there are Pods, be it terminating ones.
func (g *Group) Exists() bool { return g.Living+g.Going > 0 }

// Replica is nil when nothing of it is there.
func (g *Group) Replica(role string, ordinal int) *Replica {
	for _, r := range g.Replicas {
		if r.Ordinal == ordinal && r.Role == role {
			return r
		}
	}
	return nil
}

func (g *Group) replica(role string, ordinal int) *Replica {
	if r := g.Replica(role, ordinal); r != nil {
		return r
	}
	r := &Replica{Group: g, Role: role, Ordinal: ordinal, ID: names.RoleReplica(role, ordinal)}
	g.Replicas = append(g.Replicas, r)
	return r
}

// OfRole are the role replicas of a role.
func (g *Group) OfRole(role string) []*Replica {
	first := 0
	for first < len(g.Replicas) && g.Replicas[first].Role != role {
		first++
	}
	end := first
	for end < len(g.Replicas) && g.Replicas[end].Role == role {
		end++
	}
	return g.Replicas[first:end]
}

// Exists says that there are Pods, be it terminating ones.
func (r *Replica) Exists() bool { return len(r.Pods) > 0 }

func (g *Group) finish(revisions *Revisions, removals removals) {
	slices.SortFunc(g.Replicas, func(a, b *Replica) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	until, whole := removals.of(g.Name, "", "")
	if whole && g.PodGroup != nil && !g.PodGroup.CreationTimestamp.After(until.Time) {
		g.Removing, g.PodGroupRemoving = true, true
	}
	for _, r := range g.Replicas {
		r.finish(revisions)
		g.Living += r.Living
		g.Going += len(r.Pods) - r.Living
		for _, p := range r.Pods {
			g.Removing = g.Removing || (whole && p.Removing && !p.CreationTimestamp.After(until.Time))
			if p.Going() {
				continue
			}
			if g.Revision == "" {
				g.Revision = p.Revision()
			}
			g.Mixed = g.Mixed || g.Revision != p.Revision()
		}
	}
	if g.Removing {
		for _, r := range g.Replicas {
			r.Removing = true
		}
	}
}

// sort puts the Pods in order, and finds out which of them go.
func (r *Replica) sort(removals removals) {
	slices.SortFunc(r.Pods, func(a, b *Pod) int { return cmp.Compare(a.Index, b.Index) })
	if len(removals) == 0 {
		return
	}
	for _, p := range r.Pods {
		p.Removing, r.Removing = removals.covers(r, p)
	}
}

func (r *Replica) finish(revisions *Revisions) {
	ready, contiguous := 0, true
	var living *Pod
	for _, p := range r.Pods {
		r.Cost += deletionCost(p.Pod)
		if p.Going() {
			continue
		}
		if living == nil {
			living = p
		}
		contiguous = contiguous && p.Index == r.Living
		r.Living++
		if p.Ready {
			ready++
		}
	}
	if living == nil && len(r.Pods) > 0 {
		r.Revision, r.RoleHash = r.Pods[0].Revision(), r.Pods[0].RoleHash()
		return
	}
	if living == nil {
		return
	}
	r.Revision, r.RoleHash = living.Revision(), living.RoleHash()
	size := max(r.Living, living.groupSize())
	if own := revisions.Get(r.Revision); own != nil {
		size = 1 + own.Workers(r.Role)
	}
	r.Complete = contiguous && r.Living >= size && r.Living == len(r.Pods)
	r.Available = r.Complete && ready == r.Living
}

// removals maps what is to go to the creation time of the youngest thing that goes. Its keys are
// RemovalStatus without the time.
type removals map[workloadv1alpha1.RemovalStatus]metav1.Time

func indexRemovals(list []workloadv1alpha1.RemovalStatus) removals {
	if len(list) == 0 {
		return nil
	}
	m := make(removals, len(list))
	for _, r := range list {
		key := r
		key.CreatedUntil = metav1.Time{}
		m[key] = later(m[key], r.CreatedUntil)
	}
	return m
}

func (m removals) of(group, roleID, pod string) (until metav1.Time, ok bool) {
	until, ok = m[workloadv1alpha1.RemovalStatus{Group: group, RoleID: roleID, Pod: pod}]
	return until, ok
}

// covers says whether a Pod goes, and whether the whole role replica does. Removing a unit is never
// undone by a younger Pod, so what is true of the replica already stays true.
func (m removals) covers(r *Replica, p *Pod) (pod, replica bool) {
	replica = r.Removing
	for _, key := range [...][2]string{{"", ""}, {r.ID, ""}, {r.ID, p.Name}} {
		until, ok := m.of(r.Group.Name, key[0], key[1])
		if !ok || p.CreationTimestamp.After(until.Time) {
			continue
		}
		pod = true
		replica = replica || key[1] == ""
	}
	return pod, replica
}
