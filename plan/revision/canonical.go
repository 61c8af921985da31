package revision

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// canonicalRole copies the parts of a role that make Pods, without what the API server would fill
// in again (k8s.io/kubernetes, pkg/apis/core/v1/defaults.go): a template with defaults written out
// makes the same Pods as one without.
func canonicalRole(in *workloadv1alpha1.Role) workloadv1alpha1.Role {
	out := workloadv1alpha1.Role{
		Name:           in.Name,
		EntryTemplate:  *canonicalTemplate(&in.EntryTemplate),
		WorkerReplicas: in.WorkerReplicas,
	}
	// A worker template makes no Pod while there are no workers.
	if in.WorkerReplicas > 0 && in.WorkerTemplate != nil {
		out.WorkerTemplate = canonicalTemplate(in.WorkerTemplate)
	}
	return out
}

func canonicalTemplate(in *workloadv1alpha1.PodTemplateSpec) *workloadv1alpha1.PodTemplateSpec {
	out := in.DeepCopy()
	if m := out.Metadata; m != nil && len(m.Labels) == 0 && len(m.Annotations) == 0 {
		out.Metadata = nil
	}
	canonicalSpec(&out.Spec)
	return out
}

func canonicalSpec(s *corev1.PodSpec) {
	// Every Pod has the ModelServing's scheduler.
	s.SchedulerName = ""
	dropDefault(&s.RestartPolicy, corev1.RestartPolicyAlways)
	dropDefault(&s.DNSPolicy, corev1.DNSClusterFirst)
	dropDefaultPtr(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	dropDefaultPtr(&s.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	dropEmpty(&s.SecurityContext)
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	s.DeprecatedServiceAccount = ""
	// The ServiceAccount admission plugin's default.
	dropDefault(&s.ServiceAccountName, "default")
	for i := range s.InitContainers {
		canonicalContainer(&s.InitContainers[i], s.HostNetwork)
	}
	for i := range s.Containers {
		canonicalContainer(&s.Containers[i], s.HostNetwork)
	}
	for i := range s.Volumes {
		canonicalVolume(&s.Volumes[i].VolumeSource)
	}
}

func canonicalContainer(c *corev1.Container, hostNetwork bool) {
	dropDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	dropDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	dropDefault(&c.ImagePullPolicy, defaultPullPolicy(c.Image))
	dropEmpty(&c.SecurityContext)
	if c.SecurityContext != nil {
		dropDefaultPtr(&c.SecurityContext.ProcMount, corev1.DefaultProcMount)
	}
	for i := range c.Ports {
		dropDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			dropDefault(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			dropDefault(&from.FieldRef.APIVersion, "v1")
		}
	}
	canonicalResources(&c.Resources)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		canonicalProbe(p)
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				canonicalHTTPGet(h.HTTPGet)
			}
		}
	}
}

// canonicalResources drops requests that follow from a limit, and empty lists. It is for containers:
// what the requests of a whole Pod follow from is not its limits alone.
func canonicalResources(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if request, ok := r.Requests[name]; ok && request.Cmp(limit) == 0 {
			delete(r.Requests, name)
		}
	}
	if len(r.Requests) == 0 {
		r.Requests = nil
	}
	if len(r.Limits) == 0 {
		r.Limits = nil
	}
	if len(r.Claims) == 0 {
		r.Claims = nil
	}
}

func canonicalProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	dropDefault(&p.TimeoutSeconds, 1)
	dropDefault(&p.PeriodSeconds, 10)
	dropDefault(&p.SuccessThreshold, 1)
	dropDefault(&p.FailureThreshold, 3)
	canonicalHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		dropDefaultPtr(&p.GRPC.Service, "")
	}
}

func canonicalHTTPGet(h *corev1.HTTPGetAction) {
	if h == nil {
		return
	}
	dropDefault(&h.Path, "/")
	dropDefault(&h.Scheme, corev1.URISchemeHTTP)
}

func canonicalVolume(v *corev1.VolumeSource) {
	if v.Secret != nil {
		dropDefaultPtr(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		dropDefaultPtr(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		dropDefaultPtr(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		canonicalDownwardItems(v.DownwardAPI.Items)
	}
	if v.HostPath != nil {
		dropDefaultPtr(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		dropDefaultPtr(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
	if v.Projected == nil {
		return
	}
	dropDefaultPtr(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range v.Projected.Sources {
		s := &v.Projected.Sources[i]
		if s.ServiceAccountToken != nil {
			dropDefaultPtr(&s.ServiceAccountToken.ExpirationSeconds, 60*60)
		}
		if s.DownwardAPI != nil {
			canonicalDownwardItems(s.DownwardAPI.Items)
		}
	}
}

func canonicalDownwardItems(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if items[i].FieldRef != nil {
			dropDefault(&items[i].FieldRef.APIVersion, "v1")
		}
	}
}

// defaultPullPolicy is Always for the tag latest, which is also what no tag and no digest means.
func defaultPullPolicy(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	_, tag, hasTag := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "latest" || (!hasTag && !hasDigest) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func dropDefault[T comparable](field *T, def T) {
	if *field == def {
		var zero T
		*field = zero
	}
}

func dropDefaultPtr[T comparable](field **T, def T) {
	if *field != nil && **field == def {
		*field = nil
	}
}

func dropEmpty[T any](field **T) {
	if *field != nil && reflect.ValueOf(ptr.Deref(*field, *new(T))).IsZero() {
		*field = nil
	}
}
