package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFirstStartMakesCertificateAndTrust(t *testing.T) {
	namespace := server.Namespace(t, nil)
	r := startReplica(t, namespace, Policy{})
	if err := r.isReady(); !errors.Is(err, errNoCertificate) {
		t.Errorf("ready before the certificate was made: %v, want %v", err, errNoCertificate)
	}
	eventually(t, "ready without configurations", func(context.Context) error { return r.isReady() })

	// The configurations come after the manager, and are trusted no less.
	installConfigurations(t, namespace, r.address)
	eventually(t, "every webhook carries the bundle", everyWebhookTrusts(namespace))
	eventually(t, "a request passes", admit(namespace))
	if got := r.asked.Load(); got < 4 {
		t.Errorf("the webhook server was asked %d times, want 4 or more: one request, four webhooks", got)
	}

	secret := mustReadSecret(t, namespace)
	if secret.Type != corev1.SecretTypeTLS {
		t.Errorf("type of the Secret = %s, want %s", secret.Type, corev1.SecretTypeTLS)
	}
	if diff := cmp.Diff(map[string]string{"app.kubernetes.io/managed-by": "gangway"}, secret.Labels); diff != "" {
		t.Errorf("labels of the Secret (-want +got):\n%s", diff)
	}
	m := parse(secret.Data)
	want := []string{"gangway-webhook." + namespace + ".svc", "gangway-webhook." + namespace + ".svc.cluster.local"}
	if diff := cmp.Diff(want, m.leaf.Leaf.DNSNames); diff != "" {
		t.Errorf("DNS names of the certificate (-want +got):\n%s", diff)
	}
}

func TestRestartKeepsCertificate(t *testing.T) {
	namespace := server.Namespace(t, nil)
	first := startReplica(t, namespace, Policy{})
	installConfigurations(t, namespace, first.address)
	eventually(t, "ready", func(context.Context) error { return first.isReady() })
	eventually(t, "every webhook carries the bundle", everyWebhookTrusts(namespace))
	before := mustReadSecret(t, namespace)
	first.stop()

	second := startReplica(t, namespace, Policy{})
	eventually(t, "ready after the restart", func(context.Context) error { return second.isReady() })
	<-second.leading
	// A repair proves that the authority has looked at everything since it leads.
	spoil(t, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: MutatingConfiguration}}, nil)
	eventually(t, "the authority is at work", everyWebhookTrusts(namespace))
	if diff := cmp.Diff(before, mustReadSecret(t, namespace)); diff != "" {
		t.Errorf("the Secret was written by the restart (-before +after):\n%s", diff)
	}
}

func TestTwoReplicasShareOneCertificate(t *testing.T) {
	namespace := server.Namespace(t, nil)
	first := startReplica(t, namespace, Policy{})
	<-first.leading
	second := startReplica(t, namespace, Policy{})
	installConfigurations(t, namespace, second.address)
	for _, r := range []*replica{first, second} {
		eventually(t, "ready", func(context.Context) error { return r.isReady() })
	}
	eventually(t, "a request to the replica that does not lead passes", admit(namespace))
	select {
	case <-second.leading:
		t.Fatal("both replicas lead")
	default:
	}
	a, _ := first.certificates.serving.getCertificate(nil)
	b, _ := second.certificates.serving.getCertificate(nil)
	if !a.Leaf.Equal(b.Leaf) {
		t.Error("the replicas present different certificates")
	}

	before := mustReadSecret(t, namespace)
	first.stop()
	<-second.leading
	if err := server.Client.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new leader makes the Secret anew", func(ctx context.Context) error {
		secret, err := readSecret(ctx, namespace)
		if err == nil && secret.UID == before.UID {
			return errors.New("the old Secret is still there")
		}
		return err
	})
	eventually(t, "and the trust in it", everyWebhookTrusts(namespace))
	eventually(t, "and a request passes", admit(namespace))
}

// spoil overwrites the caBundle of the first webhook of a configuration, as a hand would.
func spoil(t *testing.T, configuration client.Object, bundle []byte) {
	t.Helper()
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration); err != nil {
		t.Fatal(err)
	}
	clientConfigs(configuration)[0].CABundle = bundle
	if err := server.Client.Update(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
}

