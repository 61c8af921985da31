package webhooks_test

import (
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

var agreementRounds = flag.Int64("agreement-rounds", 6, "how many Pods with each field filled in at random are compared with the API server")

// stricter are the rules by which a ModelServing's Pods are held to more than other Pods.
var stricter = sets.New("pod-image", "pod-hostname", "pod-scheduler", "pod-restart-policy", "pod-container-restart")

// TestPodTemplateRulesAgreeWithTheAPIServer fills one field of a Pod after the other at random, and asks
// both: what the API server finds invalid must be refused in a template, and nothing else.
func TestPodTemplateRulesAgreeWithTheAPIServer(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	account := &corev1.ServiceAccount{}
	account.Name, account.Namespace = "default", ns
	if err := b.Client.Create(t.Context(), account); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	compare := func(what string, spec corev1.PodSpec) {
		pod := &corev1.Pod{Spec: *spec.DeepCopy()}
		pod.Name, pod.Namespace = "x", ns
		refused := b.Client.Create(t.Context(), pod, client.DryRunAll)
		if refused == nil {
			valid++
		} else if apierrors.IsInvalid(refused) {
			invalid++
		}

		ms := quiet("sample")
		ms.Spec.SchedulerName = spec.SchedulerName
		ms.Spec.Template.Roles = ms.Spec.Template.Roles[:1]
		ms.Spec.Template.Roles[0].EntryTemplate = workloadv1alpha1.PodTemplateSpec{Spec: spec}
		errs, _ := validating.ModelServing(ms, validating.Surroundings{})
		switch {
		case apierrors.IsInvalid(refused) && len(errs) == 0:
			t.Errorf("%s: accepted in a template, and refused by the API server: %v", what, refused)
		case refused == nil && len(errs) > 0:
			for _, err := range errs {
				if !stricter.Has(err.Origin) {
					t.Errorf("%s: accepted by the API server, and refused in a template: %v", what, err)
				}
			}
		}
	}
	for round := range *agreementRounds {
		forFields(corev1.PodSpec{}, func(i int, name string) {
			spec := serverPod()
			fill(round*1000+int64(i), reflect.ValueOf(&spec).Elem().Field(i))
			compare(fmt.Sprintf("round %d, spec.%s", round, name), spec)
		})
		forFields(corev1.Container{}, func(i int, name string) {
			spec := serverPod()
			fill(round*1000+500+int64(i), reflect.ValueOf(&spec.Containers[0]).Elem().Field(i))
			compare(fmt.Sprintf("round %d, spec.containers[0].%s", round, name), spec)
		})
	}
	t.Logf("%d Pods were valid, %d invalid", valid, invalid)
	if valid == 0 || invalid == 0 {
		t.Error("the Pods are all of one kind, so that nothing was compared")
	}
}

func serverPod() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "a"}}}
}

// forFields leaves out the lists of containers, which are gone through themselves, and Volumes, of
// which only the sources that models are served from are judged.
func forFields(object any, do func(i int, name string)) {
	kind := reflect.TypeOf(object)
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; !strings.HasSuffix(name, "ontainers") && !strings.HasPrefix(name, "Deprecated") && name != "Volumes" {
			do(i, name)
		}
	}
}

// fill gives a field values that are often nearly right.
func fill(seed int64, field reflect.Value) {
	words := []string{"a", "b", "server", "", "A_b", "a/b", "/abs", "../x", "1", "Always", "metadata.name", "cpu"}
	numbers := []int64{0, 1, 5, -1, 80}
	randfill.New().RandSource(rand.NewSource(seed)).NilChance(0.4).NumElements(1, 2).MaxDepth(8).Funcs(
		func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		func(n *int32, c randfill.Continue) { *n = int32(numbers[c.Intn(len(numbers))]) },
		func(n *int64, c randfill.Continue) { *n = numbers[c.Intn(len(numbers))] },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(int64(c.Intn(3)), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt(c.Intn(3)) },
	).Fill(field.Addr().Interface())
}
