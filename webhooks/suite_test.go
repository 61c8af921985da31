package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks"
)

// timeout is how long a condition may take to come true on a busy machine.
const timeout = 60 * time.Second

// bed is an API server with the shipped webhook configurations, and a manager that answers.
type bed struct {
	*gangwaytesting.APIServer
	opts webhooks.Options
	// watched narrows the manager's cache to these namespaces; nil means all.
	watched map[string]cache.Config
	// watches is what the manager's cache hears through.
	watches *lag
	// manager is the one that runs; nil while the webhook is down.
	manager ctrl.Manager
	stop    func() error
}

// shared is started by the first test that needs it: the others, fuzzing among them, need none.
var shared struct {
	sync.Once
	bed *bed
	err error
}

func TestMain(m *testing.M) {
	logger := logr.Discard()
	if os.Getenv("GANGWAY_TEST_LOG") != "" {
		logger = zap.New(zap.UseDevMode(true))
	}
	ctrl.SetLogger(logger)
	code := m.Run()
	if shared.bed != nil {
		if err := shared.bed.close(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// theBed is the package's API server, with the webhook up.
func theBed(t testing.TB) *bed {
	t.Helper()
	shared.Do(func() { shared.bed, shared.err = newBed(gangwaytesting.APIServerOptions{}, webhooks.Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.bed
}

func newBed(opts gangwaytesting.APIServerOptions, hooks webhooks.Options) (*bed, error) {
	opts.Webhooks = envtest.WebhookInstallOptions{Paths: []string{"../config/webhook/manifests.yaml"}}
	api, err := gangwaytesting.StartAPIServer(opts)
	if err != nil {
		return nil, err
	}
	b := &bed{APIServer: api, opts: hooks, watches: newLag()}
	if err := b.start(); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bed) close() error {
	return errors.Join(b.halt(), b.Stop())
}

// start starts a manager with the webhooks and waits until they answer the API server.
func (b *bed) start() error {
	config := rest.CopyConfig(b.Config)
	config.QPS, config.Burst = -1, 0
	config.Wrap(b.watches.wrap)
	hooks := b.Environment.WebhookInstallOptions
	none := time.Duration(0)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  b.Environment.Scheme,
		Cache:                   cache.Options{DefaultNamespaces: b.watched},
		Metrics:                 server.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: &none,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		return fmt.Errorf("make a manager: %w", err)
	}
	if err := webhooks.SetupWithManager(mgr, b.opts); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	b.manager = mgr
	b.stop = func() error {
		cancel()
		return <-done
	}
	probe := quiet("probe")
	probe.Namespace = "default"
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		return b.Client.Create(ctx, probe.DeepCopy(), client.DryRunAll) == nil && mgr.GetCache().WaitForCacheSync(ctx), nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the webhooks to answer: %w", err), b.halt())
	}
	return nil
}

// halt takes the webhook down.
func (b *bed) halt() error {
	if b.stop == nil {
		return nil
	}
	err := b.stop()
	b.stop, b.manager = nil, nil
	return err
}

// heard collects the warnings of one client.
type heard struct {
	mu       sync.Mutex
	warnings []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warnings = append(h.warnings, text)
}

// take returns what was heard since the last call.
func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.warnings = nil }()
	return slices.Clone(h.warnings)
}

// freeze keeps from the manager's cache whatever happens from now on, until the test ends.
func (b *bed) freeze(t testing.TB) {
	t.Helper()
	// All informers have to be there already.
	warm := in(b.Namespace(t, nil), quiet("warm"))
	warm.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: "none", SectionName: "http", Host: "llm.example.com"}
	c, heard := b.listening(t, "")
	eventually(t, func(ctx context.Context) error {
		if err := c.Create(ctx, warm.DeepCopy(), client.DryRunAll); err != nil {
			return err
		}
		if got := heard.take(); len(got) != 1 || !strings.Contains(got[0], "does not exist") {
			return fmt.Errorf("warned: %q", got)
		}
		return nil
	})
	b.watches.freeze(true)
	t.Cleanup(func() { b.watches.freeze(false) })
}

// listening is a client that collects warnings, as the administrator or, with a name, as that user.
func (b *bed) listening(t testing.TB, user string) (client.Client, *heard) {
	t.Helper()
	config := rest.CopyConfig(b.Config)
	config.QPS, config.Burst = -1, 0
	h := &heard{}
	config.WarningHandler = h
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	c, err := client.New(config, client.Options{Scheme: b.Environment.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, h
}

// eventually tries until check has nothing to complain about.
func eventually(t testing.TB, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v; last: %v", err, last)
	}
}

// causes are the fields that a refusal names.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, c := range status.Status().Details.Causes {
		fields = append(fields, c.Field)
	}
	return fields
}

// expectRefused compares the fields that a refusal names, whole.
func expectRefused(t testing.TB, err error, fields ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("want a refusal with reason Invalid, got: %v", err)
	}
	if diff := cmp.Diff(fields, causes(err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s%v", diff, err)
	}
}

// quiet is a ModelServing about which nothing is to be said.
func quiet(name string) *workloadv1alpha1.ModelServing {
	w := gangwaytesting.MakeModelServing(name).Replicas(2).
		Role(gangwaytesting.MakeRole("prefill").Replicas(2).Port(8000).Obj()).
		Role(gangwaytesting.MakeRole("decode").Replicas(2).Workers(1).Port(8000).Obj())
	ms := w.Obj()
	ms.UID, ms.Generation = "", 0
	return ms
}

// in places an object into a namespace.
func in[T client.Object](namespace string, obj T) T {
	obj.SetNamespace(namespace)
	return obj
}

func numbered(prefix string, i int) string { return prefix + strconv.Itoa(i) }
