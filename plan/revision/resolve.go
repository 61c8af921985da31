package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// annotationRoleReplicas remembers on a ControllerRevision, as JSON, how many replicas each role had.
// A group that keeps a role which the spec no longer has takes the number from here.
const annotationRoleReplicas = "gangway.dev/role-replicas"

// Equal says whether two revisions make the same Pods. Data that cannot be decoded equals only
// the same bytes.
func Equal(a, b *appsv1.ControllerRevision) bool {
	if bytes.Equal(a.Data.Raw, b.Data.Raw) {
		return true
	}
	da, err := canonicalData(a)
	if err != nil {
		return false
	}
	db, err := canonicalData(b)
	return err == nil && bytes.Equal(da, db)
}

func canonicalData(rev *appsv1.ControllerRevision) ([]byte, error) {
	t, err := Decode(rev)
	if err != nil {
		return nil, err
	}
	return serialize(t)
}

// Resolve finds or makes the ControllerRevision of the live spec among those that ms owns.
//
//   - create is false and update is one of owned, the very pointer: nothing is to be written.
//   - create is false and update is a copy of one of owned: it is to be updated. An older revision
//     became the newest (a rollback), or the number of role replicas changed.
//   - create is true: update is to be created.
//
// The data of an existing revision never changes, and one that is being deleted serves until it is
// gone; then it is made again under the same name. collisionCount is the value for the status: it
// grows when other content has the name, and may be made to grow, before there are Pods of that hash,
// when somebody else's object has it.
func Resolve(ms *workloadv1alpha1.ModelServing, owned []*appsv1.ControllerRevision) (update *appsv1.ControllerRevision, create bool, collisionCount *int32, err error) {
	t := Of(ms)
	content, err := serialize(t)
	if err != nil {
		return nil, false, nil, err
	}
	stored, err := byKey(content)
	if err != nil {
		return nil, false, nil, err
	}
	replicas, err := json.Marshal(liveReplicas(t))
	if err != nil {
		return nil, false, nil, fmt.Errorf("serialize role replicas: %w", err)
	}
	wanted := &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   ms.Namespace,
			Annotations: map[string]string{annotationRoleReplicas: string(replicas)},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(ms, workloadv1alpha1.GroupVersion.WithKind("ModelServing")),
			},
		},
		Data: runtime.RawExtension{Raw: stored},
	}

	newest, equal := survey(owned, wanted, ms.Status.UpdateRevision)
	collisionCount = ms.Status.CollisionCount
	if equal != nil {
		return refreshed(equal, newest, string(replicas)), false, collisionCount, nil
	}

	taken := make(map[string]bool, len(owned))
	for _, r := range owned {
		taken[r.Name] = true
	}
	hash := Hash(content, collisionCount)
	for taken[names.Revision(ms.Name, hash)] {
		collisionCount = ptr.To(ptr.Deref(collisionCount, 0) + 1)
		hash = Hash(content, collisionCount)
	}
	wanted.Name = names.Revision(ms.Name, hash)
	wanted.Labels = map[string]string{names.LabelModelServing: ms.Name, names.LabelRevision: hash}
	wanted.Revision = newest + 1
	return wanted, true, collisionCount, nil
}

// survey returns the highest revision number in use, and the best of those equal to wanted. Those
// that are so to the byte come first: nothing needs to be read to know it. inUse is the name of the
// update revision so far.
func survey(owned []*appsv1.ControllerRevision, wanted *appsv1.ControllerRevision, inUse string) (newest int64, equal *appsv1.ControllerRevision) {
	for _, r := range owned {
		newest = max(newest, r.Revision)
	}
	same := func(r *appsv1.ControllerRevision) bool { return bytes.Equal(r.Data.Raw, wanted.Data.Raw) }
	means := func(r *appsv1.ControllerRevision) bool { return Equal(r, wanted) }
	if equal = best(owned, inUse, same); equal == nil {
		equal = best(owned, inUse, means)
	}
	return newest, equal
}

// best is, of the revisions that match, the one in use, of which Pods are, or else the newest, those
// that stay before those that go.
func best(owned []*appsv1.ControllerRevision, inUse string, matches func(*appsv1.ControllerRevision) bool) *appsv1.ControllerRevision {
	var found *appsv1.ControllerRevision
	better := func(r *appsv1.ControllerRevision) bool {
		if (r.Name == inUse) != (found.Name == inUse) {
			return r.Name == inUse
		}
		if going, was := r.DeletionTimestamp != nil, found.DeletionTimestamp != nil; going != was {
			return was
		}
		return r.Revision > found.Revision || (r.Revision == found.Revision && r.Name < found.Name)
	}
	for _, r := range owned {
		if matches(r) && (found == nil || better(r)) {
			found = r
		}
	}
	return found
}

// refreshed makes an existing revision the newest, in a copy when that changes anything.
func refreshed(rev *appsv1.ControllerRevision, newest int64, replicas string) *appsv1.ControllerRevision {
	if rev.Revision == newest && rev.Annotations[annotationRoleReplicas] == replicas {
		return rev
	}
	c := rev.DeepCopy()
	if c.Revision < newest {
		c.Revision = newest + 1
	}
	c.Annotations = maps.Clone(c.Annotations)
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[annotationRoleReplicas] = replicas
	return c
}

func liveReplicas(t Template) map[string]int32 {
	all := make(map[string]int32, len(t.Roles))
	for i := range t.Roles {
		all[t.Roles[i].Name] = ptr.Deref(t.Roles[i].Replicas, 1)
	}
	return all
}

// rememberedReplicas are nil where they were not written down or, since anybody can edit an
// annotation, cannot be read.
func rememberedReplicas(rev *appsv1.ControllerRevision) map[string]int32 {
	var all map[string]int32
	if json.Unmarshal([]byte(rev.Annotations[annotationRoleReplicas]), &all) != nil {
		return nil
	}
	return all
}
