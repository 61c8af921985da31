// Package revision turns what makes Pods into ControllerRevisions and back.
//
// A revision's hash must be the same for ever: it is in the labels of running Pods, and a hash that
// moves restarts them. So it is computed over a canonical form, from which everything is absent that
// the API server would fill in anyway, and a revision that means the same as an old one is the old
// one, whatever its bytes hash to today.
package revision

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Template is what makes the Pods of a ServingGroup. Treat it as read-only: it may share memory
// with the object that it was read from.
type Template struct {
	// SchedulerName is the scheduler of every Pod.
	SchedulerName string
	// Roles hold Name, EntryTemplate, WorkerReplicas and WorkerTemplate. Replicas is how many role
	// replicas a group had when the revision last was the update revision, nil where nobody wrote it
	// down; it is no part of the data. RoleReplicas says how many are wanted.
	Roles []workloadv1alpha1.Role
	// Hash is the hash in the revision's name and on its Pods; "" in a Template made by Of.
	Hash string
	// RoleHashes maps a role to the hash of its templates, workerReplicas and the schedulerName:
	// the value of names.LabelRoleTemplateHash.
	RoleHashes map[string]string
}

// Role returns the role of that name.
func (t Template) Role(name string) (workloadv1alpha1.Role, bool) {
	for i := range t.Roles {
		if t.Roles[i].Name == name {
			return t.Roles[i], true
		}
	}
	return workloadv1alpha1.Role{}, false
}

// Of reads the template out of the live spec, in canonical form.
func Of(ms *workloadv1alpha1.ModelServing) Template {
	t := Template{SchedulerName: ms.Spec.SchedulerName}
	for i := range ms.Spec.Template.Roles {
		t.Roles = append(t.Roles, canonicalRole(&ms.Spec.Template.Roles[i]))
		t.Roles[i].Replicas = ptr.To(ptr.Deref(ms.Spec.Template.Roles[i].Replicas, 1))
	}
	t.RoleHashes = roleHashes(t.SchedulerName, t.Roles)
	return t
}

// RoleReplicas is how many replicas of a role a group of that template has: what the live spec says
// and, for a role that the live spec no longer has, what the revision remembers. A role that is not
// in the template has none.
func RoleReplicas(ms *workloadv1alpha1.ModelServing, t Template, role string) int {
	old, ok := t.Role(role)
	if !ok {
		return 0
	}
	for i := range ms.Spec.Template.Roles {
		if ms.Spec.Template.Roles[i].Name == role {
			return int(ptr.Deref(ms.Spec.Template.Roles[i].Replicas, 1))
		}
	}
	return int(ptr.Deref(old.Replicas, 1))
}

// data is the layout of a ControllerRevision's data. A field that is added later must be absent
// while it is not set.
type data struct {
	SchedulerName string     `json:"schedulerName,omitempty"`
	Roles         []roleData `json:"roles"`
}

type roleData struct {
	Name           string                            `json:"name,omitempty"`
	EntryTemplate  *workloadv1alpha1.PodTemplateSpec `json:"entryTemplate"`
	WorkerReplicas int32                             `json:"workerReplicas,omitempty"`
	WorkerTemplate *workloadv1alpha1.PodTemplateSpec `json:"workerTemplate,omitempty"`
}

// Data is the canonical form of a template: equal templates give equal bytes. The order of roles,
// and of lists within them, is part of the content; the order of maps, defaults written out, and
// empty objects that mean nothing are not.
func Data(t Template) ([]byte, error) {
	canonical := Template{SchedulerName: t.SchedulerName, Roles: make([]workloadv1alpha1.Role, len(t.Roles))}
	for i := range t.Roles {
		canonical.Roles[i] = canonicalRole(&t.Roles[i])
	}
	return serialize(canonical)
}

// serialize writes down a template whose roles are in canonical form.
func serialize(t Template) ([]byte, error) {
	d := data{SchedulerName: t.SchedulerName, Roles: make([]roleData, 0, len(t.Roles))}
	for i := range t.Roles {
		r := &t.Roles[i]
		d.Roles = append(d.Roles, roleData{
			Name: r.Name, EntryTemplate: &r.EntryTemplate,
			WorkerReplicas: r.WorkerReplicas, WorkerTemplate: r.WorkerTemplate,
		})
	}
	return canonicalJSON(d)
}

// Decode reads a template back. The error says that the data is not ours or was damaged.
func Decode(rev *appsv1.ControllerRevision) (Template, error) {
	var d data
	if err := json.Unmarshal(rev.Data.Raw, &d); err != nil {
		return Template{}, fmt.Errorf("decode data of ControllerRevision %q: %w", rev.Name, err)
	}
	replicas := rememberedReplicas(rev)
	t := Template{SchedulerName: d.SchedulerName, Hash: rev.Labels[names.LabelRevision]}
	for i := range d.Roles {
		r := &d.Roles[i]
		if r.EntryTemplate == nil {
			return Template{}, fmt.Errorf("decode data of ControllerRevision %q: role %q has no entryTemplate", rev.Name, r.Name)
		}
		role := workloadv1alpha1.Role{
			Name: r.Name, EntryTemplate: *r.EntryTemplate,
			WorkerReplicas: r.WorkerReplicas, WorkerTemplate: r.WorkerTemplate,
		}
		role = canonicalRole(&role)
		if n, ok := replicas[r.Name]; ok {
			role.Replicas = ptr.To(n)
		}
		t.Roles = append(t.Roles, role)
	}
	t.RoleHashes = roleHashes(t.SchedulerName, t.Roles)
	return t, nil
}
