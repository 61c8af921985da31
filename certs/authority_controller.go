package certs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=gangway-validating,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=gangway-mutating,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",namespace=gangway-system,resources=secrets,resourceNames=gangway-webhook-tls,verbs=get;list;watch;update
// +kubebuilder:rbac:groups="",namespace=gangway-system,resources=secrets,verbs=create

const (
	managedByLabel      = "app.kubernetes.io/managed-by"
	managedBy           = "gangway"
	certManagerOwnsThis = "cert-manager.io/certificate-name"
)

// authority is the leader's part: the only writer of the Secret and of the trust.
type authority struct {
	reader client.Reader // what is watched, and nothing else
	writer client.Writer
	secret client.ObjectKey
	hosts  []string
	policy Policy
	clock  clock.PassiveClock
}

// Reconcile brings the Secret and the configurations one step further. The writes it makes come back as
// watch events, so a rotation of several steps is several passes.
func (a *authority) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	err := a.reader.Get(ctx, a.secret, secret)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return reconcile.Result{}, fmt.Errorf("read Secret %s: %w", a.secret, err)
	}
	if owner := secret.Annotations[certManagerOwnsThis]; owner != "" {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("secret %s belongs to the cert-manager Certificate %q; "+
			"run with --cert-mode=%s, or delete the Certificate and the Secret", a.secret, owner, CertManager))
	}

	now := a.clock.Now()
	in := Input{Data: secret.Data, Hosts: a.hosts, Policy: a.policy}
	var injectErr error
	if len(parse(secret.Data).cas) > 0 {
		if in.Trusted, err = allCarry(ctx, a.reader, secret.Data[caCertKey]); err != nil {
			return reconcile.Result{}, err
		}
		if !in.Trusted {
			injectErr = quiet(inject(ctx, a.reader, a.writer, secret.Data[caCertKey]))
		}
	}
	verdict := Decide(in, now)
	if verdict.Step == Keep {
		return reconcile.Result{RequeueAfter: max(verdict.Again.Sub(now), time.Second)}, injectErr
	}

	data, err := carryOut(verdict.Step, in, now)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := a.write(ctx, secret, absent, data); err != nil {
		return reconcile.Result{}, utilerrors.NewAggregate([]error{quiet(err), injectErr})
	}
	log.FromContext(ctx).Info("Renewed the webhook certificate", "step", verdict.Step, "reason", verdict.Reason)
	// The new trust goes out at once, not only with the next pass: after Remake, every moment counts.
	return reconcile.Result{}, quiet(inject(ctx, a.reader, a.writer, data[caCertKey]))
}

// write stores the data. A nil error promises that nobody had changed the Secret since it was read.
func (a *authority) write(ctx context.Context, secret *corev1.Secret, absent bool, data map[string][]byte) error {
	secret.Data = data
	if !absent {
		if err := a.writer.Update(ctx, secret); err != nil {
			return fmt.Errorf("update Secret %s: %w", a.secret, err)
		}
		return nil
	}
	secret.Namespace, secret.Name = a.secret.Namespace, a.secret.Name
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = map[string]string{managedByLabel: managedBy}
	if err := a.writer.Create(ctx, secret); err != nil {
		return fmt.Errorf("create Secret %s: %w", a.secret, err)
	}
	return nil
}

// quiet drops the errors that only say that the cache is a moment behind: the event that ends this is
// already on its way.
func quiet(err error) error {
	return utilerrors.FilterOut(err, apierrors.IsConflict, apierrors.IsAlreadyExists)
}
