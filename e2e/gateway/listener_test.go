package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// A Gateway of another namespace needs the listener's consent, and nothing but that. The service is
// there before its Gateway: admission refuses one whose Gateway says no already.
func TestGatewayInAnotherNamespace(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		infra, ns := namespace(t, nil), namespace(t, nil)
		host := hostOf(ns, "llm")
		g := makeGateway(infra, listener(nil)) // From: Same
		r := refTo(host)
		r.namespace = infra
		s := build(t, ns, "llm", r)
		create(t, s.Object, g)
		s.waitRefused(t, workloadv1alpha1.ReasonNotAllowedByListener)
		waitNotFound(t, host)

		allow := func(n *gatewayv1.RouteNamespaces) {
			edit(t, g, func(g *gatewayv1.Gateway) {
				g.Spec.Listeners[0].AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: n}
			})
		}
		allow(&gatewayv1.RouteNamespaces{From: ptr.To(gatewayv1.NamespacesFromAll)})
		waitServes(t, web(nil), s.waitReady(t), "llm")

		allow(&gatewayv1.RouteNamespaces{
			From:     ptr.To(gatewayv1.NamespacesFromSelector),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"llm": "yes"}},
		})
		s.waitRefused(t, workloadv1alpha1.ReasonNotAllowedByListener)
		waitNotFound(t, host)

		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		edit(t, namespace, func(n *corev1.Namespace) { metav1.SetMetaDataLabel(&n.ObjectMeta, "llm", "yes") })
		waitServes(t, web(nil), s.waitReady(t), "llm")
	})
}

func TestHostOutsideTheListener(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		g := makeGateway(ns, listener(func(l *gatewayv1.Listener) { l.Hostname = ptr.To[gatewayv1.Hostname]("*.example.com") }))
		s := build(t, ns, "llm", refTo(host))
		create(t, s.Object, g)
		s.waitRefused(t, workloadv1alpha1.ReasonHostnameMismatch)
		waitNotFound(t, host)

		edit(t, g, func(g *gatewayv1.Gateway) {
			g.Spec.Listeners[0].Hostname = ptr.To[gatewayv1.Hostname]("*.example.local")
		})
		waitServes(t, web(nil), s.waitReady(t), "llm")
	})
}

func TestWildcardHost(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		s := build(t, ns, "llm", refTo("*."+ns+".example.local"))
		create(t, makeGateway(ns, listener(nil)), s.Object)
		s.waitReady(t)
		waitServes(t, web(nil), hostURL(hostOf(ns, "anything")), "llm")
		waitNotFound(t, ns+".example.local")
	})
}

func TestHTTPSListener(t *testing.T) {
	eachKind(t, func(t *testing.T, build func(*testing.T, string, string, *ref) *service) {
		ns := namespace(t, nil)
		host := hostOf(ns, "llm")
		secret, roots := certificate(t, ns, host)
		s := build(t, ns, "llm", refTo(host))
		create(t, secret, s.Object, makeGateway(ns, listener(func(l *gatewayv1.Listener) {
			l.Port, l.Protocol = httpsPort, gatewayv1.HTTPSProtocolType
			l.TLS = &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: gatewayv1.ObjectName(secret.Name)}}}
		})))
		address := s.waitReady(t)
		if want := fmt.Sprintf("https://%s:%d", host, httpsPort); address != want {
			t.Fatalf("address %q, want %q", address, want)
		}
		waitServes(t, web(roots), address, "llm")
	})
}

// certificate is a Secret with a certificate for a host that signs itself.
func certificate(t *testing.T, namespace, host string) (*corev1.Secret, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: host},
		DNSNames:              []string{host},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certPEM) {
		t.Fatal("the certificate cannot be read back")
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tls"},
		Type:       corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       certPEM,
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		},
	}, roots
}
