package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GangwayOptions of Gangway. The zero value is what is in the repository.
type GangwayOptions struct {
	// ConfigDir is the kustomization to install. Default: config/default.
	ConfigDir string
	// Kubectl renders it. Default: bin/assets/kubectl.
	Kubectl string
	// Manager is the program. Default: bin/gangway.
	Manager string
	// Args come after the arguments of the Deployment in ConfigDir and those
	// that name ports and the kubeconfig, so that they win.
	Args []string
}

// managerState is what a restart of the manager needs.
type managerState struct {
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
}

func (o *GangwayOptions) complete() error {
	root, err := RepositoryRoot()
	if err != nil {
		return err
	}
	for file, fallback := range map[*string]string{
		&o.ConfigDir: "config/default", &o.Kubectl: "bin/assets/kubectl", &o.Manager: "bin/gangway",
	} {
		if *file == "" {
			*file = filepath.Join(root, fallback)
		}
		if _, err := os.Stat(*file); err != nil {
			return fmt.Errorf("%s is missing: run `make build tools`", *file)
		}
	}
	return nil
}

// InstallGangway applies the kustomization as a user would, with two
// differences: the Deployment of the manager is left out, for there is no
// container runtime, and webhooks are called by URL. The manager runs as a
// process of this machine with the identity of the ServiceAccount that the
// Deployment names, so that the roles of the kustomization are what it may do.
//
// A nil error promises that the manager reports ready. On a cluster that has
// Gangway already, the manifests are applied again and the manager is
// restarted.
func (c *Cluster) InstallGangway(ctx context.Context, o GangwayOptions) error {
	if err := o.complete(); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, o.Kubectl, "kustomize", o.ConfigDir).Output()
	if err != nil {
		return fmt.Errorf("render %s: %w", o.ConfigDir, withStderr(err))
	}
	objs, err := decode(out)
	if err != nil {
		return fmt.Errorf("render %s: %w", o.ConfigDir, err)
	}
	objs, deployment, err := takeDeployment(objs)
	if err != nil {
		return fmt.Errorf("render %s: %w", o.ConfigDir, err)
	}
	for _, u := range objs {
		if err := useURL(u, c.state.Ports[webhookPort]); err != nil {
			return err
		}
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	if err := c.StopManager(); err != nil {
		return err
	}
	if err := applyAll(ctx, cl, objs); err != nil {
		return err
	}
	if err := c.writeManagerKubeconfig(ctx, cl, deployment); err != nil {
		return err
	}
	c.state.Manager = &managerState{
		Path: o.Manager,
		Args: slices.Concat(containerArgs(deployment), c.managerArgs(deployment.Namespace), o.Args),
		Env:  []string{"POD_NAMESPACE=" + deployment.Namespace, "POD_NAME=" + managerName + "-local"},
	}
	if err := c.state.save(c.dir); err != nil {
		return err
	}
	return c.StartManager(ctx, GangwayOptions{})
}

func withStderr(err error) error {
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// takeDeployment splits the manager's Deployment from the rest.
func takeDeployment(objs []*unstructured.Unstructured) (rest []*unstructured.Unstructured, d *appsv1.Deployment, err error) {
	for _, u := range objs {
		if u.GetKind() != "Deployment" {
			rest = append(rest, u)
			continue
		}
		if d != nil {
			return nil, nil, fmt.Errorf("there are two Deployments, %q and %q; one manager is expected", d.Name, u.GetName())
		}
		d = &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
			return nil, nil, fmt.Errorf("decode Deployment %q: %w", u.GetName(), err)
		}
	}
	if d == nil {
		return nil, nil, errors.New("there is no Deployment of the manager")
	}
	return rest, d, nil
}

// containerArgs are the arguments of the manager as it is installed, so that
// they are tried too. Variables like $(POD_NAMESPACE) are filled in.
func containerArgs(d *appsv1.Deployment) []string {
	var args []string
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name != "manager" && len(d.Spec.Template.Spec.Containers) > 1 {
			continue
		}
		for _, arg := range container.Args {
			args = append(args, strings.ReplaceAll(arg, "$(POD_NAMESPACE)", d.Namespace))
		}
	}
	return args
}

