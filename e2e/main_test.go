package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/e2e/cluster"
)

var keep = flag.Bool("keep", false, "leave the cluster running after the tests")

// local is the cluster under test, k8s an administrator's client of it.
var (
	local *cluster.Cluster
	k8s   client.WithWatch
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return 1, err
	}
	dir := filepath.Join(root, ".cluster-e2e")
	// One that a killed run left may hold anything, and runs an older Gangway.
	if _, err := cluster.Down(dir); err != nil {
		return 1, err
	}
	local, _, err = cluster.Up(ctx, cluster.Options{StateDir: dir, Out: os.Stdout})
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
	cfg, err := local.RESTConfig()
	if err != nil {
		return 1, err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(workloadv1alpha1.AddToScheme(scheme))
	utilruntime.Must(aiinfrav1alpha1.AddToScheme(scheme))
	utilruntime.Must(schedulingv1beta1.AddToScheme(scheme))
	utilruntime.Must(gatewayv1.Install(scheme))
	k8s, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// namespace makes a namespace for one test and removes it afterwards.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
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

const (
	// timeout is for whatever happens at once when all is well.
	timeout = 90 * time.Second
	tick    = 100 * time.Millisecond
)
