package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gangway-serving/gangway/e2e/cluster"
)

// ControllerName is what a GatewayClass of traefik names.
const ControllerName = "traefik.io/gateway-controller"

// Loopback is where traefik listens, and the address that it gives its Gateways.
const Loopback = "127.0.0.1"

// traefik is the process of the Gateway controller.
type traefik struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
	err   error // of Wait; read it only after ended is closed
}

// startTraefik starts the Gateway controller. A listener of a Gateway is served when its port is
// one of ports.
func startTraefik(ctx context.Context, o Options) (*traefik, error) {
	args := []string{
		"--global.checknewversion=false",
		"--global.sendanonymoususage=false",
		"--log.level=INFO", "--log.nocolor=true",
		"--accesslog=true",
		"--ping=true",
		fmt.Sprintf("--entrypoints.traefik.address=%s:%d", Loopback, o.PingPort),
		"--providers.kubernetesgateway=true",
		"--providers.kubernetesgateway.statusaddress.ip=" + Loopback,
		// traefik waits two seconds by default before it puts an endpoint's change into effect;
		// a Gateway that is meant for rollouts of Pods is quicker.
		"--providers.providersthrottleduration=100ms",
	}
	for _, port := range o.Ports {
		args = append(args, fmt.Sprintf("--entrypoints.port-%d.address=%s:%d", port, Loopback, port))
	}
	t := &traefik{log: filepath.Join(o.StateDir, "logs", "traefik.log"), ended: make(chan struct{})}
	if err := os.MkdirAll(filepath.Dir(t.log), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of logs: %w", err)
	}
	logFile, err := os.Create(t.log)
	if err != nil {
		return nil, fmt.Errorf("open the log of traefik: %w", err)
	}
	defer logFile.Close() //nolint:errcheck // The child has its own descriptor.

	t.cmd = exec.Command(o.Traefik, args...)
	t.cmd.Dir = o.StateDir
	t.cmd.Env = append(environment(), "KUBECONFIG="+o.Kubeconfig, cluster.MarkerVariable+"="+o.StateDir)
	t.cmd.Stdout, t.cmd.Stderr = logFile, logFile
	// A session of its own: a Ctrl-C reaches us, and we end it.
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start traefik: %w", err)
	}
	go func() {
		t.err = t.cmd.Wait()
		close(t.ended)
	}()
	if err := t.await(ctx, fmt.Sprintf("http://%s:%d/ping", Loopback, o.PingPort)); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// environment is ours without what would send traefik to another cluster.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "KUBERNETES_SERVICE_") && !strings.HasPrefix(v, "TRAEFIK_") {
			env = append(env, v)
		}
	}
	return env
}

func (t *traefik) await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		last := ping(ctx, url)
		if last == nil {
			return nil
		}
		select {
		case <-t.ended:
			return fmt.Errorf("traefik ended at its start (%w); its log is %s", t.err, t.log)
		case <-ctx.Done():
			return fmt.Errorf("traefik does not answer (%w); its log is %s", last, t.log)
		case <-tick.C:
		}
	}
}

func ping(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Read only.
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

// close ends traefik: SIGTERM, and SIGKILL after ten seconds.
func (t *traefik) close() error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-t.ended:
			return nil
		default:
		}
		if err := t.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("send %s to traefik (process %d): %w", sig, t.cmd.Process.Pid, err)
		}
		select {
		case <-t.ended:
			return nil
		case <-time.After(10 * time.Second):
		}
	}
	return fmt.Errorf("traefik (process %d) is still there after SIGKILL", t.cmd.Process.Pid)
}
