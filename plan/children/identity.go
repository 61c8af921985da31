package children

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gangway-serving/gangway/plan/names"
)

// Identity is what the labels of a Pod say of it. Services, subgroups, autoscalers and people find a
// Pod by them, so that one whose labels were edited is as good as lost to them.
type Identity struct {
	ModelServing, Group, Role, RoleID string
	// Entry: it is the entry Pod of its role replica.
	Entry bool
	// Revision is the hash of the revision that it was made from, RoleHash that of the role's part of
	// it; "" where nobody knows any more.
	Revision, RoleHash string
}

// labels are those that follow from the identity.
func (id *Identity) labels() [7]label {
	entry := ""
	if id.Entry {
		entry = names.EntryValue
	}
	return [...]label{
		{names.LabelModelServing, id.ModelServing, true},
		{names.LabelGroup, id.Group, true},
		{names.LabelRole, id.Role, true},
		{names.LabelRoleID, id.RoleID, true},
		{names.LabelRevision, id.Revision, id.Revision != ""},
		{names.LabelRoleTemplateHash, id.RoleHash, id.RoleHash != ""},
		{names.LabelEntry, entry, true},
	}
}

// label is one that a Pod is to have or, when the value is "", not to have.
type label struct {
	key, value string
	// known: it is known what it is to be.
	known bool
}

// Matches says whether a Pod's labels tell of its identity.
func (id *Identity) Matches(pod *corev1.Pod) bool {
	for _, l := range id.labels() {
		if value, is := pod.Labels[l.key]; l.known && (value != l.value || is != (l.value != "")) {
			return false
		}
	}
	return true
}

// Restore is a copy of a Pod that has the labels of its identity. All else stays, labels of others
// too, and the resourceVersion.
func (id *Identity) Restore(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	id.set(pod.Labels)
	return pod
}

func (id *Identity) set(labels map[string]string) {
	for _, l := range id.labels() {
		switch {
		case !l.known:
		case l.value == "":
			delete(labels, l.key)
		default:
			labels[l.key] = l.value
		}
	}
}