// managerArgs are those that differ from one machine to the next.
func (c *Cluster) managerArgs(namespace string) []string {
	return []string{
		"--kubeconfig=" + filepath.Join(c.dir, managerKubeconfigFile),
		"--namespace=" + namespace,
		"--webhook-bind-address=" + address(c.state.Ports[webhookPort]),
		"--webhook-host=" + loopback,
		"--metrics-bind-address=" + address(c.state.Ports[metricsPort]),
		"--health-probe-bind-address=" + address(c.state.Ports[healthPort]),
		"--cert-mode=self-managed",
	}
}

// tokenLife outlives every local cluster.
const tokenLife = 365 * 24 * time.Hour

func (c *Cluster) writeManagerKubeconfig(ctx context.Context, cl client.Client, d *appsv1.Deployment) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: d.Spec.Template.Spec.ServiceAccountName,
	}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(tokenLife.Seconds())),
	}}
	if err := cl.SubResource("token").Create(ctx, account, token); err != nil {
		return fmt.Errorf("get a token of ServiceAccount %s/%s: %w", account.Namespace, account.Name, err)
	}
	ca, err := os.ReadFile(filepath.Join(c.dir, caFile))
	if err != nil {
		return fmt.Errorf("read the CA of the cluster: %w", err)
	}
	return writeKubeconfig(filepath.Join(c.dir, managerKubeconfigFile), c.state.Ports[apiServerName], ca,
		&clientcmdapi.AuthInfo{Token: token.Status.Token})
}

// ErrNotInstalled is what the manager's functions give before InstallGangway.
var ErrNotInstalled = errors.New("Gangway is not installed in the cluster") //nolint:staticcheck,revive // A name.

// StartManager starts the manager that InstallGangway set up, and waits until
// it reports ready. It does nothing when the manager runs. Of o, Manager and
// Args count: another program, more arguments, for this one run.
func (c *Cluster) StartManager(ctx context.Context, o GangwayOptions) error {
	m := c.state.Manager
	if m == nil {
		return ErrNotInstalled
	}
	if p := c.state.process(managerName); p != nil && p.alive() {
		return nil
	}
	l, err := c.launch(managerName, cmp.Or(o.Manager, m.Path), slices.Concat(m.Args, o.Args), m.Env, address(c.state.Ports[webhookPort]))
	if err != nil {
		return err
	}
	ready := fmt.Sprintf("http://%s/readyz", address(c.state.Ports[healthPort]))
	return l.await(ctx, programLimit, func(ctx context.Context) error { return httpOK(ctx, ready) })
}

// KillManager sends a signal to the manager and waits for its end. It does
// nothing when the manager does not run.
func (c *Cluster) KillManager(sig syscall.Signal) error {
	p := c.state.process(managerName)
	if p == nil || !p.alive() {
		return nil
	}
	if err := p.signal(sig); err != nil {
		return err
	}
	const limit = time.Minute
	if !p.gone(limit) {
		return fmt.Errorf("the manager (process %d) still runs %s after %s\n%s", p.PID, limit, sig, logTail(p.Log))
	}
	return nil
}

// StopManager ends the manager as a kubelet would: SIGTERM, and SIGKILL after
// 30 seconds.
func (c *Cluster) StopManager() error {
	if p := c.state.process(managerName); p != nil {
		return p.stop(30 * time.Second)
	}
	return nil
}

// ManagerLog is the path of the manager's log; the log of every run is in it.
func (c *Cluster) ManagerLog() string { return filepath.Join(c.dir, "logs", managerName+".log") }

// ManagerMetrics is the URL of the manager's metrics.
func (c *Cluster) ManagerMetrics() string {
	return "http://" + address(c.state.Ports[metricsPort]) + "/metrics"
}
