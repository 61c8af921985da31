package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

// network is the manager's way to the API server. It writes down the manager's writes, and can be
// cut after a number of them, as when the manager's machine dies.
type network struct {
	mu      sync.Mutex
	written []string
	// forbidden are the requests that were refused for want of a right.
	forbidden []string
	left      int
	cut       chan struct{}
	// answered, when set, is told of every answer, one at a time.
	answered func(req *http.Request, status int)
	// held are the resources whose watches are silent, until their channel is closed.
	held map[string]chan struct{}
}

// hold keeps what happens to a resource, as in "pods", from the manager until release is called.
func (n *network) hold(resource string) (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	until := make(chan struct{})
	if n.held == nil {
		n.held = map[string]chan struct{}{}
	}
	n.held[resource] = until
	return sync.OnceFunc(func() { close(until) })
}

// watched is the answer to a watch.
type watched struct {
	io.ReadCloser
	net      *network
	resource string
	ctx      context.Context
}

func (b watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.net.mu.Lock()
	until := b.net.held[b.resource]
	b.net.mu.Unlock()
	if until != nil {
		select {
		case <-until:
		case <-b.ctx.Done():
		}
	}
	return n, err
}

var errCut = errors.New("the network of this manager is cut")

// cutAfter cuts the network once n more writes have reached the API server; the channel then closes.
func (n *network) cutAfter(writes int) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left, n.cut = writes, make(chan struct{})
	return n.cut
}

// mend makes the network whole again.
func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = nil
}

// writes are the writes so far, without Events.
func (n *network) writes() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.written)
}

// admit says whether a request gets through.
func (n *network) admit(req *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut != nil {
		select {
		case <-n.cut:
			return false
		default:
		}
	}
	if req.Method == http.MethodGet || strings.Contains(req.URL.Path, "/events") {
		return true
	}
	n.written = append(n.written, req.Method+" "+req.URL.Path)
	if n.cut != nil {
		if n.left--; n.left <= 0 {
			close(n.cut)
		}
	}
	return true
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (n *network) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if !n.admit(req) {
			return nil, errCut
		}
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			if err := n.noteForbidden(req, resp); err != nil {
				return nil, err
			}
		}
		if err == nil && req.URL.Query().Get("watch") == "true" {
			resp.Body = watched{ReadCloser: resp.Body, net: n, resource: path.Base(req.URL.Path), ctx: req.Context()}
		}
		if err == nil && n.answered != nil {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.answered(req, resp.StatusCode)
		}
		return resp, err
	})
}

// noteForbidden tells a right that is missing from a quota that is spent or a namespace that goes,
// which have the same status.
func (n *network) noteForbidden(req *http.Request, resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(" cannot ")) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.forbidden = append(n.forbidden, req.Method+" "+req.URL.Path)
	}
	return nil
}
