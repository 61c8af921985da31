package certs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// follower is every replica's part: it presents what the Secret holds, and writes nothing.
type follower struct {
	reader  client.Reader
	secret  client.ObjectKey
	clock   clock.PassiveClock
	serving *serving
	fault   string // the last one that was logged; reconciles of one key never overlap
}

// Reconcile presents the certificate of the Secret, if it is usable, and goes on with the one before if not.
func (f *follower) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	if err := f.reader.Get(ctx, f.secret, secret); err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("read Secret %s: %w", f.secret, err)
	}
	m := parse(secret.Data)
	if err := m.leafFault(nil, f.clock.Now()); err != nil {
		if f.fault != err.Error() {
			f.fault = err.Error()
			log.FromContext(ctx).Info("Waiting for a usable webhook certificate", "reason", f.fault)
		}
		return reconcile.Result{}, nil
	}
	f.fault = ""
	if current, _ := f.serving.getCertificate(nil); current == nil || !current.Leaf.Equal(m.leaf.Leaf) {
		log.FromContext(ctx).Info("Presenting a new webhook certificate", "serial", m.leaf.Leaf.SerialNumber.Text(16), "notAfter", stamp(m.leaf.Leaf.NotAfter))
	}
	f.serving.present(m.leaf, pool(m.cas))

	trusted, err := allCarry(ctx, f.reader, secret.Data[caCertKey])
	if trusted {
		f.serving.markTrusted()
	}
	return reconcile.Result{}, err
}
