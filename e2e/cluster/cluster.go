package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options of a start. The zero value is a cluster in .cluster of the
// repository, with the programs of bin/assets.
type Options struct {
	// StateDir holds everything that the cluster writes. Default: .cluster in
	// the root of the repository.
	StateDir string
	// BinDir holds the programs. Default: bin/assets in the root of the
	// repository.
	BinDir string
	// ManifestDir holds a folder of CRDs each for Volcano, the Gateway API and
	// cert-manager. Default: bin/manifests in the root of the repository.
	ManifestDir string
	// APIServerPort is the port of the API server. Default: a free one.
	APIServerPort int
	Nodes         NodeOptions
	// Out gets the progress. Default: nowhere.
	Out io.Writer
}

// Cluster is one that runs, started by this process or another one.
type Cluster struct {
	dir   string
	state *state
	out   io.Writer
}

// ErrNotRunning is what Attach gives when there is nothing to attach to.
var ErrNotRunning = errors.New("no cluster runs")

// minFree is the least free disk space with which a start makes sense.
const minFree = 1 << 30

func (o *Options) complete() error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.StateDir == "" || o.BinDir == "" || o.ManifestDir == "" {
		root, err := RepositoryRoot()
		if err != nil {
			return err
		}
		for dir, fallback := range map[*string]string{
			&o.StateDir: ".cluster", &o.BinDir: "bin/assets", &o.ManifestDir: "bin/manifests",
		} {
			if *dir == "" {
				*dir = filepath.Join(root, fallback)
			}
		}
	}
	for _, dir := range []*string{&o.StateDir, &o.BinDir, &o.ManifestDir} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return fmt.Errorf("find the folder %s: %w", *dir, err)
		}
		*dir = abs
	}
	return o.Nodes.complete()
}

// RepositoryRoot is the nearest folder upwards from the working directory that
// holds this project's go.mod.
func RepositoryRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module github.com/gangway-serving/gangway\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the Gangway repository; change into it", wd)
		}
	}
}

// Up starts a cluster and waits until it is ready. One that runs already in the
// state directory is left as it is (started is false then); what a killed run
// left is stopped first. A failed start leaves no process behind, only logs.
func Up(ctx context.Context, o Options) (c *Cluster, started bool, err error) {
	if err := o.complete(); err != nil {
		return nil, false, err
	}
	unlock, err := lock(o.StateDir)
	if err != nil {
		return nil, false, err
	}
	defer unlock()

	c, err = Attach(ctx, o.StateDir)
	if err == nil {
		c.out = o.Out
		return c, false, nil
	}
	if !errors.Is(err, ErrNotRunning) {
		return nil, false, err
	}
	c = &Cluster{dir: o.StateDir, state: &state{}, out: o.Out}
	if err := c.preflight(o); err != nil {
		return nil, false, err
	}
	if err := c.start(ctx, o); err != nil {
		// What was started so far must go, even when ctx was what ended it.
		if stopErr := c.stopAll(); stopErr != nil {
			return nil, false, errors.Join(err, stopErr)
		}
		if ctx.Err() != nil {
			return nil, false, errors.New("interrupted; nothing is left running")
		}
		return nil, false, err
	}
	return c, true, nil
}

// Attach finds the cluster that runs in a state directory. It gives
// ErrNotRunning when there is none, or when one of its programs is dead.
func Attach(ctx context.Context, stateDir string) (*Cluster, error) {
	o := Options{StateDir: stateDir}
	if err := o.complete(); err != nil {
		return nil, err
	}
	s, err := loadState(o.StateDir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: o.StateDir, state: s, out: io.Discard}
	if s == nil || !s.Ready {
		return nil, fmt.Errorf("%w in %s", ErrNotRunning, o.StateDir)
	}
	for _, name := range programs {
		if p := s.process(name); p == nil || !p.alive() {
			return nil, fmt.Errorf("%w in %s: %s is dead", ErrNotRunning, o.StateDir, name)
		}
	}
	if err := c.serving(ctx); err != nil {
		return nil, fmt.Errorf("%w in %s: the API server does not answer: %w", ErrNotRunning, o.StateDir, err)
	}
	return c, nil
}

