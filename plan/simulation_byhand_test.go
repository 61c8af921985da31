package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// bornWith begins the annotations that keep what a Pod's labels were before anybody edited them.
const bornWith = "born.with/"

// born is what a label of a Pod was when the Pod was created.
func born(p *corev1.Pod, label string) string {
	if value, ok := p.Annotations[bornWith+label]; ok {
		return value
	}
	return p.Labels[label]
}

// relabel is an edit by hand. Gangway is to set it right, and to draw no conclusions from it. Of the
// two labels that tell what a Pod was made from one is left alone: of what carries neither, nobody
// knows what it is. Nor can anybody see that the revision is another one that makes the same Pod.
func (w *world) relabel(pod *corev1.Pod, key, value string) {
	twins := map[string]string{names.LabelRevision: names.LabelRoleTemplateHash, names.LabelRoleTemplateHash: names.LabelRevision}
	if twin, ok := twins[labelPrefix+key]; ok && pod.Labels[twin] != born(pod, twin) {
		return
	}
	if _, ok := w.stores[revisions].live[names.Revision(theName, value)]; ok {
		if t, _ := w.template(value); t.RoleHashes[born(pod, names.LabelRole)] == born(pod, names.LabelRoleTemplateHash) {
			return
		}
	}
	edit(w, pod, func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		if p.Labels[labelPrefix+key] = value; value == "-" {
			delete(p.Labels, labelPrefix+key)
		}
	})
}

// labelPrefix begins all of our labels.
var labelPrefix = strings.TrimSuffix(names.LabelModelServing, "name")

// spoil takes the update revision from the manager's sight.
func (w *world) spoil(how string) {
	rev := w.updateRevision()
	if rev == nil || !slices.ContainsFunc(w.ours(), func(p *corev1.Pod) bool { return names.Revision(theName, born(p, names.LabelRevision)) == rev.Name }) {
		return // Before there are Pods of it, another revision may take its place.
	}
	if how == "remove" {
		w.removed = rev
		w.stores[revisions].remove(rev.Name)
		return
	}
	edit(w, rev, func(r *appsv1.ControllerRevision) {
		switch how {
		case "unlabel":
			delete(r.Labels, names.LabelModelServing)
		case "disown":
			r.OwnerReferences = nil
		case "terminate":
			r.DeletionTimestamp = ptr.To(w.second())
		default:
			panic("no such step: revision " + how)
		}
	})
}

// updateRevision is the stored revision of the live spec; nil when there is none.
func (w *world) updateRevision() *appsv1.ControllerRevision {
	ms := w.modelServing()
	wanted, _, _, err := revision.Resolve(ms, nil)
	if err != nil {
		panic(err)
	}
	rev, _ := w.stores[revisions].live[wanted.Name].(*appsv1.ControllerRevision)
	if rev == nil || !controlledBy(rev, ms.UID) {
		return nil
	}
	return rev
}

// restoreRevisions is the person on call. A revision whose templates nothing else tells any more has
// to be put right before the spec moves on from it.
func (w *world) restoreRevisions() {
	live := w.stores[revisions].live
	if rev := w.removed; rev != nil && live[rev.Name] == nil && controlledBy(rev, w.modelServing().UID) {
		w.admit(rev.DeepCopy())
	}
	w.removed = nil
	for _, name := range slices.Sorted(maps.Keys(live)) {
		rev := live[name].(*appsv1.ControllerRevision)
		ref := metav1.GetControllerOfNoCopy(rev)
		if ref != nil && ref.UID != w.modelServing().UID {
			continue // The garbage collector's.
		}
		if ref == nil || rev.Labels[names.LabelModelServing] == "" || rev.DeletionTimestamp != nil {
			edit(w, rev, func(r *appsv1.ControllerRevision) {
				r.DeletionTimestamp = nil
				r.OwnerReferences = []metav1.OwnerReference{children.OwnerReference(w.modelServing())}
				if r.Labels == nil {
					r.Labels = map[string]string{}
				}
				r.Labels[names.LabelModelServing] = theName
			})
			w.manager.wake()
		}
	}
}

// existingRevision is what the writer makes of a revision of ours that has the name already.
func (w *world) existingRevision(current, wanted *appsv1.ControllerRevision) answer {
	if !revision.Equal(current, wanted) {
		return answer{action.HashCollision, fmt.Sprintf("ControllerRevision %q holds other content", wanted.Name)}
	}
	if current.Labels[names.LabelModelServing] == "" {
		edit(w, current, func(r *appsv1.ControllerRevision) { maps.Copy(r.Labels, wanted.Labels) })
	}
	return done
}

// isBest says that a revision is what a group below the partition is made of when its Pods do not
// tell: its PodGroup's or the current one of the status or, where that says nothing, any.
func (w *world) isBest(group, hash string) bool {
	s := &w.manager.pass.snapshot
	for _, pg := range s.PodGroups {
		if pg.Name == group && pg.Labels[names.LabelRevision] == hash {
			return true
		}
	}
	for _, p := range s.Pods {
		if born(p, names.LabelGroup) == group && born(p, names.LabelRevision) == hash {
			return true // Some of it stands.
		}
	}
	current := s.ModelServing.Status.CurrentRevision
	known := slices.ContainsFunc(s.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == current })
	return !known || names.Revision(theName, hash) == current || w.empty(s.ModelServing, strings.TrimPrefix(current, theName+"-"))
}

// checkUpdateRevision: the same content never gets another revision while there are Pods of the first.
func (w *world) checkUpdateRevision(old, wanted string) {
	was, ok := w.template(strings.TrimPrefix(old, theName+"-"))
	now, known := w.template(strings.TrimPrefix(wanted, theName+"-"))
	if !ok || !known || !maps.Equal(was.RoleHashes, now.RoleHashes) || len(was.Roles) != len(now.Roles) {
		return
	}
	for _, p := range w.ours() {
		if names.Revision(theName, born(p, names.LabelRevision)) == old {
			w.violate("the content is the same, but the update revision goes from %s, of which Pod %s is, to %s", old, p.Name, wanted)
		}
	}
}
