package apply_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/revision"
)

var server *gangwaytesting.APIServer

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	gangwaytesting.RunWithAPIServer(m, gangwaytesting.APIServerOptions{}, &server)
}

// recorded keeps Events as "type reason: note".
type recorded struct {
	mu     sync.Mutex
	events []string
}

func (r *recorded) Eventf(_, _ runtime.Object, eventtype, reason, _, note string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%s %s: %s", eventtype, reason, fmt.Sprintf(note, args...)))
}

func (r *recorded) AnnotatedEventf(regarding, related runtime.Object, _ map[string]string, eventtype, reason, what, note string, args ...any) {
	r.Eventf(regarding, related, eventtype, reason, what, note, args...)
}

// bench is a ModelServing in a namespace of its own, and a Writer whose creates of Pods are counted.
type bench struct {
	testing.TB
	client   client.Client
	ms       *workloadv1alpha1.ModelServing
	writer   *apply.Writer
	recorder *recorded
	tries    atomic.Int64
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{TB: t, client: server.Client, recorder: &recorded{}}
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return counting{next: next, tries: &b.tries}
	})
	c, err := client.New(config, client.Options{Scheme: server.Environment.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	b.writer = &apply.Writer{Client: c, Live: server.Client, Recorder: b.recorder}
	b.ms = b.modelServing("ms")
	return b
}

type counting struct {
	next  http.RoundTripper
	tries *atomic.Int64
}

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/pods") {
		c.tries.Add(1)
	}
	return c.next.RoundTrip(req)
}

func (b *bench) modelServing(name string) *workloadv1alpha1.ModelServing {
	b.Helper()
	ms := gangwaytesting.MakeModelServing(name).Replicas(100).
		Role(gangwaytesting.MakeRole("main").Workers(1).Obj()).Obj()
	ms.Namespace, ms.UID, ms.Generation = server.Namespace(b, nil), "", 0
	b.must(b.client.Create(context.Background(), ms))
	return ms
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// pod makes the Pod of index n of a group, as the planner would.
func (b *bench) pod(group, n int) *corev1.Pod {
	return children.Pod(b.ms, revision.Of(b.ms), "abc", children.PodID{Group: group, Role: "main", Index: n})
}

func (b *bench) service(group int) *corev1.Service {
	return children.EntryService(b.ms, "main", group, 0)
}

func create(objects ...action.Object) []action.Action {
	var out []action.Action
	for _, obj := range objects {
		out = append(out, action.Action{Verb: action.Create, Object: obj, Why: "Test"})
	}
	return out
}

func lane(stages ...[]action.Action) action.Lane {
	return action.Lane{Name: "lane", Stages: stages}
}

// do carries lanes out and says how it went, one line for each fault.
func (b *bench) do(lanes ...action.Lane) []string {
	b.Helper()
	var out []string
	for _, f := range b.writer.Do(context.Background(), b.ms, apply.Work{Lanes: lanes}).Faults {
		out = append(out, fmt.Sprintf("%s %s %s: %s", f.Kind, f.Action.Verb, f.Action.Object.GetName(), f.Message))
	}
	return out
}

// exists reads an object from the API server; nil when it is not there.
func exists[T client.Object](b *bench, obj T) (found T, ok bool) {
	b.Helper()
	found = obj.DeepCopyObject().(T)
	err := b.client.Get(context.Background(), client.ObjectKeyFromObject(obj), found)
	b.must(client.IgnoreNotFound(err))
	return found, err == nil
}
