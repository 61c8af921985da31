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
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gangway-serving/gangway/certs"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

const (
	patience  = 30 * time.Second
	namespace = "gangway-system"
)

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

// program is a running gangway.
type program struct {
	health, metrics, webhook string
	process                  *os.Process
	ended                    chan error
	log                      *bytes.Buffer // to be read when it has ended
}

// start runs gangway as a process of its own, and kills it when the test ends.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	p := &program{
		health: freeAddress(t), metrics: freeAddress(t), webhook: freeAddress(t),
		ended: make(chan error, 1), log: &bytes.Buffer{},
	}
	args = append([]string{
		"--kubeconfig=" + kubeconfig(t), "--namespace=" + namespace, "--webhook-bind-address=" + p.webhook,
		"--health-probe-bind-address=" + p.health, "--metrics-bind-address=" + p.metrics,
	}, args...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgramEnv+"=1")
	cmd.Stderr = p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.process = cmd.Process
	go func() { p.ended <- cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		_ = p.process.Kill() // it may have ended
		for range p.ended {  // until it is closed
		}
	})
	return p
}

func (p *program) ready(ctx context.Context) error {
	_, err := ask(ctx, "http://"+p.health+"/readyz")
	return err
}

// measures answers nil when the metrics have a line.
func (p *program) measures(line string) func(context.Context) error {
	return func(ctx context.Context) error {
		body, err := ask(ctx, "http://"+p.metrics+"/metrics")
		if err == nil && !strings.Contains(body, "\n"+line) {
			return fmt.Errorf("no metric %q", line)
		}
		return err
	}
}

const (
	leads   = `leader_election_master_status{name="gangway"} 1`
	follows = `leader_election_master_status{name="gangway"} 0`
)

// stop sends SIGTERM and checks that the process ends well.
func (p *program) stop(t *testing.T) {
	t.Helper()
	if err := p.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil || !strings.Contains(p.log.String(), `"msg":"Gangway has stopped"`) {
			t.Errorf("gangway ended with %v: %s", err, p.log)
		}
	case <-time.After(patience):
		t.Fatal("gangway does not stop")
	}
}

func TestTwoReplicasFromStartToStop(t *testing.T) {
	pprof := freeAddress(t)
	first := start(t, "--webhook-host=127.0.0.1", "--pprof-bind-address="+pprof, "--watch-namespaces=default,"+namespace)
	eventually(t, "the first is ready", first.ready)
	eventually(t, "the first leads", first.measures(leads))
	second := start(t, "--webhook-host=127.0.0.1")
	eventually(t, "the second is ready", second.ready)
	eventually(t, "the second follows", second.measures(follows))

	for _, url := range []string{"http://" + first.health + "/healthz", "http://" + pprof + "/debug/pprof/cmdline"} {
		if _, err := ask(t.Context(), url); err != nil {
			t.Error(err)
		}
	}
	secret := &corev1.Secret{}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: certs.SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*program{first, second} {
		if err := p.measures("gangway_webhook_certificate_expiry_timestamp_seconds 1")(t.Context()); err != nil {
			t.Error(err)
		}
		conn, err := tls.Dial("tcp", p.webhook, &tls.Config{MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			t.Error("the webhook server speaks TLS 1.1")
		}
	}

	// The Lease is given back, not left to expire: the second leads well before its 15 seconds are over.
	began := time.Now()
	first.stop(t)
	eventually(t, "the second leads", second.measures(leads))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the second leads after %s only", took)
	}
	second.stop(t)
	lease := &coordinationv1.Lease{}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: leaseName}, lease); err != nil {
		t.Fatal(err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		t.Errorf("the Lease is still held by %q", holder)
	}
}

func TestFilesOfCertManagerAreServed(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "--cert-mode=cert-manager", "--cert-dir="+dir, "--leader-elect=false")
	eventually(t, "alive", func(ctx context.Context) error {
		_, err := ask(ctx, "http://"+p.health+"/healthz")
		return err
	})
	if err := p.ready(t.Context()); err == nil {
		t.Error("ready before there is a certificate")
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("gangway-webhook."+namespace+".svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.key": key, "tls.crt": cert} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "ready", p.ready)
	p.stop(t)
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
