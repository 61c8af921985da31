package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func (a *tally) add(r reply, err error, want string) {
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
	}
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
				a.add(r, err, complete)
			}
		})
	}
	return func() *tally {
		cancel()
		wg.Wait()
		return a
	}
}

// A rolling update of three groups, one at a time, while four clients never pause. What makes it
// lossless is on both sides:
//   - Gangway takes one group at a time and goes on only when the new one is Ready, so that the
//     Service never has fewer than two Pods;
//   - the Pod's preStop sleep keeps its server going while the news of its end travels from the
//     EndpointSlice to the Gateway, and the server answers what it has begun before it ends.
//
// With both, not one request may fail.
func TestRollingUpdateLosesNoRequest(t *testing.T) {
	ns := namespace(t, nil)
	host := hostOf(ns, "llm")
	entry := vllm("llm")
	entry.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}}}
	ms := &workloadv1alpha1.ModelServing{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "llm"},
		Spec: workloadv1alpha1.ModelServingSpec{
			Replicas: ptr.To[int32](3),
			RolloutStrategy: &workloadv1alpha1.RolloutStrategy{
				RollingUpdateConfiguration: &workloadv1alpha1.RollingUpdateConfiguration{MaxUnavailable: ptr.To(intstr.FromInt32(1))},
			},
			GatewayRef: &workloadv1alpha1.GatewayReference{Name: gatewayName, SectionName: "http", Host: host},
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
	s := &service{Object: ms, status: func() (int64, []metav1.Condition, string) {
		return ms.Status.ObservedGeneration, ms.Status.Conditions, ms.Status.Address
	}}
	create(t, makeGateway(ns, listener(nil)), ms)
	address := s.waitReady(t)
	waitServes(t, web(nil), address, "llm")
	old := entryPods(t, ms)

	stop := load(t, address, "llm")
	edit(t, ms, func(ms *workloadv1alpha1.ModelServing) {
		ms.Spec.Template.Roles[0].EntryTemplate.Spec.Containers[0].Image = "registry.example.com/vllm-openai:v2"
	})
	least := 3
	eventually(t, func(ctx context.Context) string {
		pods := corev1.PodList{}
		if err := k8s.List(ctx, &pods, client.InNamespace(ns), client.MatchingLabels{names.LabelModelServing: ms.Name}); err != nil {
			return err.Error()
		}
		least = min(least, readyPods(pods.Items))
		if missing := s.condition(ctx, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionFalse, ""); missing != "" {
			return missing
		}
		return s.condition(ctx, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	// The last Pods that went are still within their preStop sleep; what they begin counts too.
	eventually(t, func(context.Context) string {
		for name, uid := range entryPods(t, ms) {
			if old[name] == uid {
				return "Pod " + name + " is still the old one"
			}
		}
		return ""
	})
	result := stop()

	t.Logf("%d requests, %d lost, at least %d Pods Ready, served by %v", result.sent, len(result.lost), least, result.servedBy)
	for i, lost := range result.lost {
		if i == 10 {
			break
		}
		t.Errorf("lost: %s", lost)
	}
	if least < 2 {
		t.Errorf("only %d of 3 Pods were Ready at some instant, though maxUnavailable is 1", least)
	}
	if result.sent < 50 || result.sent >= maxRequests {
		t.Errorf("%d requests are no load of the whole update; between 50 and %d were expected", result.sent, maxRequests)
	}
}

func entryPods(t *testing.T, ms *workloadv1alpha1.ModelServing) map[string]string {
	t.Helper()
	pods := corev1.PodList{}
	if err := k8s.List(t.Context(), &pods, client.InNamespace(ms.Namespace), client.MatchingLabels{
		names.LabelModelServing: ms.Name, names.LabelEntry: names.EntryValue,
	}); err != nil {
		t.Fatalf("list the Pods of %q: %v", ms.Name, err)
	}
	uids := map[string]string{}
	for _, p := range pods.Items {
		uids[p.Name] = string(p.UID)
	}
	return uids
}

func readyPods(pods []corev1.Pod) int {
	n := 0
	for _, p := range pods {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
				n++
			}
		}
	}
	return n
}
