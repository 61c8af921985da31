// Package v1alpha1 holds the ModelServing API of group workload.serving.volcano.sh.
// It is wire compatible with the manifests that exist in the field under that group.
//
// +kubebuilder:object:generate=true
// +groupName=workload.serving.volcano.sh
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of ModelServing.
const GroupName = "workload.serving.volcano.sh"

// ModelServingKind is the kind of ModelServing, as it stands in owner references.
const ModelServingKind = "ModelServing"

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add the types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ModelServing{}, &ModelServingList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
