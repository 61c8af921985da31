package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// validity of every certificate; a local cluster does not live that long.
const validity = 365 * 24 * time.Hour

// authority is the one CA of the cluster: it signs the server's certificate and
// the clients'.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the CA's key: %w", err)
	}
	tmpl := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "gangway local cluster"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the CA: %w", err)
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// issue signs a certificate for a server (when it has addresses) or a client.
func (a *authority) issue(subject pkix.Name, ips ...net.IP) (certPEM, keyPEM []byte, err error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("choose a serial number: %w", err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(ips) > 0 {
		tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		tmpl.IPAddresses = ips
		tmpl.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", subject.CommonName, err)
	}
	return encode("CERTIFICATE", der), keyPEM, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return key, encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// The files that writePKI leaves in the state directory.
const (
	kubeconfigFile        = "kubeconfig"
	managerKubeconfigFile = "kubeconfig-gangway"
	kcmKubeconfigFile     = "pki/kube-controller-manager.kubeconfig"
	ksKubeconfigFile      = "pki/kube-scheduler.kubeconfig"
	kwokKubeconfigFile    = "pki/kwok.kubeconfig"
	caFile                = "pki/ca.crt"
	serverCertFile        = "pki/apiserver.crt"
	serverKeyFile         = "pki/apiserver.key"
	accountKeyFile        = "pki/service-account.key"
)

// writePKI makes the CA, the server's certificate, the key that signs
// ServiceAccount tokens, and a kubeconfig each for the administrator, the
// controller manager, the scheduler and kwok.
func writePKI(dir string, apiServer int) error {
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	serverCert, serverKey, err := ca.issue(pkix.Name{CommonName: "kube-apiserver"}, net.ParseIP(loopback), net.ParseIP(firstServiceIP))
	if err != nil {
		return err
	}
	_, accountKey, err := newKey()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "pki"), 0o700); err != nil {
		return fmt.Errorf("make the folder of certificates: %w", err)
	}
	for name, content := range map[string][]byte{
		caFile: ca.pem, serverCertFile: serverCert, serverKeyFile: serverKey, accountKeyFile: accountKey,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write the certificates: %w", err)
		}
	}
	for file, subject := range map[string]pkix.Name{
		kubeconfigFile:     {CommonName: "admin", Organization: []string{"system:masters"}},
		kcmKubeconfigFile:  {CommonName: "system:kube-controller-manager"},
		ksKubeconfigFile:   {CommonName: "system:kube-scheduler"},
		kwokKubeconfigFile: {CommonName: "kwok", Organization: []string{"system:masters"}},
	} {
		cert, key, err := ca.issue(subject)
		if err != nil {
			return err
		}
		user := &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		if err := writeKubeconfig(filepath.Join(dir, file), apiServer, ca.pem, user); err != nil {
			return err
		}
	}
	return nil
}

func writeKubeconfig(path string, apiServer int, ca []byte, user *clientcmdapi.AuthInfo) error {
	const name = "gangway-local"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + address(apiServer), CertificateAuthorityData: ca}
	cfg.AuthInfos[name] = user
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	cfg.CurrentContext = name
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("write the kubeconfig %s: %w", path, err)
	}
	return nil
}
