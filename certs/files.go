package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// files presents the certificate of a mounted Secret and follows its renewals.
type files struct {
	dir     string
	serving *serving
}

// NeedLeaderElection is false: every replica serves.
func (f *files) NeedLeaderElection() bool { return false }

// Start waits for the files, then reloads them whenever they change, until ctx ends. Files that are
// missing or garbage are waited for: cert-manager may still be about to issue them.
func (f *files) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("webhook-serving").WithValues("dir", f.dir)
	var watcher *certwatcher.CertWatcher
	said := false
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		var err error
		watcher, err = certwatcher.New(filepath.Join(f.dir, leafCertKey), filepath.Join(f.dir, leafKeyKey))
		if err != nil && !said {
			said = true
			logger.Info("Waiting for a usable webhook certificate", "reason", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		return nil // ctx ended; there was nothing to stop
	}
	watcher.RegisterCallback(func(cert tls.Certificate) {
		f.serving.present(&cert, f.roots())
		f.serving.markTrusted() // the trust is cert-manager's to inject
		logger.Info("Presenting a new webhook certificate", "serial", cert.Leaf.SerialNumber.Text(16), "notAfter", stamp(cert.Leaf.NotAfter))
	})
	return watcher.Start(ctx)
}

// roots is the CA beside the certificate, or nil when there is none that can be read: then readiness
// asks for the very certificate.
func (f *files) roots() *x509.CertPool {
	pem, err := os.ReadFile(filepath.Join(f.dir, caCertKey))
	if err != nil {
		return nil
	}
	p, err := certutil.NewPoolFromBytes(pem)
	if err != nil {
		return nil
	}
	return p
}
