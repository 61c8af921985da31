package route

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

var epoch = metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// servingOf is a ModelServing team/qwen with one role.
func servingOf() *workloadv1alpha1.ModelServing {
	ms := gangwaytesting.MakeModelServing("qwen").Obj()
	ms.Namespace = "team"
	ms.CreationTimestamp = epoch
	ms.Spec.Template.Roles = []workloadv1alpha1.Role{{
		Name: "decode",
		EntryTemplate: workloadv1alpha1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "server", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}},
		}},
	}}
	ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{
		Name: ref.Name, Namespace: ref.Namespace, SectionName: ref.SectionName, Host: ref.Host,
	}
	return ms
}

// inputOf is servingOf with everything in place: the Gateway, our objects, and a Gateway controller
// that has accepted the route.
func inputOf(change ...func(*Input)) Input {
	in := ForModelServing(servingOf())
	in.Installed = true
	in.Gateway = gatewayOf(listenerOf("http"))
	in.Service = Service(in)
	in.HTTPRoute = HTTPRoute(in)
	in.HTTPRoute.Generation = 3
	in.HTTPRoute.Status.Parents = []gatewayv1.RouteParentStatus{parentOf("example.com/a", 3, true, true)}
	for _, c := range change {
		c(&in)
	}
	return in
}

// gatewayRole has gatewayRef.role name role.
func gatewayRole(role string) func(*Input) {
	return func(in *Input) {
		ms := servingOf()
		ms.Spec.GatewayRef.Role = role
		said := ForModelServing(ms)
		in.Backend, in.Invalid = said.Backend, said.Invalid
	}
}

func parentOf(controller string, generation int64, accepted, resolved bool) gatewayv1.RouteParentStatus {
	condition := func(conditionType, good, bad string, ok bool) metav1.Condition {
		c := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: good, ObservedGeneration: generation}
		if !ok {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, bad, "so it is"
		}
		return c
	}
	return gatewayv1.RouteParentStatus{
		// As a controller may write it: what the API defaults is left out.
		ParentRef: gatewayv1.ParentReference{
			Namespace: ptr.To(gatewayv1.Namespace("infra")), Name: "llm", SectionName: ptr.To(gatewayv1.SectionName("http")),
		},
		ControllerName: gatewayv1.GatewayController(controller),
		Conditions: []metav1.Condition{
			condition("Accepted", "Accepted", "NoMatchingListenerHostname", accepted),
			condition("ResolvedRefs", "ResolvedRefs", "BackendNotFound", resolved),
		},
	}
}

func owned(by *metav1.OwnerReference) []metav1.OwnerReference {
	if by == nil {
		return nil
	}
	return []metav1.OwnerReference{*by}
}

var stranger = &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web-uid", Controller: ptr.To(true)}

func claimBy(name string, created metav1.Time, change ...func(*Claim)) Claim {
	c := Claim{
		Owner: Owner{Kind: "VLLMService", Namespace: "other", Name: name, UID: "claim-" + "uid", Created: created},
		Ref:   ref,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// written is an Output's writes in the order in which they are done, as "Verb Kind/name".
func written(out Output) [][]string {
	var all [][]string
	for _, stage := range out.Stages {
		var names []string
		for _, a := range stage {
			kind := "HTTPRoute"
			if _, ok := a.Object.(*corev1.Service); ok {
				kind = "Service"
			}
			names = append(names, string(a.Verb)+" "+kind+"/"+a.Object.GetName())
		}
		all = append(all, names)
	}
	return all
}
