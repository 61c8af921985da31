package webhooks_test

import (
	"io"
	"net/http"
	"sync"
)

// lag is the network between the API server and the manager's cache. While it is frozen, what the
// watches would tell waits, as it does on a bad day.
type lag struct {
	mu     sync.Mutex
	thawed *sync.Cond
	frozen bool
}

func newLag() *lag {
	l := &lag{}
	l.thawed = sync.NewCond(&l.mu)
	return l
}

func (l *lag) freeze(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = yes
	l.thawed.Broadcast()
}

func (l *lag) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.frozen {
		l.thawed.Wait()
	}
}

func (l *lag) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") == "true" {
			resp.Body = &laggingBody{resp.Body, l}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type laggingBody struct {
	io.ReadCloser
	lag *lag
}

func (b *laggingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.lag.wait()
	return n, err
}
