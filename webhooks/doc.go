// Package webhooks answers the API server: it decodes what is asked, gathers what is known of the
// cluster, has validating and mutating judge, and writes nothing.
//
// Three promises hold for every path. An answer is always a well-formed AdmissionReview, whatever
// is sent. It comes within answerWithin: what cannot be read in time is not held against the
// user. And nothing is refused because of a cache that lags: what would be refused for the state of
// a Gateway or of a Pod's owner is read live first.
package webhooks

// +kubebuilder:rbac:groups=workload.serving.volcano.sh,resources=modelservings,verbs=get;list;watch
// +kubebuilder:rbac:groups=aiinfra.example.com,resources=vllmservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
