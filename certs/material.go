package certs

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Keys of the Secret, and names of the files that cert-manager's Secret becomes when it is mounted.
const (
	caCertKey   = "ca.crt"
	caKeyKey    = "ca.key"
	leafCertKey = "tls.crt"
	leafKeyKey  = "tls.key"
)

// material is the Secret, parsed. What is missing or unreadable is nil, with the cause beside it.
type material struct {
	cas     []*x509.Certificate // newest first
	caKey   crypto.Signer       // of cas[0]
	caErr   error               // why caKey is nil
	leaf    *tls.Certificate    // with Leaf set
	leafErr error               // why leaf is nil
}

// parse reads the data of the Secret. It never fails: garbage is what the authority is there to repair.
func parse(data map[string][]byte) material {
	var m material
	m.cas, m.caErr = parseCAs(data[caCertKey])
	if m.caErr == nil {
		m.caKey, m.caErr = parseCAKey(data[caKeyKey], m.cas[0])
	}
	m.leaf, m.leafErr = parseLeaf(data[leafCertKey], data[leafKeyKey])
	return m
}

func parseCAs(pem []byte) ([]*x509.Certificate, error) {
	if len(pem) == 0 {
		return nil, fmt.Errorf("%s is missing", caCertKey)
	}
	cas, err := certutil.ParseCertsPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("%s is unreadable: %w", caCertKey, err)
	}
	for _, ca := range cas {
		if !ca.IsCA {
			return nil, fmt.Errorf("%s holds a certificate that is not a CA", caCertKey)
		}
	}
	return cas, nil
}

func parseCAKey(pem []byte, ca *x509.Certificate) (crypto.Signer, error) {
	if len(pem) == 0 {
		return nil, fmt.Errorf("%s is missing", caKeyKey)
	}
	key, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("%s is unreadable: %w", caKeyKey, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s cannot sign", caKeyKey)
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(ca.PublicKey) {
		return nil, fmt.Errorf("%s does not belong to the first certificate of %s", caKeyKey, caCertKey)
	}
	return signer, nil
}

func parseLeaf(certPEM, keyPEM []byte) (*tls.Certificate, error) {
	switch {
	case len(certPEM) == 0:
		return nil, fmt.Errorf("%s is missing", leafCertKey)
	case len(keyPEM) == 0:
		return nil, fmt.Errorf("%s is missing", leafKeyKey)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are unreadable: %w", leafCertKey, leafKeyKey, err)
	}
	return &pair, nil
}

// leafFault says why the serving certificate cannot be presented at now under one of the hosts, or nil.
func (m material) leafFault(hosts []string, now time.Time) error {
	if m.leafErr != nil {
		return m.leafErr
	}
	_, err := m.leaf.Leaf.Verify(x509.VerifyOptions{
		Roots:       pool(m.cas),
		CurrentTime: now,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	var errs []error
	if err != nil {
		errs = append(errs, fmt.Errorf("%s is not valid: %w", leafCertKey, err))
	}
	for _, host := range hosts {
		if err := m.leaf.Leaf.VerifyHostname(host); err != nil {
			errs = append(errs, fmt.Errorf("%s does not cover %s", leafCertKey, host))
		}
	}
	return errors.Join(errs...)
}

// leafSignedByNewest reports whether the newest CA signed the serving certificate.
func (m material) leafSignedByNewest() bool {
	return m.leaf.Leaf.CheckSignatureFrom(m.cas[0]) == nil
}

// valid returns the CAs that are valid at now, in their order.
func valid(cas []*x509.Certificate, now time.Time) []*x509.Certificate {
	var out []*x509.Certificate
	for _, ca := range cas {
		if !now.Before(ca.NotBefore) && now.Before(ca.NotAfter) {
			out = append(out, ca)
		}
	}
	return out
}

func pool(cas []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, ca := range cas {
		p.AddCert(ca)
	}
	return p
}

// sameCAs reports whether two PEM bundles hold the same CAs in the same order, however they are laid out.
func sameCAs(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	left, err := certutil.ParseCertsPEM(a)
	if err != nil {
		return false
	}
	right, err := certutil.ParseCertsPEM(b)
	if err != nil || len(left) != len(right) {
		return false
	}
	for i := range left {
		if !left[i].Equal(right[i]) {
			return false
		}
	}
	return true
}
