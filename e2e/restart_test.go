package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
)

// restartManager kills the manager as a lost node would, and starts the next one.
func restartManager(t *testing.T) {
	t.Helper()
	if err := local.KillManager(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := local.StartManager(t.Context(), cluster.GangwayOptions{}); err != nil {
		t.Fatal(err)
	}
}

// versions maps every object that the ModelServing owns, and itself, to its resourceVersion.
func versions(t *testing.T, ms *workloadv1alpha1.ModelServing) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, list := range []client.ObjectList{&workloadv1alpha1.ModelServingList{}, &corev1.PodList{}, &corev1.ServiceList{}, &schedulingv1beta1.PodGroupList{}} {
		if err := k8s.List(t.Context(), list, client.InNamespace(ms.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, list) {
			m[fmt.Sprintf("%T %s", o, o.GetName())] = string(o.GetUID()) + "@" + o.GetResourceVersion()
		}
	}
	return m
}

func TestARestartOfTheManagerChangesNothing(t *testing.T) {
	ms := sample(t)
	create(t, ms)
	waitReady(t, ms)
	// Volcano settles its PodGroup's status a moment after the Pods are Ready.
	var before map[string]string
	eventually(t, timeout, func(context.Context) string {
		last := before
		before = versions(t, ms)
		return cmp.Diff(last, before)
	})
	restartManager(t)
	// The new manager is known to have looked at everything once it has acted on something newer.
	probe := single(t, 1, 0)
	create(t, probe)
	waitReady(t, probe)
	if diff := cmp.Diff(before, versions(t, ms)); diff != "" {
		t.Errorf("a restart wrote (-before +after):\n%s", diff)
	}
}

func TestManagerKilledAtRandomMomentsLosesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	ms := single(t, 6, 1)
	create(t, ms)
	stop := watchGroups(t, ms, 2)
	for i := range 4 {
		// Waiting for a random span is the point: the manager dies in the middle of something.
		timer := time.NewTimer(time.Duration(random.IntN(1500)) * time.Millisecond)
		<-timer.C
		restartManager(t)
		edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
			setImage(ms, 0, fmt.Sprintf("registry.example/llm:%d", i+2), "")
		})
	}
	waitRolledOut(t, ms)
	if g := stop(); g.mixed != "" {
		t.Error(g.mixed)
	}
	list := mustPods(t, ms, nil)
	if len(list) != 12 {
		t.Errorf("%d Pods, want 12", len(list))
	}
	for _, p := range list {
		if p.Spec.Containers[0].Image != "registry.example/llm:5" {
			t.Errorf("Pod %q runs %s", p.Name, p.Spec.Containers[0].Image)
		}
	}
}

func TestWhileTheWebhookIsDownOnlyItsOwnWait(t *testing.T) {
	ms := single(t, 2, 0)
	create(t, ms)
	waitReady(t, ms)
	if err := local.KillManager(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	restarted := false
	t.Cleanup(func() {
		if !restarted {
			_ = local.StartManager(context.Background(), cluster.GangwayOptions{})
		}
	})

	stranger := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/other:1"}}}}
	stranger.Namespace, stranger.Name = ms.Namespace, "unrelated"
	create(t, stranger)

	own := mustPods(t, ms, nil)[0]
	clone := &corev1.Pod{Spec: *own.Spec.DeepCopy()}
	clone.Namespace, clone.Name, clone.Labels = own.Namespace, "clone", own.Labels
	clone.Spec.NodeName = ""
	if err := k8s.Create(t.Context(), clone); err == nil {
		t.Error("a Pod with the group's labels was created while the webhook was down")
	}

	if err := local.StartManager(t.Context(), cluster.GangwayOptions{}); err != nil {
		t.Fatal(err)
	}
	restarted = true
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](3) })
	waitReady(t, ms)
}
