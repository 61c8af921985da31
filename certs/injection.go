package certs

import (
	"bytes"
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// injectedByCertManager marks configurations whose caBundle cert-manager's cainjector writes.
const injectedByCertManager = "cert-manager.io/inject-ca-from"

// configurations are the objects that must carry the trust, empty but for their names.
func configurations() []client.Object {
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	validating.Name = ValidatingConfiguration
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	mutating.Name = MutatingConfiguration
	return []client.Object{validating, mutating}
}

// clientConfigs points at the client configuration of every webhook in a configuration.
func clientConfigs(configuration client.Object) []*admissionregistrationv1.WebhookClientConfig {
	var out []*admissionregistrationv1.WebhookClientConfig
	switch c := configuration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			out = append(out, &c.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			out = append(out, &c.Webhooks[i].ClientConfig)
		}
	}
	return out
}

// carries reports whether every webhook of a configuration trusts exactly the bundle.
func carries(configuration client.Object, bundle []byte) bool {
	for _, config := range clientConfigs(configuration) {
		if !sameCAs(config.CABundle, bundle) {
			return false
		}
	}
	return true
}

// allCarry reports whether every configuration that exists trusts exactly the bundle.
func allCarry(ctx context.Context, reader client.Reader, bundle []byte) (bool, error) {
	for _, configuration := range configurations() {
		err := reader.Get(ctx, client.ObjectKeyFromObject(configuration), configuration)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, fmt.Errorf("read webhook configuration %q: %w", configuration.GetName(), err)
		case !carries(configuration, bundle):
			return false, nil
		}
	}
	return true, nil
}

// inject makes every configuration that exists carry the bundle. A nil error promises that they do, as
// far as the reader has seen them; the others are patched even when one fails.
func inject(ctx context.Context, reader client.Reader, writer client.Writer, bundle []byte) error {
	var errs []error
	for _, configuration := range configurations() {
		if err := injectOne(ctx, reader, writer, configuration, bundle); err != nil {
			errs = append(errs, err)
		}
	}
	return utilerrors.NewAggregate(errs)
}

func injectOne(ctx context.Context, reader client.Reader, writer client.Writer, configuration client.Object, bundle []byte) error {
	name := configuration.GetName()
	if err := reader.Get(ctx, client.ObjectKeyFromObject(configuration), configuration); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read webhook configuration %q: %w", name, err)
	}
	if carries(configuration, bundle) {
		return nil
	}
	if from := configuration.GetAnnotations()[injectedByCertManager]; from != "" {
		// Two writers would undo each other for ever.
		return fmt.Errorf("webhook configuration %q has the annotation %s=%s, so cert-manager writes its caBundle; "+
			"remove the annotation, or run with --cert-mode=%s", name, injectedByCertManager, from, CertManager)
	}
	// Strategic merge goes by the webhooks' names, and the resourceVersion refuses a patch of what was
	// edited meanwhile.
	before := configuration.DeepCopyObject().(client.Object)
	for _, config := range clientConfigs(configuration) {
		config.CABundle = bytes.Clone(bundle)
	}
	patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
	if err := writer.Patch(ctx, configuration, patch); err != nil {
		return fmt.Errorf("write caBundle of webhook configuration %q: %w", name, err)
	}
	log.FromContext(ctx).Info("Injected the CA bundle", "configuration", name)
	return nil
}
