package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/e2e/gateway/bed"
	"github.com/gangway-serving/gangway/plan/names"
)

// The bounds of the load.
const (
	clients     = 4
	maxRequests = 5000 // in all
	maxLoadTime = 3 * time.Minute
)

// tally is what came of the requests of a load.
type tally struct {
	mu       sync.Mutex
	sent     int
	servedBy map[string]int
	lost     []string
}

func (a *tally) add(r reply, err error, want string) (good bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent++
	switch {
	case err != nil:
		a.lost = append(a.lost, err.Error())
	case r.code != http.StatusOK || !bytes.Contains(r.body, []byte(want)):
		a.lost = append(a.lost, fmt.Sprintf("%d: %q", r.code, r.body))
	default:
		a.servedBy[r.servedBy]++
		return true
	}
	return false
}

// load sends chat completions, each client one after the other, until stop is called; stop gives
// what came of them. Every third one is streamed, and each takes about 150 ms, so that there are
// always some under way.
func load(t *testing.T, address, model string) (stop func() *tally) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxLoadTime)
	a := &tally{servedBy: map[string]int{}}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c := web(nil)
			for i := range maxRequests / clients {
				if ctx.Err() != nil {
					return
				}
				// Not ctx: what is under way at the end is waited for.
				stream, complete := i%3 == 0, `"content":"one two three"`
				if stream {
					complete = "data: [DONE]"
				}
				r, err := ask(context.WithoutCancel(ctx), c, http.MethodPost, address+"/v1/chat/completions", chat(model, "one two three", stream))
				if a.add(r, err, complete) {
					continue
				}
				// As clients do after a failure.
				select {
				case <-ctx.Done():
				case <-time.After(150 * time.Millisecond):
				}
			}
		})
	}
	return func() *tally {
		cancel()
		wg.Wait()
		return a
	}
}

// A rolling update of three groups while four clients never pause. What makes it lossless is on
// both sides:
//   - Gangway takes maxUnavailable groups at a time and goes on only when the new ones are Ready, so
//     that with 1 the Service never has fewer than two Pods;
//   - the Pod's preStop sleep keeps its server going while the news of its end travels from the
//     EndpointSlice to the Gateway, and the server answers what it has begun before it ends.
//
// With both, not one request may fail. The other case is the proof that a loss would be seen.
func TestRollingUpdateUnderRequests(t *testing.T) {
	tests := map[string]struct {
		maxUnavailable int
		wantLeast      int
		wantLoss       bool
	}{
		"one group at a time loses no request":      {maxUnavailable: 1, wantLeast: 2},
		"all groups at once leave nobody to answer": {maxUnavailable: 3, wantLeast: 0, wantLoss: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, ms := rollable(namespace(t, nil), tc.maxUnavailable)
			create(t, makeGateway(ms.Namespace, listener(nil)), ms)
			address := s.waitReady(t)
			waitServes(t, web(nil), address, "llm")
			old := entryPods(t, ms)

			stop := load(t, address, "llm")
			edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
				ms.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].Image = "registry.example.com/vllm-openai:v2"
			})
			least := len(old)
			eventually(t, func(ctx context.Context) string {
				ready, outdated := 0, 0
				for name, p := range entryPods(t, ms) {
					if p.ready {
						ready++
					}
					if p.uid == old[name].uid {
						outdated++
					}
				}
				least = min(least, ready)
				if outdated > 0 {
					return fmt.Sprintf("%d Pods are still the old ones", outdated)
				}
				return s.condition(ctx, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, "")
			})
			result := stop()

			t.Logf("%d requests, %d lost, at least %d Pods Ready, served by %v", result.sent, len(result.lost), least, result.servedBy)
			if tc.wantLoss != (len(result.lost) > 0) {
				t.Errorf("%d of %d requests were lost, among them %q", len(result.lost), result.sent, result.lost[:min(3, len(result.lost))])
			}
			if least < tc.wantLeast {
				t.Errorf("only %d of %d Pods were Ready at some instant, though maxUnavailable is %d", least, len(old), tc.maxUnavailable)
			}
			if result.sent < 30 || result.sent >= maxRequests {
				t.Errorf("%d requests are no load of the whole update; between 30 and %d were expected", result.sent, maxRequests)
			}
		})
	}
}

// rollable is a ModelServing of three groups, each of one Pod.
func rollable(namespace string, maxUnavailable int) (*service, *workloadv1alpha1.ModelServing) {
	entry := vllm("llm")
	entry.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}}}
	ms := &workloadv1alpha1.ModelServing{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "llm"},
		Spec: workloadv1alpha1.ModelServingSpec{
			Replicas: ptr.To[int32](3),
			RolloutStrategy: &workloadv1alpha1.RolloutStrategy{
				RollingUpdateConfiguration: &workloadv1alpha1.RollingUpdateConfiguration{MaxUnavailable: ptr.To(intstr.FromInt(maxUnavailable))},
			},
			GatewayRef: &workloadv1alpha1.GatewayReference{Name: gatewayName, SectionName: "http", Host: hostOf(namespace, "llm")},
			Template: workloadv1alpha1.ServingGroup{Roles: []workloadv1alpha1.Role{{
				Name:     "serve",
				Replicas: ptr.To[int32](1),
				EntryTemplate: workloadv1alpha1.PodTemplateSpec{
					Metadata: &workloadv1alpha1.PodMetadata{Annotations: map[string]string{
						// The server listens at once; its Pod is Ready a second later.
						cluster.BehaviorAnnotation: cluster.BehaviorSlowStart,
						cluster.DelayAnnotation:    "1s",
						// The kubelet's part: two seconds of preStop, one for what is under way.
						cluster.StopDelayAnnotation: "3s",
						bed.TokenIntervalAnnotation: "50ms",
					}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{entry}},
				},
			}}},
		},
	}
	return &service{Object: ms, status: func() (int64, []metav1.Condition, string) {
		return ms.Status.ObservedGeneration, ms.Status.Conditions, ms.Status.Address
	}}, ms
}

// pod is what is looked at of one.
type pod struct {
	uid   types.UID
	ready bool
}

func entryPods(t *testing.T, ms *workloadv1alpha1.ModelServing) map[string]pod {
	t.Helper()
	list := corev1.PodList{}
	if err := k8s.List(t.Context(), &list, client.InNamespace(ms.Namespace), client.MatchingLabels{
		names.LabelModelServing: ms.Name, names.LabelEntry: names.EntryValue,
	}); err != nil {
		t.Fatalf("list the Pods of %q: %v", ms.Name, err)
	}
	pods := map[string]pod{}
	for _, p := range list.Items {
		ready := p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		pods[p.Name] = pod{uid: p.UID, ready: ready}
	}
	return pods
}
