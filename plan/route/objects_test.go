package route

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// What somebody makes of a Service by hand, its type included, is undone field by field.
func TestServiceUpdateUndoesEveryChange(t *testing.T) {
	changes := map[string]func(*corev1.Service){
		"selector":                      func(s *corev1.Service) { s.Spec.Selector = nil },
		"ports":                         func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 1}) },
		"target port":                   func(s *corev1.Service) { s.Spec.Ports[0].TargetPort.IntVal = 1 },
		"node port":                     func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30000 },
		"type":                          func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer },
		"external name":                 func(s *corev1.Service) { s.Spec.ExternalName = "example.com" },
		"external IPs":                  func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.1"} },
		"addresses that are not ready":  func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true },
		"affinity":                      func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP },
		"configuration of the affinity": func(s *corev1.Service) { s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{} },
		"internal traffic": func(s *corev1.Service) {
			s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		},
		"external traffic":              func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal },
		"distribution":                  func(s *corev1.Service) { s.Spec.TrafficDistribution = ptr.To("PreferClose") },
		"node ports of a load balancer": func(s *corev1.Service) { s.Spec.AllocateLoadBalancerNodePorts = ptr.To(true) },
		"health check":                  func(s *corev1.Service) { s.Spec.HealthCheckNodePort = 30000 },
		"class of a load balancer":      func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/lb") },
		"sources of a load balancer":    func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} },
		"owner":                         func(s *corev1.Service) { s.OwnerReferences = nil },
		"label":                         func(s *corev1.Service) { s.Labels["app.kubernetes.io/managed-by"] = "hand" },
	}
	in := inputOf()
	want := Service(in)
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			current := Service(in)
			change(current)
			got, changed := ServiceUpdate(in, current)
			if diff := cmp.Diff(want, got); diff != "" || !changed {
				t.Errorf("changed: %t (-want +got):\n%s", changed, diff)
			}
		})
	}
}
