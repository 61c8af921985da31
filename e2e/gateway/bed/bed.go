package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gangway-serving/gangway/e2e/cluster"
)

// Options of a bed.
type Options struct {
	// StateDir is that of the cluster. Required.
	StateDir string
	// Kubeconfig of the cluster's administrator. Required.
	Kubeconfig string
	// Traefik is the program. Default: bin/assets/traefik in the root of the repository.
	Traefik string
	// Ports at which Gateways may have listeners. Default: two free ones.
	Ports []int
	// PingPort is where traefik says that it is alive. Default: a free one.
	PingPort int
	// Out gets what goes wrong with a single Pod. Default: nowhere.
	Out io.Writer
}

func (o *Options) complete() error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Traefik == "" {
		root, err := cluster.RepositoryRoot()
		if err != nil {
			return err
		}
		o.Traefik = filepath.Join(root, "bin/assets/traefik")
	}
	if err := o.check(); err != nil {
		return err
	}
	missing := 0
	if len(o.Ports) == 0 {
		missing = 2
	}
	free, err := freePorts(missing + 1)
	if err != nil {
		return err
	}
	o.Ports = append(o.Ports, free[:missing]...)
	if o.PingPort == 0 {
		o.PingPort = free[missing]
	}
	return nil
}

// check says what this machine lacks.
func (o *Options) check() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("making the Pods' addresses (%s) answer needs root: run it again as root, or in a container with CAP_NET_ADMIN", cluster.PodCIDR)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("ip is missing; install iproute2 (Debian: apt-get install iproute2) and run it again")
	}
	if _, err := os.Stat(o.Traefik); err != nil {
		return fmt.Errorf("%s is missing: build it with `make gateway-bed` (about five minutes, once)", o.Traefik)
	}
	return nil
}

// Check says what this machine lacks for a bed with the defaults, before a cluster is started for
// nothing.
func Check() error {
	var o Options
	return o.complete()
}

// freePorts gives n different ports that nothing listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	// All are held until the last is found, so that none is given twice.
	held := make([]net.Listener, 0, n)
	defer func() {
		for _, l := range held {
			_ = l.Close() // Nothing was written.
		}
	}()
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(Loopback, "0"))
		if err != nil {
			return nil, fmt.Errorf("find a free port on %s: %w", Loopback, err)
		}
		held = append(held, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// Bed runs until Stop.
type Bed struct {
	// Ports at which Gateways may have listeners.
	Ports []int

	network *network
	servers *servers
	traefik *traefik
}

// Start makes the Pods' addresses answer and starts the Gateway controller. A failed start leaves
// nothing behind.
func Start(ctx context.Context, o Options) (b *Bed, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	b = &Bed{Ports: o.Ports}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Stop())
			b = nil
		}
	}()
	cfg, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return b, fmt.Errorf("read the kubeconfig: %w", err)
	}
	k8s, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return b, fmt.Errorf("make a client of the cluster: %w", err)
	}
	if b.network, err = openNetwork(ctx, cluster.PodCIDR); err != nil {
		return b, err
	}
	if b.servers, err = serve(ctx, k8s, b.network.cidr, o.Out); err != nil {
		return b, err
	}
	b.traefik, err = startTraefik(ctx, o)
	return b, err
}

// Log is the path of traefik's log, requests included.
func (b *Bed) Log() string { return b.traefik.log }

// Ended is closed when the Gateway controller has ended.
func (b *Bed) Ended() <-chan struct{} { return b.traefik.ended }

// Stop undoes everything that Start did.
func (b *Bed) Stop() error {
	var errs []error
	if b.traefik != nil {
		errs = append(errs, b.traefik.close())
	}
	if b.servers != nil {
		b.servers.close()
	}
	if b.network != nil {
		errs = append(errs, b.network.close())
	}
	return errors.Join(errs...)
}
