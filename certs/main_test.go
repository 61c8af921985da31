package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// server is the API server of all tests. The webhook configurations are of the whole cluster, so the
// tests run one after the other, each in a namespace of its own.
var server *gangwaytesting.APIServer

func TestMain(m *testing.M) {
	gangwaytesting.RunWithAPIServer(m, gangwaytesting.APIServerOptions{}, &server)
}

const (
	hookPath = "/allow"
	patience = 20 * time.Second
)

// replica is one manager with a webhook server that allows everything and counts.
type replica struct {
	certificates *Certificates
	address      string
	ready        healthz.Checker
	asked        atomic.Int64
	leading      <-chan struct{}
	stop         func()
}

// startReplica runs a manager until the test ends or stop is called, which waits for its end.
func startReplica(t *testing.T, namespace string, policy Policy) *replica {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	r := &replica{address: address}
	r.certificates = New(Options{
		Mode: SelfManaged, Namespace: namespace, ServiceName: "gangway-webhook",
		ExtraHosts: []string{"127.0.0.1"}, Policy: policy,
	})
	r.ready = r.certificates.ReadyCheck(address)
	host, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	mgr, err := ctrl.NewManager(server.Config, ctrl.Options{
		Scheme:                        gangwaytesting.Scheme(),
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "gangway",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(3 * time.Second),
		RenewDeadline:                 ptr.To(2 * time.Second),
		RetryPeriod:                   ptr.To(200 * time.Millisecond),
		Controller:                    config.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: host, Port: number, TLSOpts: []func(*tls.Config){r.certificates.TLS}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	mgr.GetWebhookServer().Register(hookPath, &webhook.Admission{Handler: admission.HandlerFunc(
		func(context.Context, admission.Request) admission.Response {
			r.asked.Add(1)
			return admission.Allowed("")
		})})
	if err := r.certificates.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	r.leading = mgr.Elected()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with: %v", err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

func (r *replica) isReady() error {
	return r.ready(httpRequest())
}

func httpRequest() *http.Request {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost/readyz", nil)
	if err != nil {
		panic(err) // the URL is constant
	}
	return req
}

// installConfigurations makes both configurations, each with two webhooks that call address for the
// ConfigMaps of one namespace and fail closed, and removes them when the test ends.
func installConfigurations(t *testing.T, namespace, address string) {
	t.Helper()
	url := "https://" + address + hookPath
	clientConfig := admissionregistrationv1.WebhookClientConfig{URL: &url}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	fail, none := ptr.To(admissionregistrationv1.Fail), ptr.To(admissionregistrationv1.SideEffectClassNone)
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ValidatingConfiguration}}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: MutatingConfiguration}}
	for _, name := range []string{"first.gangway.dev", "second.gangway.dev"} {
		validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: name, ClientConfig: clientConfig, Rules: rules, NamespaceSelector: selector,
			FailurePolicy: fail, SideEffects: none, AdmissionReviewVersions: []string{"v1"},
		})
		mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: name, ClientConfig: clientConfig, Rules: rules, NamespaceSelector: selector,
			FailurePolicy: fail, SideEffects: none, AdmissionReviewVersions: []string{"v1"},
		})
	}
	for _, object := range []client.Object{validating, mutating} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(server.Client.Delete(context.Background(), object)); err != nil {
				t.Error(err)
			}
		})
	}
}

// eventually waits until check answers nil, and fails the test with its last answer.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	last := fmt.Errorf("never asked")
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

func readSecret(ctx context.Context, namespace string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, server.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: SecretName}, secret)
}

func mustReadSecret(t *testing.T, namespace string) *corev1.Secret {
	t.Helper()
	secret, err := readSecret(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// everyWebhookTrusts answers nil when all four webhooks carry the bundle of the Secret, byte for byte.
func everyWebhookTrusts(namespace string) func(context.Context) error {
	return func(ctx context.Context) error {
		secret, err := readSecret(ctx, namespace)
		if err != nil {
			return err
		}
		seen := 0
		for _, configuration := range configurations() {
			if err := server.Client.Get(ctx, client.ObjectKeyFromObject(configuration), configuration); err != nil {
				return err
			}
			for i, config := range clientConfigs(configuration) {
				if !bytes.Equal(config.CABundle, secret.Data[caCertKey]) {
					return fmt.Errorf("webhook %d of %s has caBundle %q", i, configuration.GetName(), config.CABundle)
				}
				seen++
			}
		}
		if seen != 4 {
			return fmt.Errorf("there are %d webhooks, want 4", seen)
		}
		return nil
	}
}

// admit sends one request through the webhooks: nothing is stored.
func admit(namespace string) func(context.Context) error {
	return func(ctx context.Context) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "asks-"}}
		return server.Client.Create(ctx, object, client.DryRunAll)
	}
}
