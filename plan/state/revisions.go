package state

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// Revision is a ControllerRevision, read.
type Revision struct {
	// Hash is in its name and on its Pods.
	Hash string
	// Name of the ControllerRevision.
	Name string
	// Number grows with every change of the spec.
	Number   int64
	Template revision.Template
}

// Matches says whether Pods of that revision and role hash are what this revision makes of the role:
// because they were made from it, or because it changes nothing for the role.
func (r *Revision) Matches(role, hash, roleHash string) bool {
	return hash == r.Hash || (roleHash != "" && roleHash == r.Template.RoleHashes[role])
}

// Workers is the number of workers of each replica of a role; -1 when the revision lacks the role.
func (r *Revision) Workers(role string) int {
	for i := range r.Template.Roles {
		if r.Template.Roles[i].Name == role {
			return int(r.Template.Roles[i].WorkerReplicas)
		}
	}
	return -1
}

// Revisions finds revisions by their hash. They are read when they are first asked for.
type Revisions struct {
	// Update is the one of the live spec.
	Update *Revision

	modelServing string
	objects      map[string]*appsv1.ControllerRevision
	read         map[string]*Revision
}

// NewRevisions reads the update revision; the error says why it cannot be read.
func NewRevisions(modelServing string, owned []*appsv1.ControllerRevision, update *appsv1.ControllerRevision) (*Revisions, error) {
	r := &Revisions{
		modelServing: modelServing,
		objects:      make(map[string]*appsv1.ControllerRevision, len(owned)+1),
		read:         map[string]*Revision{},
	}
	for _, o := range owned {
		r.objects[r.HashOf(o.Name)] = o
	}
	t, err := revision.Decode(update)
	if err != nil {
		return nil, err
	}
	hash := r.HashOf(update.Name)
	r.objects[hash] = update
	r.Update = r.keep(hash, update, t)
	return r, nil
}

// HashOf is the hash in the name of a ControllerRevision.
func (r *Revisions) HashOf(name string) string {
	return strings.TrimPrefix(name, r.modelServing+"-")
}

// NameOf is the name of the ControllerRevision of that hash; "" of "".
func (r *Revisions) NameOf(hash string) string {
	if hash == "" {
		return ""
	}
	return names.Revision(r.modelServing, hash)
}

// Get is nil for a revision that is not there or cannot be read.
func (r *Revisions) Get(hash string) *Revision {
	if known, ok := r.read[hash]; ok {
		return known
	}
	o, ok := r.objects[hash]
	if !ok || hash == "" {
		return nil
	}
	t, err := revision.Decode(o)
	if err != nil {
		// As good as missing: nothing can be made from it.
		r.read[hash] = nil
		return nil
	}
	return r.keep(hash, o, t)
}

func (r *Revisions) keep(hash string, o *appsv1.ControllerRevision, t revision.Template) *Revision {
	t.Hash = hash
	rev := &Revision{Hash: hash, Name: o.Name, Number: o.Revision, Template: t}
	r.read[hash] = rev
	return rev
}
