package controllers_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

func keyOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// Percentages of few groups round to nothing in some controllers, which then wait for ever.
func TestPercentagesOfZeroOneAndThree(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int32{0, 1, 3} {
		for _, percent := range []string{"0%", "1%", "34%", "100%"} {
			t.Run(fmt.Sprintf("maxUnavailable %s of %d", percent, replicas), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				ms := single(replicas).MaxUnavailable(percent).Obj()
				w.create(ms)
				w.available(ms, replicas)
				w.change(ms, setImage(imageNew))
				w.available(ms, replicas)
				for name, image := range w.images(ms) {
					if image != imageNew {
						t.Errorf("Pod %s has image %s", name, image)
					}
				}
				w.quiet(ms)
			})
		}
	}
}

func TestLongestNameThatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// <ms>-9-<role of 12>-9-1 is 63 characters long.
	const role = "decodedecode"
	name := strings.Repeat("m", 63-len("-9-"+role+"-9-1"))
	ms := gangwaytesting.MakeModelServing(name).Role(gangwaytesting.MakeRole(role).Workers(1).Obj()).Obj()
	w.create(ms)
	w.available(ms, 1)
	want := []string{name + "-0-" + role + "-0-0", name + "-0-" + role + "-0-1"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(w.pods(ms)))); diff != "" || len(want[0]) != 63 {
		t.Errorf("Pods (-want +got):\n%s", diff)
	}
	w.change(ms, setImage(imageNew))
	w.available(ms, 1)
	w.quiet(ms)
}

func TestRevisionHistoryIsKeptToItsLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(1).RevisionHistoryLimit(2).Obj()
	w.create(ms)
	w.available(ms, 1)
	for i := range 5 {
		w.change(ms, setImage(fmt.Sprintf("registry.example/llm:%d", i+2)))
		w.available(ms, 1)
	}
	w.eventually("two revisions beside the one in use", func() error {
		var revisions appsv1.ControllerRevisionList
		if err := w.client.List(context.Background(), &revisions, client.InNamespace(w.ns)); err != nil {
			return err
		}
		if len(revisions.Items) != 3 {
			return fmt.Errorf("%d ControllerRevisions", len(revisions.Items))
		}
		return nil
	})
	w.quiet(ms)
}

func TestScaleDownGoesByDeletionCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(3).Obj()
	w.create(ms)
	w.available(ms, 3)
	before := w.pods(ms)
	for name, cost := range map[string]string{"ms-0-main-0-0": "5", "ms-1-main-0-0": "-1", "ms-2-main-0-0": "5"} {
		pod := before[name]
		changed := pod.DeepCopy()
		changed.Annotations = map[string]string{corev1.PodDeletionCost: cost}
		if err := w.client.Patch(context.Background(), changed, client.MergeFrom(pod)); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(ms)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](2) })
	w.eventually("two Pods", func() error {
		if diff := cmp.Diff([]string{"ms-0-main-0-0", "ms-2-main-0-0"}, slices.Sorted(maps.Keys(w.allPods(ms)))); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	w.available(ms, 2)
	w.untouched(ms, before, "ms-0")
	w.untouched(ms, before, "ms-2")
	w.quiet(ms)
}
