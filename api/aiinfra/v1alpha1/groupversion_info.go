// Package v1alpha1 holds the VLLMService API of group aiinfra.example.com.
// It is wire compatible with the manifests that exist in the field under that group.
//
// +kubebuilder:object:generate=true
// +groupName=aiinfra.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of VLLMService.
const GroupName = "aiinfra.example.com"

// VLLMServiceKind is the kind of VLLMService, as it stands in owner references.
const VLLMServiceKind = "VLLMService"

var (
	// GroupVersion is the group and version of the types in this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add the types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &VLLMService{}, &VLLMServiceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
