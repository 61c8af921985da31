package certs

import (
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Mode says who makes the serving certificate.
type Mode string

const (
	// SelfManaged: Gangway makes a CA and the certificate, renews both, and injects the trust.
	SelfManaged Mode = "self-managed"
	// CertManager: cert-manager makes the files and its cainjector injects the trust.
	CertManager Mode = "cert-manager"
)

// Modes are all modes, in the order in which help shows them.
func Modes() []Mode { return []Mode{SelfManaged, CertManager} }

// Names of the objects that Gangway's certificates live in.
const (
	SecretName              = "gangway-webhook-tls"
	ValidatingConfiguration = "gangway-validating"
	MutatingConfiguration   = "gangway-mutating"
)

// Options say where the certificate comes from and whom it is for.
type Options struct {
	Mode Mode
	// Namespace is where Gangway runs, and where the Secret and the webhook Service are.
	Namespace string
	// ServiceName is the webhook Service: the API server calls <ServiceName>.<Namespace>.svc.
	ServiceName string
	// ExtraHosts are further DNS names and IP addresses of a self-managed certificate, for API servers
	// that call the webhooks by URL.
	ExtraHosts []string
	// Dir holds tls.crt, tls.key and, if there is one, ca.crt. CertManager only.
	Dir string
	// Policy is for how long self-managed certificates live. The zero value is DefaultPolicy.
	Policy Policy
	// Clock tells the time. nil is the real clock.
	Clock clock.PassiveClock
	// OnPresent is told the expiry of each certificate that is presented from then on. nil is nobody.
	OnPresent func(notAfter time.Time)
}

// Certificates keeps one webhook server's certificate, from its making to its reload.
type Certificates struct {
	opts    Options
	serving *serving
}

// New prepares the certificate of one server. Nothing is read or written before SetupWithManager.
func New(opts Options) *Certificates {
	if opts.Policy == (Policy{}) {
		opts.Policy = DefaultPolicy()
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.OnPresent == nil {
		opts.OnPresent = func(time.Time) {}
	}
	return &Certificates{opts: opts, serving: &serving{host: hosts(opts)[0], onPresent: opts.OnPresent}}
}

// TLS makes a server present the certificate that is current at each handshake, by TLS 1.2 or better.
func (c *Certificates) TLS(config *tls.Config) {
	config.MinVersion = tls.VersionTLS12
	config.GetCertificate = c.serving.getCertificate
}

// SetupWithManager registers what the mode needs: the authority and its follower, or the file reloader.
func (c *Certificates) SetupWithManager(mgr ctrl.Manager) error {
	switch c.opts.Mode {
	case SelfManaged:
		return c.setupSelfManaged(mgr)
	case CertManager:
		return mgr.Add(&files{dir: c.opts.Dir, serving: c.serving})
	default:
		return fmt.Errorf("unknown certificate mode %q: must be one of %v", c.opts.Mode, Modes())
	}
}

// hosts lists the names by which API servers call the webhooks, the Service's own name first.
func hosts(opts Options) []string {
	service := opts.ServiceName + "." + opts.Namespace + ".svc"
	return append([]string{service, service + ".cluster.local"}, opts.ExtraHosts...)
}
