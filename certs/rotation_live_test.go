package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	certutil "k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func fixed(now time.Time) *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(now)
}

func request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: SecretName}}
}

// TestRotationDropsNoRequest lives through whole lives of CAs that last nine seconds, while requests go
// through the API server to both replicas, and while a client that learns the trust late, as a slow API
// server would, makes a new connection again and again.
func TestRotationDropsNoRequest(t *testing.T) {
	namespace := server.Namespace(t, nil)
	policy := Policy{CALifetime: 9 * time.Second, LeafLifetime: 5 * time.Second, Overlap: 2 * time.Second, Backdate: time.Second}
	replicas := []*replica{startReplica(t, namespace, policy), startReplica(t, namespace, policy)}
	installConfigurations(t, namespace, replicas[0].address)
	for _, r := range replicas {
		eventually(t, "ready", func(context.Context) error { return r.isReady() })
	}
	eventually(t, "a request passes", admit(namespace))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var (
		mu       sync.Mutex
		cas      = sets.New[string]()
		leaves   = sets.New[string]()
		overlaps int
		requests int
		failures []error
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, err)
	}
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(failures) > 0 || (len(cas) >= 3 && len(leaves) >= 5)
	}
	var running sync.WaitGroup
	running.Go(func() { // through the API server
		for ctx.Err() == nil && !enough() {
			if err := admit(namespace)(ctx); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("a request through the API server: %w", err))
			}
			mu.Lock()
			requests++
			mu.Unlock()
		}
	})
	for _, r := range replicas {
		running.Go(func() { slowClient(ctx, r.address, policy.Overlap/2, enough, fail) })
	}
	for ctx.Err() == nil && !enough() {
		secret, err := readSecret(ctx, namespace)
		if err != nil {
			fail(fmt.Errorf("read the Secret: %w", err))
			break
		}
		m := parse(secret.Data)
		mu.Lock()
		cas.Insert(m.cas[0].SerialNumber.String())
		leaves.Insert(m.leaf.Leaf.SerialNumber.String())
		if !m.leafSignedByNewest() {
			overlaps++
		}
		mu.Unlock()
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Errorf("after %d requests, %d CAs and %d certificates: %v", requests, len(cas), len(leaves), err)
	}
	if len(cas) < 3 || overlaps == 0 || requests < 100 {
		t.Errorf("the test saw too little: %d CAs, %d looks within an overlap, %d requests", len(cas), overlaps, requests)
	}
	t.Logf("%d requests over %d CAs and %d certificates", requests, len(cas), len(leaves))
}

// slowClient makes new connections by a trust that it renews only every lag.
func slowClient(ctx context.Context, address string, lag time.Duration, enough func() bool, fail func(error)) {
	for ctx.Err() == nil && !enough() {
		validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := server.Client.Get(ctx, client.ObjectKey{Name: ValidatingConfiguration}, validating); err != nil {
			if ctx.Err() == nil {
				fail(fmt.Errorf("read the trust: %w", err))
			}
			return
		}
		roots, err := certutil.NewPoolFromBytes(validating.Webhooks[1].ClientConfig.CABundle)
		if err != nil {
			fail(fmt.Errorf("read the trust: %w", err))
			return
		}
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}}
		for learned := time.Now(); time.Since(learned) < lag && ctx.Err() == nil; {
			conn, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				if ctx.Err() == nil {
					fail(fmt.Errorf("a new connection %s after the trust was learned: %w", time.Since(learned), err))
				}
				return
			}
			if err := conn.Close(); err != nil {
				fail(fmt.Errorf("close a connection: %w", err))
				return
			}
		}
	}
}
