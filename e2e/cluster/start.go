package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Time limits of a start. They are long because the machine may be busy; a
// program that dies ends the wait at once.
const (
	programLimit = 2 * time.Minute
	objectLimit  = 2 * time.Minute
)

func (c *Cluster) start(ctx context.Context, o Options) error {
	p := newProgress(o.Out)
	p.printf("starting a cluster in %s\n", c.dir)
	var stageFiles []string
	err := p.phase("choose ports, sign certificates", func() (err error) {
		ports, err := freePorts(len(portNames))
		if err != nil {
			return err
		}
		c.state.Ports = map[string]int{}
		for i, name := range portNames {
			c.state.Ports[name] = ports[i]
		}
		if o.APIServerPort != 0 {
			c.state.Ports[apiServerName] = o.APIServerPort
		}
		if err := writePKI(c.dir, c.state.Ports[apiServerName]); err != nil {
			return err
		}
		if err := writeSchedulerConf(c.dir); err != nil {
			return err
		}
		stageFiles, err = writeStages(c.dir)
		return err
	})
	if err != nil {
		return err
	}

	run := func(name string, ready func(context.Context) error) error {
		args, port := command(name, c.dir, c.state.Ports, stageFiles)
		l, err := c.launch(name, filepath.Join(o.BinDir, name), args, nil, address(port))
		if err != nil {
			return err
		}
		return l.await(ctx, programLimit, ready)
	}
	probe := func(name, scheme, path string) func(context.Context) error {
		return func(ctx context.Context) error {
			return httpOK(ctx, fmt.Sprintf("%s://%s%s", scheme, address(c.state.Ports[name]), path))
		}
	}
	if err := p.phase("etcd", func() error { return run(etcdName, probe(etcdName, "http", "/health")) }); err != nil {
		return err
	}
	if err := p.phase("kube-apiserver", func() error { return run(apiServerName, c.serving) }); err != nil {
		return err
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	if err := p.phase("kube-controller-manager, kube-scheduler", func() error {
		if err := run(kcmName, probe(kcmName, "https", "/healthz")); err != nil {
			return err
		}
		return run(ksName, probe(ksName, "https", "/healthz"))
	}); err != nil {
		return err
	}
	for _, name := range manifestNames {
		err := p.phase("CRDs of "+name, func() error {
			objs, err := readManifests(filepath.Join(o.ManifestDir, name))
			if err != nil {
				return err
			}
			return applyAll(ctx, cl, objs)
		})
		if err != nil {
			return err
		}
	}
	if err := p.phase("Volcano's controllers and scheduler", func() error {
		if err := run(volcanoCMName, probe(volcanoCMName, "http", "/healthz")); err != nil {
			return err
		}
		return run(vcSchedulerName, probe(vcSchedulerName, "http", "/healthz"))
	}); err != nil {
		return err
	}
	if err := p.phase(fmt.Sprintf("kwok, %d nodes", o.Nodes.Count), func() error {
		policy, err := decode(kwokDeletes)
		if err != nil {
			return err
		}
		if err := applyAll(ctx, cl, policy); err != nil {
			return err
		}
		if err := run(kwokName, probe(kwokName, "http", "/healthz")); err != nil {
			return err
		}
		return createNodes(ctx, cl, o.Nodes)
	}); err != nil {
		return err
	}
	if err := p.phase("queue open, nodes ready, default account", func() error {
		return c.whileAlive(ctx, func(ctx context.Context) error { return settled(ctx, cl, o.Nodes.Count) })
	}); err != nil {
		return err
	}
	c.state.Ready = true
	return c.state.save(c.dir)
}

// whileAlive waits for what no single program answers for; a program that dies
// meanwhile ends the wait.
func (c *Cluster) whileAlive(ctx context.Context, done func(context.Context) error) error {
	return poll(ctx, objectLimit, func(ctx context.Context) error {
		for _, p := range c.state.Processes {
			if !p.alive() {
				return stopPolling{fmt.Errorf("%s died\n%s", p.Name, logTail(p.Log))}
			}
		}
		return done(ctx)
	})
}

// settled says what still keeps Pods from being scheduled.
func settled(ctx context.Context, cl client.Client, nodes int) error {
	queue := &unstructured.Unstructured{}
	queue.SetAPIVersion("scheduling.volcano.sh/v1beta1")
	queue.SetKind("Queue")
	if err := cl.Get(ctx, client.ObjectKey{Name: "default"}, queue); err != nil {
		return fmt.Errorf("get the default queue: %w", err)
	}
	if s, _, _ := unstructured.NestedString(queue.Object, "status", "state"); s != "Open" {
		return fmt.Errorf("the default queue is in state %q, not Open", s)
	}
	list := &corev1.NodeList{}
	if err := cl.List(ctx, list); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	ready := 0
	for _, n := range list.Items {
		if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) && len(n.Spec.Taints) == 0 {
			ready++
		}
	}
	if ready < nodes {
		return fmt.Errorf("%d of %d nodes are ready and without taint", ready, nodes)
	}
	if err := cl.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{}); err != nil {
		return fmt.Errorf("get the default ServiceAccount: %w", err)
	}
	return nil
}

func (c *Cluster) client() (client.Client, error) {
	cfg, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	cl, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return cl, nil
}

// serving asks the API server whether it is ready.
func (c *Cluster) serving(ctx context.Context) error {
	cfg, err := c.RESTConfig()
	if err != nil {
		return err
	}
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	defer hc.CloseIdleConnections()
	return get(ctx, hc, cfg.Host+"/readyz")
}

// insecure probes health endpoints on loopback, whose certificates are the
// programs' own; nothing secret is sent or believed.
var insecure = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
}}

func httpOK(ctx context.Context, url string) error { return get(ctx, insecure, url) }

func get(ctx context.Context, hc *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	resp, err := hc.Do(req)
	if err != nil {
		return err // It names the method and the URL.
	}
	defer resp.Body.Close() //nolint:errcheck // Read only.
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, 512))
		if err != nil {
			return fmt.Errorf("read the answer of %s: %w", url, err)
		}
		return fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return nil
}
