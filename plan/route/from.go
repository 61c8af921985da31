package route

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// For is the part of an Input that a ModelServing or VLLMService itself says; false for anything else.
func For(obj any) (Input, bool) {
	switch o := obj.(type) {
	case *workloadv1alpha1.ModelServing:
		return ForModelServing(o), true
	case *aiinfrav1alpha1.VLLMService:
		return ForVLLMService(o), true
	default:
		return Input{}, false
	}
}

// ForModelServing is the part of an Input that ms itself says. What was observed is the
// gatherer's to add.
func ForModelServing(ms *workloadv1alpha1.ModelServing) Input {
	in := Input{
		Owner: Owner{
			APIVersion: workloadv1alpha1.GroupVersion.String(),
			Kind:       workloadv1alpha1.ModelServingKind,
			Namespace:  ms.Namespace,
			Name:       ms.Name,
			UID:        ms.UID,
			Created:    ms.CreationTimestamp,
		},
		Backend: Backend{Managed: true, Port: names.DefaultPort},
		Labels: map[string]string{
			names.LabelManagedBy:    names.ManagedByGangway,
			names.LabelModelServing: ms.Name,
		},
	}
	ref := ms.Spec.GatewayRef
	if ref == nil {
		return in
	}
	in.Ref = newRef(ref.Namespace, ms.Namespace, ref.Name, ref.SectionName, ref.Host)
	in.Backend.Selector = map[string]string{
		names.LabelModelServing: ms.Name,
		names.LabelRole:         ref.Role,
		names.LabelEntry:        names.EntryValue,
	}
	if role := routedRole(ms); role != nil {
		in.Backend.Selector[names.LabelRole] = role.Name
		in.Backend.Port = firstPort(role)
	} else {
		in.Invalid = fmt.Sprintf("gatewayRef.role %q is not a role of the ModelServing; name one of %s, or leave it out for the first role",
			ref.Role, roleNames(ms))
	}
	if ref.Port != nil {
		in.Backend.Port = *ref.Port
	}
	return in
}

// ForVLLMService is the part of an Input that v itself says.
func ForVLLMService(v *aiinfrav1alpha1.VLLMService) Input {
	in := Input{
		Owner: Owner{
			APIVersion: aiinfrav1alpha1.GroupVersion.String(),
			Kind:       aiinfrav1alpha1.VLLMServiceKind,
			Namespace:  v.Namespace,
			Name:       v.Name,
			UID:        v.UID,
			Created:    v.CreationTimestamp,
		},
		Backend: Backend{
			Selector: map[string]string{names.LabelVLLMService: v.Name},
			Port:     v.Spec.Port,
		},
		Labels: map[string]string{
			names.LabelManagedBy:   names.ManagedByGangway,
			names.LabelVLLMService: v.Name,
		},
		UserLabels: maps.Clone(v.Spec.Labels),
	}
	if in.Backend.Port == 0 {
		in.Backend.Port = names.DefaultPort
	}
	if ref := v.Spec.GatewayRef; ref != nil {
		in.Ref = newRef(ref.Namespace, v.Namespace, ref.Name, ref.SectionName, ref.Host)
	}
	return in
}

func newRef(namespace, ownNamespace, name, sectionName, host string) *Ref {
	if namespace == "" {
		namespace = ownNamespace
	}
	return &Ref{Namespace: namespace, Name: name, SectionName: sectionName, Host: host}
}

// routedRole is the role whose entry Pods get the traffic; nil when gatewayRef.role names none
// of the roles, which admission refuses.
func routedRole(ms *workloadv1alpha1.ModelServing) *workloadv1alpha1.Role {
	for i := range ms.Spec.Template.Roles {
		if wanted := ms.Spec.GatewayRef.Role; wanted == "" || wanted == ms.Spec.Template.Roles[i].Name {
			return &ms.Spec.Template.Roles[i]
		}
	}
	return nil
}

func roleNames(ms *workloadv1alpha1.ModelServing) string {
	quoted := make([]string, 0, len(ms.Spec.Template.Roles))
	for _, r := range ms.Spec.Template.Roles {
		quoted = append(quoted, strconv.Quote(r.Name))
	}
	return strings.Join(quoted, ", ")
}

func firstPort(role *workloadv1alpha1.Role) int32 {
	for _, c := range role.EntryTemplate.Spec.Containers {
		if len(c.Ports) > 0 {
			return c.Ports[0].ContainerPort
		}
	}
	return names.DefaultPort
}
