package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gangway-serving/gangway/plan/names"
)

// Reference is the controller reference that makes an object the owner's.
func (o Owner) Reference() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         o.APIVersion,
		Kind:               o.Kind,
		Name:               o.Name,
		UID:                o.UID,
		Controller:         ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}
}

// Owns is true when the owner controls obj, judged by UID: an object of an earlier owner of the
// same name is not ours.
func (o Owner) Owns(obj metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	return ref != nil && ref.UID == o.UID
}

// Conflict says that obj, of that kind, has a name that o needs, whose it is, and the way out.
func (o Owner) Conflict(kind string, obj metav1.Object) string {
	whose := "has no controller"
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		whose = fmt.Sprintf("belongs to %s %q", ref.Kind, ref.Name)
		if ref.Kind == o.Kind && ref.Name == o.Name {
			whose += " of an earlier time"
		}
	}
	return fmt.Sprintf("%s %q exists and %s; it is left alone: delete it, or give the %s another name",
		kind, obj.GetName(), whose, o.Kind)
}

// Stamp gives obj the labels and the owner reference that an object of o has. Labels, annotations
// and owner references of others stay; labels that came from an earlier userLabels go.
func (o Owner) Stamp(obj metav1.Object, own, userLabels map[string]string) {
	labels, annotations := Overlay(obj.GetLabels(), obj.GetAnnotations(), own, userLabels)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	if !o.Owns(obj) {
		obj.SetOwnerReferences(append(obj.GetOwnerReferences(), o.Reference()))
	}
}

// Overlay puts own and user labels over observed ones; own labels win. Which keys were the
// user's is remembered in an annotation.
func Overlay(labels, annotations, own, user map[string]string) (map[string]string, map[string]string) {
	labels, annotations = maps.Clone(labels), maps.Clone(annotations)
	if earlier := annotations[names.AnnotationUserLabels]; earlier != "" {
		for key := range strings.SplitSeq(earlier, ",") {
			delete(labels, key)
		}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	user = maps.Clone(user)
	maps.DeleteFunc(user, func(key, _ string) bool { _, taken := own[key]; return taken })
	maps.Copy(labels, user)
	maps.Copy(labels, own)
	if len(user) == 0 {
		delete(annotations, names.AnnotationUserLabels)
		return labels, annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationUserLabels] = strings.Join(slices.Sorted(maps.Keys(user)), ",")
	return labels, annotations
}
