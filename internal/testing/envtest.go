package gangwaytesting

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// Optional is a project whose CRDs a cluster may or may not have.
type Optional string

const (
	// Volcano brings PodGroup and Queue.
	Volcano Optional = "volcano"
	// GatewayAPI brings Gateway and HTTPRoute.
	GatewayAPI Optional = "gateway-api"
)

func (o Optional) pattern() string {
	prefix := map[Optional]string{Volcano: "scheduling.", GatewayAPI: "gateway."}[o]
	return filepath.Join("bin", "manifests", string(o), prefix+"*s.yaml")
}

// APIServerOptions says how a test's API server differs from the usual one.
type APIServerOptions struct {
	// Without lists the projects whose CRDs are not installed; InstallCRDs brings them later.
	Without []Optional
	// CRDFiles are further CRD files, beside ours, Volcano's and Gateway API's.
	CRDFiles []string
	// Webhooks are installed with the address and certificates of a server on this machine;
	// APIServer.Environment.WebhookInstallOptions then says which.
	Webhooks envtest.WebhookInstallOptions
}

// APIServer is a running etcd and kube-apiserver, with nothing else of Kubernetes: no garbage
// collector, no scheduler and no kubelet.
type APIServer struct {
	// Config reaches the API server as a cluster administrator.
	Config *rest.Config
	// Client reads and writes without a cache.
	Client client.Client
	// Environment is what runs.
	Environment *envtest.Environment
}

// Scheme knows every type that Gangway and its tests use.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		workloadv1alpha1.AddToScheme,
		aiinfrav1alpha1.AddToScheme,
		schedulingv1beta1.AddToScheme,
		gatewayv1.Install,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// StartAPIServer starts etcd and kube-apiserver with the CRDs installed. The caller stops it.
func StartAPIServer(opts APIServerOptions) (*APIServer, error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	files, err := crdFiles(sets.New(opts.Without...))
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{
		Scheme:                   Scheme(),
		BinaryAssetsDirectory:    assets,
		CRDDirectoryPaths:        append(files, opts.CRDFiles...),
		ErrorIfCRDPathMissing:    true,
		WebhookInstallOptions:    opts.Webhooks,
		ControlPlaneStartTimeout: 2 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	// The data lives as long as the test, so nothing is gained by waiting for the disk.
	env.ControlPlane.GetAPIServer()
	etcd := &envtest.Etcd{}
	etcd.Configure().Append("unsafe-no-fsync", "true")
	env.ControlPlane.Etcd = etcd

	config, err := env.Start()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	server := &APIServer{Config: config, Environment: env}
	server.Client, err = client.New(config, client.Options{Scheme: env.Scheme})
	if err != nil {
		_ = server.Stop()
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return server, nil
}

// Stop ends kube-apiserver and etcd and removes their data.
func (s *APIServer) Stop() error {
	if err := s.Environment.Stop(); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	return nil
}

// RunWithAPIServer is a TestMain: it starts one API server for the package, runs the tests, stops
// it, and ends the process. A test bed that cannot start fails the package with one line; it never
// skips it.
func RunWithAPIServer(m *testing.M, opts APIServerOptions, server **APIServer) {
	started, err := StartAPIServer(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	*server = started
	code := m.Run()
	if err := started.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

// Namespace makes a namespace for this test alone, with those labels, and returns its name.
func (s *APIServer) Namespace(t testing.TB, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: maps.Clone(labels)}}
	if err := s.Client.Create(context.Background(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return ns.Name
}

// InstallCRDs installs the CRDs of a project and waits until they are served.
func (s *APIServer) InstallCRDs(t testing.TB, project Optional) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, project.pattern()))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRD matches %s (%v): run `make tools`", project.pattern(), err)
	}
	_, err = envtest.InstallCRDs(s.Config, envtest.CRDInstallOptions{
		Scheme: s.Environment.Scheme, Paths: files, ErrorIfPathMissing: true,
	})
	if err != nil {
		t.Fatalf("install the CRDs of %s: %v", project, err)
	}
}
