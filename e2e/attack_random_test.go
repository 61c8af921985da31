package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// Whatever happens in whatever order: in the end there is exactly what is wanted, and nobody ever saw
// a Pod without its gang.
func TestAttackRandomChanges(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed+n), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed+n, 1))
			ms := single(t, 2, 1)
			slowly(ms, 1)
			create(t, ms)
			stop := watchGangs(t, ms)
			for step := range 15 {
				// Waiting for a random span is the point: changes come in the middle of something.
				timer := time.NewTimer(time.Duration(random.IntN(600)) * time.Millisecond)
				<-timer.C
				if random.IntN(4) == 0 {
					t.Log(step, removeAny(t, random, ms))
				} else {
					t.Log(step, changeAny(t, random, ms, step))
				}
			}
			edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
				slowly(ms, 100)
				ms.Spec.Replicas, ms.Spec.SchedulerName, ms.Spec.RolloutStrategy = ptr.To[int32](3), names.SchedulerVolcano, nil
				r := &ms.Spec.Template.Roles[0]
				r.Replicas, r.Partition = ptr.To[int32](2), nil
				ms.Spec.Template.Roles = ms.Spec.Template.Roles[:1]
			})
			waitRest(t, ms)
			stop()
			for _, p := range mustPods(t, ms, nil) {
				if have := p.Spec.Containers[0].Image; have != imageOf(100) {
					t.Errorf("Pod %q runs %s", p.Name, have)
				}
			}
		})
	}
}

// changeAny changes one thing in the spec, and says what.
func changeAny(t *testing.T, random *rand.Rand, ms *workloadv1alpha1.ModelServing, step int) (what string) {
	t.Helper()
	n := int32(random.IntN(4))
	kind := random.IntN(9)
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		if ms.Spec.RolloutStrategy == nil {
			ms.Spec.RolloutStrategy = &workloadv1alpha1.RolloutStrategy{Type: workloadv1alpha1.ServingGroupRollingUpdate}
		}
		strategy := ms.Spec.RolloutStrategy
		byRole := strategy.Type == workloadv1alpha1.RoleRollingUpdate
		first := &ms.Spec.Template.Roles[0]
		switch kind {
		case 0, 1:
			what = fmt.Sprintf("image %d", step+2)
			slowly(ms, step+2)
		case 2:
			what = fmt.Sprintf("%d groups", n)
			ms.Spec.Replicas = ptr.To(n)
		case 3:
			what = fmt.Sprintf("%d role replicas", n%3)
			first.Replicas = ptr.To(n % 3)
		case 4:
			what = fmt.Sprintf("%d workers", n%3)
			first.WorkerReplicas = n % 3
		case 5:
			what = fmt.Sprintf("partition %d", n)
			if byRole {
				first.Partition = ptr.To(intstr.FromInt32(n % 3))
			} else {
				rollingUpdate(ms).Partition = ptr.To(intstr.FromInt32(n))
				rollingUpdate(ms).MaxSurge = ptr.To(intstr.FromInt32(n % 2))
			}
		case 6:
			strategy.Paused = !strategy.Paused
			what = fmt.Sprintf("paused %t", strategy.Paused)
		case 7:
			strategy.RollingUpdateConfiguration, first.Partition = nil, nil
			strategy.Type = workloadv1alpha1.RoleRollingUpdate
			if byRole {
				strategy.Type = workloadv1alpha1.ServingGroupRollingUpdate
			}
			what = string(strategy.Type)
		default:
			what = "one role"
			if len(ms.Spec.Template.Roles) > 1 {
				ms.Spec.Template.Roles = ms.Spec.Template.Roles[:1]
				return
			}
			what = "two roles"
			second := first.DeepCopy()
			second.Name, second.Replicas, second.Partition = "second", ptr.To[int32](1), nil
			ms.Spec.Template.Roles = append(ms.Spec.Template.Roles, *second)
		}
	})
	return what
}

// removeAny deletes something that the ModelServing owns, as a hand would, and says what.
func removeAny(t *testing.T, random *rand.Rand, ms *workloadv1alpha1.ModelServing) (what string) {
	t.Helper()
	lists := []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &appsv1.ControllerRevisionList{}}
	list := lists[random.IntN(len(lists))]
	if err := k8s.List(t.Context(), list, client.InNamespace(ms.Namespace)); err != nil {
		t.Fatal(err)
	}
	all := objects(t, list)
	if len(all) == 0 {
		return "nothing to delete"
	}
	o := all[random.IntN(len(all))]
	if err := k8s.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	return fmt.Sprintf("delete %T %s", o, o.GetName())
}
