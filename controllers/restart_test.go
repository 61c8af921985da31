package controllers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// The manager dies at a random write of a creation, a scaling, a rollout or a recovery, and another
// takes over, again and again. What comes out is what would have come out without.
func TestManagerThatDiesAtRandomWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t)
			// die cuts the manager off within the next writes, if it makes that many, and starts
			// another one.
			die := func(ms *workloadv1alpha1.ModelServing, until func() bool) {
				for range 4 {
					cut := w.net.cutAfter(1 + random.IntN(8))
					w.eventually("the cut or the end", func() error {
						select {
						case <-cut:
							return nil
						default:
						}
						if until() {
							return nil
						}
						return fmt.Errorf("neither")
					})
					w.stop()
					w.net.mend()
					w.start()
				}
			}
			ms := twoRoles(3).MaxUnavailable("1").Obj()
			available := func() bool {
				w.get(ms)
				s := ms.Status
				return s.ObservedGeneration == ms.Generation && s.AvailableReplicas == *ms.Spec.Replicas && s.UpdatedReplicas == *ms.Spec.Replicas
			}
			w.create(ms)
			die(ms, available)
			w.available(ms, 3)

			w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](4) })
			die(ms, available)
			w.available(ms, 4)

			watched := w.observe(ms, 3)
			w.change(ms, setImage(imageNew))
			die(ms, available)
			w.available(ms, 4)
			if lowest := watched.stop(); lowest < 3 {
				t.Errorf("at one moment %d of 4 groups were available, with maxUnavailable 1", lowest)
			}
			if len(ms.Status.Recoveries) > 0 {
				t.Errorf("the rollout was taken for a failure: %+v", ms.Status.Recoveries)
			}

			before := w.pods(ms)
			w.kubelet.crash("ms-1-prefill-0-1")
			die(ms, func() bool {
				now := w.pods(ms)["ms-1-prefill-0-1"]
				return now != nil && now.UID != before["ms-1-prefill-0-1"].UID && available()
			})
			w.available(ms, 4)
			w.untouched(ms, before, "ms-0")
			w.untouched(ms, before, "ms-1-decode")
			if r := ms.Status.Recoveries; len(r) != 1 || r[0].Count != 1 {
				t.Errorf("one crash became: %+v", r)
			}

			if got := len(w.allPods(ms)); got != 12 {
				t.Errorf("%d Pods, want 12", got)
			}
			for name, pod := range w.pods(ms) {
				if pod.Labels[names.LabelRevision] == "" || pod.Spec.Containers[0].Image != imageNew {
					t.Errorf("Pod %s has image %s", name, pod.Spec.Containers[0].Image)
				}
			}
			w.quiet(ms)
		})
	}
}

// A role of many Pods is created by a manager that keeps dying: no Pod twice, none missing.
func TestManagerThatDiesWhileItCreatesManyPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := gangwaytesting.MakeModelServing("ms").Replicas(5).
		Role(gangwaytesting.MakeRole("main").Replicas(4).Workers(1).Obj()).Obj()
	w.create(ms)
	for _, n := range []int{1, 2, 3, 7, 20} {
		<-w.net.cutAfter(n)
		w.stop()
		w.net.mend()
		w.start()
	}
	w.available(ms, 5)
	if got := len(w.allPods(ms)); got != 40 {
		t.Errorf("%d Pods, want 40", got)
	}
	w.quiet(ms)
}
