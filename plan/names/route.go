package names

// Labels and annotations of the objects that make a ModelServing or a VLLMService reachable.
const (
	// LabelManagedBy is ManagedByGangway on every Deployment, Service, HTTPRoute and ServiceMonitor.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedByGangway is the value of LabelManagedBy.
	ManagedByGangway = "gangway"

	// AnnotationUserLabels lists the keys of the labels that were taken over from spec.labels, so
	// that those go which the user has dropped, and labels of others stay.
	AnnotationUserLabels = "gangway.dev/user-labels"
)

// PortHTTP is the name of the Service's port.
const PortHTTP = "http"

// Service is the name of the Service of a ModelServing or VLLMService.
func Service(owner string) string { return owner }

// HTTPRoute is the name of the HTTPRoute of a ModelServing or VLLMService.
func HTTPRoute(owner string) string { return owner }

// Deployment is the name of the Deployment of a VLLMService.
func Deployment(vllmService string) string { return vllmService }

// ServiceMonitor is the name of the ServiceMonitor of a VLLMService.
func ServiceMonitor(vllmService string) string { return vllmService }
