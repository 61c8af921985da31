package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var (
	errNoCertificate = errors.New("the serving certificate is not there yet")
	errNotTrusted    = errors.New("the webhook configurations do not carry the CA yet")
)

// serving is what the webhook server presents. Its methods may be called from any goroutine.
type serving struct {
	host      string // a name that the certificate covers
	onPresent func(notAfter time.Time)

	mu      sync.RWMutex
	current *tls.Certificate
	roots   *x509.CertPool // nil: the trust is not known here
	trusted bool           // the configurations carried the CA at least once
}

// present replaces the certificate; handshakes from now on see the new one, open connections go on.
func (s *serving) present(cert *tls.Certificate, roots *x509.CertPool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.roots = cert, roots
	s.onPresent(cert.Leaf.NotAfter)
}

// markTrusted opens the gate of readiness for good: a configuration that loses its CA later is repaired,
// and must not take the replicas away from the other configurations meanwhile.
func (s *serving) markTrusted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trusted = true
}

func (s *serving) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current == nil {
		return nil, errNoCertificate
	}
	return s.current, nil
}

// ReadyCheck answers nil when a TLS client that trusts the CA is served the current certificate at
// address, and the configurations have carried that CA. An address without a host is asked on loopback.
// Probes do not show reasons, so what keeps the server from being ready is logged when it changes.
func (c *Certificates) ReadyCheck(address string) healthz.Checker {
	logger := log.Log.WithName("webhook-serving")
	var mu sync.Mutex
	last := ""
	return func(req *http.Request) error {
		err := c.ready(req, address)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil && err.Error() != last:
			last = err.Error()
			logger.Info("Not ready", "reason", last)
		case err == nil && last != readiness:
			last = readiness
			logger.Info("Ready")
		}
		return err
	}
}

// readiness is in the place of a reason while there is none.
const readiness = "ready"

func (c *Certificates) ready(req *http.Request, address string) error {
	c.serving.mu.RLock()
	current, roots, trusted := c.serving.current, c.serving.roots, c.serving.trusted
	c.serving.mu.RUnlock()
	switch {
	case current == nil:
		return errNoCertificate
	case !trusted:
		return errNotTrusted
	}
	return handshake(req, dialable(address), c.serving.host, current, roots)
}

// handshake asks the server as an API server would. A server that presents another certificate than
// want, because it was renewed since, is asked to be trusted no less.
func handshake(req *http.Request, address, host string, want *tls.Certificate, roots *x509.CertPool) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots}
	if roots == nil {
		// Without a CA at hand, the proof is that the server presents the very certificate.
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if !state.PeerCertificates[0].Equal(want.Leaf) {
				return errors.New("the server presents another certificate")
			}
			return nil
		}
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 2 * time.Second}, Config: config}
	conn, err := dialer.DialContext(req.Context(), "tcp", address)
	if err != nil {
		return fmt.Errorf("the webhook server does not answer on %s: %w", address, err)
	}
	return conn.Close()
}

func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
