package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gangway-serving/gangway/certs"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

const patience = 30 * time.Second

// eventually waits until check answers nil, and fails the test with its last answer.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	last := errors.New("never asked")
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// kubeconfig writes a file that reaches the API server as an administrator.
func kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ask returns the body of an answer of 200, and an error otherwise.
func ask(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), nil
}

func TestManagerFromStartToStop(t *testing.T) {
	namespace := "gangway-system"
	err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil {
		t.Fatal(err)
	}
	webhook, health, metrics, pprof := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	args := []string{
		"--kubeconfig=" + kubeconfig(t), "--webhook-bind-address=" + webhook, "--webhook-host=127.0.0.1",
		"--health-probe-bind-address=" + health, "--metrics-bind-address=" + metrics, "--pprof-bind-address=" + pprof,
		"--watch-namespaces=default," + namespace, "--log-level=error", "--log-format=console",
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, newCommand(runManager), args, &stdout, &stderr) }()

	eventually(t, "ready", func(ctx context.Context) error {
		select {
		case code := <-ended:
			t.Fatalf("gangway ended with %d: %s", code, stderr.String())
		default:
		}
		_, err := ask(ctx, "http://"+health+"/readyz")
		return err
	})
	for _, url := range []string{"http://" + health + "/healthz", "http://" + pprof + "/debug/pprof/cmdline"} {
		if _, err := ask(t.Context(), url); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "it leads, and its metrics say so", func(ctx context.Context) error {
		body, err := ask(ctx, "http://"+metrics+"/metrics")
		if err == nil && !strings.Contains(body, `leader_election_master_status{name="gangway"} 1`) {
			return errors.New("no metric says that it leads")
		}
		return err
	})
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: namespace, Name: leaseName}
	if err := server.Client.Get(t.Context(), key, lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("the Lease has no holder: %+v", lease.Spec)
	}
	secret := &corev1.Secret{}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: certs.SecretName}, secret); err != nil {
		t.Error(err)
	}
	old := &tls.Config{MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}
	if conn, err := tls.Dial("tcp", webhook, old); err == nil {
		conn.Close()
		t.Error("the webhook server speaks TLS 1.1")
	}

	cancel()
	select {
	case code := <-ended:
		if code != exitOK || stderr.Len() > 0 {
			t.Errorf("gangway ended with %d, stderr %q; want 0 and none", code, stderr.String())
		}
	case <-time.After(patience):
		t.Fatal("gangway does not stop")
	}
	if err := server.Client.Get(t.Context(), key, lease); err != nil {
		t.Fatal(err)
	}
	if *lease.Spec.HolderIdentity != "" {
		t.Errorf("the Lease is still held by %q", *lease.Spec.HolderIdentity)
	}
}

func TestWhatStandsInTheWayIsOneLine(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead := freeAddress(t)
	unreachable := filepath.Join(dir, "unreachable")
	host, err := url.Parse(server.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	content := strings.ReplaceAll(string(server.Environment.KubeConfig), host.Host, dead)
	if err := os.WriteFile(unreachable, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{
		"--webhook-bind-address=" + freeAddress(t), "--health-probe-bind-address=" + freeAddress(t), "--metrics-bind-address=" + freeAddress(t),
		"--log-level=error",
	}
	tests := map[string]struct {
		args []string
		code int
		want []string // parts of the line, in order
	}{
		"a kubeconfig that is not there": {
			args: []string{"--kubeconfig=" + filepath.Join(dir, "none")}, code: exitUsage,
			want: []string{"--kubeconfig", filepath.Join(dir, "none"), "no such file or directory", "name a kubeconfig file"},
		},
		"a kubeconfig that is garbage": {
			args: []string{"--kubeconfig=" + garbage}, code: exitUsage,
			want: []string{"--kubeconfig", garbage, "is not a usable kubeconfig", "must work with it"},
		},
		"a port that is taken": {
			args: []string{"--kubeconfig=" + kubeconfig(t), "--metrics-bind-address=" + busy.Addr().String()}, code: exitFailed,
			want: []string{"--metrics-bind-address", busy.Addr().String(), "is taken by another process", "choose another port"},
		},
		"an address of another machine": {
			args: []string{"--kubeconfig=" + kubeconfig(t), "--webhook-bind-address=192.0.2.1:9443"}, code: exitFailed,
			want: []string{"--webhook-bind-address", "192.0.2.1:9443", "is not an address of this machine", "leave the host out"},
		},
		"an API server that does not run": {
			args: []string{"--kubeconfig=" + unreachable}, code: exitFailed,
			want: []string{"the API server at ", dead, "does not answer", "connection refused", "check that it runs"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := runWith(t, runManager, append(free, tc.args...)...)
			assertLine(t, got, tc.code, tc.want)
		})
	}
}

// assertLine checks that there is one error, and that it has the parts in order.
func assertLine(t *testing.T, got outcome, code int, parts []string) {
	t.Helper()
	if got.Code != code || strings.Count(got.Stderr, "error:") != 1 {
		t.Errorf("outcome = %+v, want exit code %d and one error", got, code)
	}
	rest := got.Stderr
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("stderr = %q, want it to have %q in this order", got.Stderr, parts)
		}
		rest = after
	}
}

func TestMissingCRDsAreNamed(t *testing.T) {
	root, err := gangwaytesting.Root()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(root, "config/crd/bases")}})
		if err != nil {
			t.Error(err)
		}
	})
	name := "vllmservices.aiinfra.example.com"
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := server.Client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server has forgotten the API", func(ctx context.Context) error {
		if err := checkAPIs(ctx, server.Config); err == nil {
			return errors.New("it is still served")
		}
		return nil
	})
	got := runWith(t, runManager, "--kubeconfig="+kubeconfig(t), "--log-level=error",
		"--webhook-bind-address="+freeAddress(t), "--health-probe-bind-address="+freeAddress(t), "--metrics-bind-address="+freeAddress(t))
	want := outcome{Code: exitFailed, Stderr: fmt.Sprintf("error: the cluster at %s lacks the CustomResourceDefinitions %s: "+
		"install them with `kubectl apply -k config/crd`, then start again\n", strings.TrimSuffix(server.Config.Host, "/"), name)}
	if got != want {
		t.Errorf("outcome = %+v, want %+v", got, want)
	}
}