func TestEditsByHandAreRepaired(t *testing.T) {
	namespace := server.Namespace(t, nil)
	r := startReplica(t, namespace, Policy{})
	installConfigurations(t, namespace, r.address)
	eventually(t, "every webhook carries the bundle", everyWebhookTrusts(namespace))

	t.Run("another CA in one webhook", func(t *testing.T) {
		validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ValidatingConfiguration}}
		spoil(t, validating, after(t, Remake, time.Duration(0))[caCertKey])
		eventually(t, "the bundle is back", everyWebhookTrusts(namespace))
	})
	t.Run("an emptied caBundle", func(t *testing.T) {
		mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: MutatingConfiguration}}
		spoil(t, mutating, nil)
		eventually(t, "the bundle is back", everyWebhookTrusts(namespace))
	})

	garbage := map[string][]byte{leafCertKey: []byte("garbage"), leafKeyKey: []byte("garbage")}
	for name, data := range map[string]map[string][]byte{
		"a Secret of garbage only":              garbage,
		"a Secret whose certificate is garbage": {leafCertKey: []byte("garbage")},
		"a Secret that lost the key of its CA":  {caKeyKey: nil},
	} {
		t.Run(name, func(t *testing.T) {
			secret := mustReadSecret(t, namespace)
			if len(data) > 1 {
				secret.Data = data
			} else {
				for key, value := range data {
					secret.Data = with(secret.Data, key, value)
				}
			}
			if err := server.Client.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the Secret is usable", func(ctx context.Context) error {
				secret, err := readSecret(ctx, namespace)
				if err != nil {
					return err
				}
				m := parse(secret.Data)
				return errors.Join(m.caErr, m.leafFault([]string{"gangway-webhook." + namespace + ".svc", "127.0.0.1"}, time.Now()))
			})
			eventually(t, "every webhook carries its bundle", everyWebhookTrusts(namespace))
			eventually(t, "the server presents it", func(ctx context.Context) error {
				secret, err := readSecret(ctx, namespace)
				if err != nil {
					return err
				}
				if current, _ := r.certificates.serving.getCertificate(nil); !current.Leaf.Equal(parse(secret.Data).leaf.Leaf) {
					return errors.New("another certificate is presented")
				}
				return r.isReady()
			})
			eventually(t, "a request passes", admit(namespace))
		})
	}
}

func TestObjectsOfCertManagerAreLeftAlone(t *testing.T) {
	namespace := server.Namespace(t, nil)
	data := after(t, Remake, time.Duration(0))
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: SecretName,
			Annotations: map[string]string{certManagerOwnsThis: "gangway-serving"},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{leafCertKey: data[leafCertKey], leafKeyKey: data[leafKeyKey]},
	}
	if err := server.Client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(theirs)
	a := &authority{reader: server.Client, writer: server.Client, secret: key, hosts: testHosts, policy: DefaultPolicy(), clock: fixed(start)}
	_, err := a.Reconcile(t.Context(), request())
	want := fmt.Sprintf("terminal error: secret %s belongs to the cert-manager Certificate %q; "+
		"run with --cert-mode=cert-manager, or delete the Certificate and the Secret", key, "gangway-serving")
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if diff := cmp.Diff(theirs, mustReadSecret(t, namespace)); diff != "" {
		t.Errorf("the Secret was written (-before +after):\n%s", diff)
	}
	if err := server.Client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	// A configuration that cainjector writes is reported; the other one is served all the same.
	installConfigurations(t, namespace, "127.0.0.1:1")
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ValidatingConfiguration}}
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(validating), validating); err != nil {
		t.Fatal(err)
	}
	validating.Annotations = map[string]string{injectedByCertManager: "gangway-system/gangway-serving"}
	if err := server.Client.Update(t.Context(), validating); err != nil {
		t.Fatal(err)
	}
	_, err = a.Reconcile(t.Context(), request())
	if err == nil || !strings.Contains(err.Error(), `"gangway-validating" has the annotation cert-manager.io/inject-ca-from=gangway-system/gangway-serving`) {
		t.Errorf("error = %v, want one that names the configuration and the annotation", err)
	}
	bundle := mustReadSecret(t, namespace).Data[caCertKey]
	for _, configuration := range configurations() {
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration); err != nil {
			t.Fatal(err)
		}
		for _, config := range clientConfigs(configuration) {
			injected := bytes.Equal(config.CABundle, bundle)
			if want := configuration.GetName() == MutatingConfiguration; injected != want {
				t.Errorf("%s: injected = %v, want %v", configuration.GetName(), injected, want)
			}
		}
	}
}
