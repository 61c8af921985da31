package certs

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestCarries(t *testing.T) {
	bundle := after(t, Remake, time.Duration(0), AddCA, day)[caCertKey]
	other := after(t, Remake, time.Duration(0))[caCertKey]
	cas := parse(map[string][]byte{caCertKey: bundle}).cas
	swapped, err := certutil.EncodeCertificates(cas[1], cas[0])
	if err != nil {
		t.Fatal(err)
	}
	half, err := certutil.EncodeCertificates(cas[0])
	if err != nil {
		t.Fatal(err)
	}
	validating := func(bundles ...[]byte) client.Object {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		for _, b := range bundles {
			c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{
				ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: b},
			})
		}
		return c
	}
	mutating := func(b []byte) client.Object {
		return &admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{
			{ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: b}},
		}}
	}
	tests := map[string]struct {
		configuration client.Object
		want          bool
	}{
		"no webhook: nothing to trust":               {validating(), true},
		"every webhook has the bundle":               {validating(bundle, bundle), true},
		"one of two webhooks has another":            {validating(bundle, other), false},
		"one of two webhooks has none":               {validating(nil, bundle), false},
		"only the newest of two CAs":                 {validating(half), false},
		"the same CAs, laid out with other newlines": {validating(append([]byte("\n# by hand\n"), bundle...)), true},
		"the same CAs in another order":              {validating(swapped), false},
		"garbage":                                    {validating([]byte("garbage")), false},
		"a mutating webhook has the bundle":          {mutating(bundle), true},
		"a mutating webhook has another":             {mutating(other), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := carries(tc.configuration, bundle); got != tc.want {
				t.Errorf("carries = %v, want %v", got, tc.want)
			}
		})
	}
}
