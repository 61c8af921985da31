package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/gangway-serving/gangway/e2e/modelserver"
)

// TokenIntervalAnnotation, on a Pod, is a Go duration: how long its model server takes for each
// token. Without it there is no pause.
const TokenIntervalAnnotation = "test.gangway.dev/token-interval"

// servers runs a model server on the address of every Pod whose first container starts vLLM.
//
// A server lives as a container does. It listens from the moment that the Pod has its address. A
// deletion runs the container's preStop sleep first; then the server stops to listen and answers
// what it has begun, as vLLM does on SIGTERM. When the Pod object is gone, whatever is left is
// cut off, as by SIGKILL.
type servers struct {
	cidr   netip.Prefix
	out    io.Writer
	cancel context.CancelFunc
	shut   func()

	mu   sync.Mutex
	runs map[types.UID]*run
}

// run is the server of one Pod.
type run struct {
	server *http.Server
	term   *time.Timer
}

// serve begins to watch Pods. A nil error promises that those that run already are served.
func serve(ctx context.Context, k8s kubernetes.Interface, cidr netip.Prefix, out io.Writer) (*servers, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	factory := informers.NewSharedInformerFactory(k8s, 0)
	s := &servers{cidr: cidr, out: out, cancel: cancel, shut: factory.Shutdown, runs: map[types.UID]*run{}}
	handle, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.observe(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { s.observe(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			s.kill(o.(*corev1.Pod).UID)
		},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch Pods: %w", err)
	}
	factory.Start(ctx.Done())
	limit, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	if !cache.WaitForCacheSync(limit.Done(), handle.HasSynced) {
		cancel()
		return nil, errors.New("watch Pods: the first list did not come within a minute")
	}
	return s, nil
}

// close ends every server.
func (s *servers) close() {
	s.cancel()
	s.shut()
	s.mu.Lock()
	uids := make([]types.UID, 0, len(s.runs))
	for uid := range s.runs {
		uids = append(uids, uid)
	}
	s.mu.Unlock()
	for _, uid := range uids {
		s.kill(uid)
	}
}

// observe is called for every change of a Pod, one after the other.
func (s *servers) observe(pod *corev1.Pod) {
	s.mu.Lock()
	r := s.runs[pod.UID]
	s.mu.Unlock()
	switch {
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		s.kill(pod.UID)
	case pod.DeletionTimestamp != nil:
		if r != nil && r.term == nil {
			r.term = time.AfterFunc(preStop(pod), func() { _ = r.server.Shutdown(context.Background()) })
		}
	case r == nil && pod.Status.PodIP != "" && pod.Status.Phase == corev1.PodRunning:
		if err := s.start(pod); err != nil {
			s.log("Pod %s/%s: %v", pod.Namespace, pod.Name, err)
		}
	}
}

// start gives nil without a server for a Pod that runs no vLLM.
func (s *servers) start(pod *corev1.Pod) error {
	options, port, err := arguments(pod)
	if errors.Is(err, modelserver.ErrNoModel) {
		return nil
	}
	if err != nil {
		return err
	}
	addr, err := netip.ParseAddr(pod.Status.PodIP)
	if err != nil {
		return fmt.Errorf("read the Pod's address: %w", err)
	}
	if !s.cidr.Contains(addr) {
		return fmt.Errorf("the address %s is outside of %s; nothing serves there", addr, s.cidr)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("serve on the Pod's address: %w", err)
	}
	server := &http.Server{Handler: modelserver.New(options), ReadHeaderTimeout: 10 * time.Second}
	s.mu.Lock()
	s.runs[pod.UID] = &run{server: server}
	s.mu.Unlock()
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log("the server of Pod %s/%s ended: %v", pod.Namespace, pod.Name, err)
		}
	}()
	return nil
}

// kill cuts a Pod's server off.
func (s *servers) kill(uid types.UID) {
	s.mu.Lock()
	r := s.runs[uid]
	delete(s.runs, uid)
	s.mu.Unlock()
	if r == nil {
		return
	}
	if r.term != nil {
		r.term.Stop()
	}
	_ = r.server.Close() // Only its listener's error, and that one is closed.
}

func (s *servers) log(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, "bed: "+format+"\n", args...)
}

// arguments reads what the first container serves, from its own arguments.
func arguments(pod *corev1.Pod) (modelserver.Options, int, error) {
	c := pod.Spec.Containers[0]
	o, port, err := modelserver.FromArgs(slices.Concat(c.Command, c.Args))
	if err != nil {
		return o, 0, err
	}
	o.ServedBy = pod.Name
	if v := pod.Annotations[TokenIntervalAnnotation]; v != "" {
		if o.TokenInterval, err = time.ParseDuration(v); err != nil {
			return o, 0, fmt.Errorf("annotation %s: %w", TokenIntervalAnnotation, err)
		}
	}
	return o, port, nil
}

// preStop is how long the first container goes on before its SIGTERM.
func preStop(pod *corev1.Pod) time.Duration {
	if l := pod.Spec.Containers[0].Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
		return time.Duration(l.PreStop.Sleep.Seconds) * time.Second
	}
	return 0
}
