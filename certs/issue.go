package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"maps"
	"net"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	caCommonName   = "gangway-webhook-ca"
	leafCommonName = "gangway-webhook"
	organization   = "gangway"
)

// carryOut returns the data of the Secret after a step, at now. Foreign keys of the data are kept.
func carryOut(step Step, in Input, now time.Time) (map[string][]byte, error) {
	data := maps.Clone(in.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	m := parse(in.Data)
	var err error
	switch step {
	case Keep:
	case Remake:
		m = material{}
		if err = addCA(data, &m, in.Policy, now); err == nil {
			err = issueLeaf(data, m, in, now)
		}
	case AddCA:
		err = addCA(data, &m, in.Policy, now)
	case IssueLeaf:
		err = issueLeaf(data, m, in, now)
	case DropExpired:
		data[caCertKey], err = certutil.EncodeCertificates(valid(m.cas, now)...)
	default:
		err = fmt.Errorf("unknown step %q", step)
	}
	if err != nil {
		return nil, fmt.Errorf("carry out %s: %w", step, err)
	}
	return data, nil
}

// addCA puts a new CA in front of those that are still valid.
func addCA(data map[string][]byte, m *material, policy Policy, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate the key of the CA: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: caCommonName, Organization: []string{organization}},
		NotBefore:             now.Add(-policy.Backdate),
		NotAfter:              now.Add(policy.CALifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	ca, err := sign(template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("sign the CA: %w", err)
	}
	m.cas = append([]*x509.Certificate{ca}, valid(m.cas, now)...)
	m.caKey, m.caErr = key, nil
	if data[caCertKey], err = certutil.EncodeCertificates(m.cas...); err != nil {
		return fmt.Errorf("encode the bundle: %w", err)
	}
	if data[caKeyKey], err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return fmt.Errorf("encode the key of the CA: %w", err)
	}
	return nil
}

// issueLeaf signs a serving certificate for the hosts by the newest CA.
func issueLeaf(data map[string][]byte, m material, in Input, now time.Time) error {
	if m.caErr != nil {
		return m.caErr
	}
	ca := m.cas[0]
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate the serving key: %w", err)
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: leafCommonName, Organization: []string{organization}},
		NotBefore:   now.Add(-in.Policy.Backdate),
		NotAfter:    earliest(now.Add(in.Policy.LeafLifetime), ca.NotAfter),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range in.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	leaf, err := sign(template, ca, key.Public(), m.caKey)
	if err != nil {
		return fmt.Errorf("sign the serving certificate: %w", err)
	}
	if data[leafCertKey], err = certutil.EncodeCertificates(leaf); err != nil {
		return fmt.Errorf("encode the serving certificate: %w", err)
	}
	if data[leafKeyKey], err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return fmt.Errorf("encode the serving key: %w", err)
	}
	return nil
}

// sign leaves the serial number to crypto/x509, which draws a random one.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
