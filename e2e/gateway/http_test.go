package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gangway-serving/gangway/e2e/gateway/bed"
	"github.com/gangway-serving/gangway/e2e/modelserver"
)

// web is a client for which every host name is the Gateway's address, as DNS would have it. It
// keeps no connection, so that each request takes the Gateway's newest configuration.
func web(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					return nil, err
				}
				return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(bed.Loopback, port))
			},
		},
	}
}

// reply is what an HTTP request got.
type reply struct {
	code     int
	servedBy string
	body     []byte
}

func ask(ctx context.Context, c *http.Client, method, url, body string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // Read only.
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, fmt.Errorf("read the answer of %s: %w", url, err)
	}
	return reply{code: resp.StatusCode, servedBy: resp.Header.Get(modelserver.ServedByHeader), body: b}, nil
}

// hostURL is how a host is reached through the HTTP listener.
func hostURL(host string) string { return fmt.Sprintf("http://%s:%d", host, httpPort) }

// waitServes waits until the model answers at an address; a Gateway controller accepts a route a
// moment before it carries requests.
func waitServes(t *testing.T, c *http.Client, address, model string) {
	t.Helper()
	eventually(t, func(ctx context.Context) string {
		r, err := ask(ctx, c, http.MethodGet, address+"/v1/models", "")
		if err != nil {
			return err.Error()
		}
		var models modelserver.Models
		if err := json.Unmarshal(r.body, &models); err != nil || r.code != http.StatusOK {
			return fmt.Sprintf("%s answers %d: %s", address, r.code, r.body)
		}
		if len(models.Data) != 1 || models.Data[0].ID != model {
			return fmt.Sprintf("%s serves %+v, want %s", address, models.Data, model)
		}
		return ""
	})
}

// waitNotFound waits until the Gateway knows a host no longer.
func waitNotFound(t *testing.T, host string) {
	t.Helper()
	eventually(t, func(ctx context.Context) string {
		r, err := ask(ctx, web(nil), http.MethodGet, hostURL(host)+"/v1/models", "")
		if err != nil {
			return err.Error()
		}
		if r.code != http.StatusNotFound {
			return fmt.Sprintf("%s answers %d: %s", host, r.code, r.body)
		}
		return ""
	})
}

func chat(model, content string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`, model, stream, content)
}

// streamed joins the deltas of a stream of events, which must be complete.
func streamed(t *testing.T, body []byte) string {
	t.Helper()
	var text strings.Builder
	done := false
	for line := range bytes.SplitSeq(body, []byte("\n\n")) {
		event, ok := bytes.CutPrefix(line, []byte("data: "))
		switch {
		case len(line) == 0:
		case !ok || done:
			t.Fatalf("unexpected part %q of the stream", line)
		case string(event) == "[DONE]":
			done = true
		default:
			var c modelserver.Completion
			if err := json.Unmarshal(event, &c); err != nil {
				t.Fatalf("decode %q: %v", event, err)
			}
			for _, choice := range c.Choices {
				text.WriteString(choice.Delta.Content)
			}
		}
	}
	if !done {
		t.Fatalf("the stream has no end: %s", body)
	}
	return text.String()
}

// listener is one of HTTP at httpPort, for its own namespace.
func listener(change func(*gatewayv1.Listener)) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: "http", Port: httpPort, Protocol: gatewayv1.HTTPProtocolType}
	if change != nil {
		change(&l)
	}
	return l
}
