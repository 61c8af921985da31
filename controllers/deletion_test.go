package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// What the namespace controller deletes has not failed: nothing is recovered, reported or tried again.
func TestWhatIsInANamespaceThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms, v := twoRoles(1).Obj(), vllmService("qwen")
	w.create(ms, v)
	w.available(ms, 1)
	deployment := deploymentOf(v)
	w.eventually("the Deployment", func() error {
		return w.client.Get(context.Background(), client.ObjectKeyFromObject(deployment), deployment)
	})

	// No namespace controller runs here, so that the Namespace stays.
	w.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})
	w.eventually("the manager knows", func() error {
		w.pokes++
		w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
			metav1.SetMetaDataAnnotation(&ms.ObjectMeta, "test.example/poke", fmt.Sprint(w.pokes))
		})
		return w.idle(300 * time.Millisecond)
	})
	writes := w.net.writes()

	pods := w.pods(ms)
	w.remove(pods["ms-0-prefill-0-0"])
	w.remove(pods["ms-0-decode-0-0"])
	w.remove(&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "ms-0"}})
	w.remove(deployment)
	if err := w.idle(time.Second); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(writes, w.net.writes()); diff != "" {
		t.Errorf("the manager wrote (-before +after):\n%s", diff)
	}
}

// idle fails when a pass begins within the span.
func (w *world) idle(span time.Duration) error {
	before := w.clock.passes.Load()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, span, true, func(context.Context) (bool, error) {
		if w.clock.passes.Load() != before {
			return false, errors.New("a pass has begun")
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return nil
	}
	return err
}
