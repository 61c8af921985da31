package gateway

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/e2e/gateway/bed"
)

var keep = flag.Bool("keep", false, "leave the cluster running after the tests; the Gateway controller ends with them")

var (
	k8s client.Client
	// httpPort and httpsPort are where Gateways may listen.
	httpPort, httpsPort gatewayv1.PortNumber
)

const (
	className = "traefik"
	// timeout is for whatever happens at once when all is well.
	timeout = 60 * time.Second
	tick    = 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard()) // The clients' own; what happens is asserted.
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-gateway:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if err := bed.Check(); err != nil {
		return 1, err
	}
	ctx := context.Background()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return 1, err
	}
	dir := filepath.Join(root, ".cluster-gateway")
	local, _, err := cluster.Up(ctx, cluster.Options{StateDir: dir, Out: os.Stdout})
	if err != nil {
		return 1, err
	}
	if !*keep {
		defer func() {
			_, downErr := cluster.Down(dir)
			err = errors.Join(err, downErr)
		}()
	}
	if err := local.InstallGangway(ctx, cluster.GangwayOptions{}); err != nil {
		return 1, err
	}
	b, err := bed.Start(ctx, bed.Options{StateDir: dir, Kubeconfig: local.Kubeconfig(), Out: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, b.Stop()) }()
	httpPort, httpsPort = gatewayv1.PortNumber(b.Ports[0]), gatewayv1.PortNumber(b.Ports[1])

	cfg, err := local.RESTConfig()
	if err != nil {
		return 1, err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(workloadv1alpha1.AddToScheme(scheme))
	utilruntime.Must(aiinfrav1alpha1.AddToScheme(scheme))
	utilruntime.Must(gatewayv1.Install(scheme))
	k8s, err = client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return 1, err
	}
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: className},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: bed.ControllerName},
	}
	if err := client.IgnoreAlreadyExists(k8s.Create(ctx, class)); err != nil {
		return 1, fmt.Errorf("create GatewayClass %q: %w", className, err)
	}
	return m.Run(), nil
}

// namespace makes a namespace for one test and removes it afterwards.
func namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gateway-", Labels: labels}}
	if err := k8s.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	t.Cleanup(func() {
		if err := k8s.Delete(context.Background(), ns); err != nil {
			t.Errorf("delete Namespace %q: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// eventually waits until check gives "", which otherwise says what is still missing.
func eventually(t *testing.T, check func(context.Context) string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), tick, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("after %s: %s", timeout, last)
	}
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := k8s.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %q: %v", o, o.GetName(), err)
		}
	}
}

func remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := k8s.Delete(t.Context(), o); err != nil {
		t.Fatalf("delete %T %q: %v", o, o.GetName(), err)
	}
}

// edit changes an object as it is now.
func edit[T client.Object](t *testing.T, o T, change func(T)) {
	t.Helper()
	if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatalf("get %T %q: %v", o, o.GetName(), err)
	}
	before := o.DeepCopyObject().(client.Object)
	change(o)
	if err := k8s.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatalf("patch %T %q: %v", o, o.GetName(), err)
	}
}