// preflight reports what would make a start fail, and clears away what another
// run left.
func (c *Cluster) preflight(o Options) error {
	if missing := missingPrograms(o.BinDir); len(missing) > 0 {
		return fmt.Errorf("%s is missing %s: build with `make tools`", o.BinDir, strings.Join(missing, ", "))
	}
	for _, name := range manifestNames {
		if _, err := os.Stat(filepath.Join(o.ManifestDir, name)); err != nil {
			return fmt.Errorf("%s is missing the CRDs of %s: copy them with `make tools`", o.ManifestDir, name)
		}
	}
	if o.APIServerPort != 0 {
		if err := checkFree("--api-server-port", o.APIServerPort); err != nil {
			return err
		}
	}
	old, err := loadState(c.dir)
	if err != nil {
		return err
	}
	if old != nil {
		c.state = old
	}
	if left := c.live(); len(left) > 0 {
		_, _ = fmt.Fprintf(c.out, "found a cluster that a killed run left in %s: stopping its %d programs first\n", c.dir, len(left))
		if err := c.stopAll(); err != nil {
			return err
		}
	}
	if err := c.clear(); err != nil {
		return err
	}
	c.state = &state{}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(c.dir, &fs); err != nil {
		return fmt.Errorf("look at the free space of %s: %w", c.dir, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < minFree {
		return fmt.Errorf("only %d MiB are free for %s, a cluster needs %d MiB: free some space, or choose another place with --state-dir", free>>20, c.dir, minFree>>20)
	}
	return nil
}

// clear removes everything but the lock from the state directory.
func (c *Cluster) clear() error {
	for _, name := range []string{stateFile, stateFile + ".tmp", "etcd", "logs", "pki", "stages", kubeconfigFile, managerKubeconfigFile, "volcano-scheduler.yaml"} {
		if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			return fmt.Errorf("clear %s: %w", c.dir, err)
		}
	}
	return nil
}

// Down stops the cluster in a state directory, whatever is left of it, and
// waits for each process. stopped is how many there were. Logs stay.
func Down(stateDir string) (stopped int, err error) {
	o := Options{StateDir: stateDir}
	if err := o.complete(); err != nil {
		return 0, err
	}
	if _, err := os.Stat(o.StateDir); err != nil {
		// The folder may be gone while its processes are not.
		c := &Cluster{dir: o.StateDir, state: &state{}}
		return len(c.live()), c.stopProcesses()
	}
	unlock, err := lock(o.StateDir)
	if err != nil {
		return 0, err
	}
	defer unlock()
	s, err := loadState(o.StateDir)
	if err != nil {
		return 0, err
	}
	if s == nil {
		s = &state{}
	}
	c := &Cluster{dir: o.StateDir, state: s}
	stopped = len(c.live())
	return stopped, c.stopAll()
}

// live lists the processes of this cluster that run: those written down, and
// those that carry its marker.
func (c *Cluster) live() []identity {
	var ids []identity
	for _, p := range c.state.Processes {
		if p.alive() {
			ids = append(ids, p.identity)
		}
	}
	for _, id := range marked(c.dir) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// stopAll stops every process of the cluster and forgets its state.
func (c *Cluster) stopAll() error {
	if err := c.stopProcesses(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(c.dir, stateFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget the cluster: %w", err)
	}
	return os.RemoveAll(filepath.Join(c.dir, "etcd"))
}

// stopProcesses ends the clients first, then the API server, then etcd.
func (c *Cluster) stopProcesses() error {
	last := []identity{}
	for _, name := range []string{apiServerName, etcdName} {
		if p := c.state.process(name); p != nil && p.alive() {
			last = append(last, p.identity)
		}
	}
	var first []identity
	for _, id := range c.live() {
		if !slices.Contains(last, id) {
			first = append(first, id)
		}
	}
	errs := make([]error, len(first))
	var wg sync.WaitGroup
	for i, id := range first {
		wg.Go(func() { errs[i] = id.stop(10 * time.Second) })
	}
	wg.Wait()
	for _, id := range last {
		errs = append(errs, id.stop(15*time.Second))
	}
	return errors.Join(errs...)
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, kubeconfigFile) }

// Dir is the state directory.
func (c *Cluster) Dir() string { return c.dir }

// RESTConfig is the administrator's.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	cfg.QPS, cfg.Burst = 500, 1000
	return cfg, nil
}
