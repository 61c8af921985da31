package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// TestRenewedFilesDropNoRequest sends requests, on new connections and on one that stays open, while
// cert-manager's CA signs certificate after certificate.
func TestRenewedFilesDropNoRequest(t *testing.T) {
	const host, renewals = "gangway-webhook.gangway-system.svc", 5
	in := Input{Hosts: []string{host}, Policy: DefaultPolicy()}
	var err error
	if in.Data, err = carryOut(Remake, in, time.Now()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mount(t, dir, "..v0", in.Data)

	c := New(Options{Mode: CertManager, Namespace: "gangway-system", ServiceName: "gangway-webhook", Dir: dir})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{}
	c.TLS(server.TLS)
	listener := tls.NewListener(server.Listener, server.TLS)
	go func() { _ = server.Config.Serve(listener) }() // ends with Close
	defer server.Config.Close()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- (&files{dir: dir, serving: c.serving}).Start(ctx) }()
	ready := c.ReadyCheck(server.Listener.Addr().String())
	eventually(t, "ready", func(context.Context) error { return ready(httpRequest()) })

	trust := &tls.Config{RootCAs: pool(parse(in.Data).cas), ServerName: host, MinVersion: tls.VersionTLS12}
	url := "https://" + server.Listener.Addr().String()
	var clients sync.WaitGroup
	for _, onNewConnections := range []bool{true, false} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust.Clone(), DisableKeepAlives: onNewConnections}}
		clients.Go(func() {
			requests := 0
			for ; ctx.Err() == nil; requests++ {
				if err := get(client, url); err != nil {
					t.Errorf("request %d (on new connections: %t): %v", requests, onNewConnections, err)
					return
				}
			}
			t.Logf("%d requests (on new connections: %t)", requests, onNewConnections)
		})
	}
	for i := range renewals {
		if in.Data, err = carryOut(IssueLeaf, in, time.Now()); err != nil {
			t.Fatal(err)
		}
		mount(t, dir, fmt.Sprintf("..v%d", i+1), in.Data)
		want := parse(in.Data).leaf.Leaf
		eventually(t, "new connections see the renewed certificate", func(ctx context.Context) error {
			conn, err := (&tls.Dialer{Config: trust}).DialContext(ctx, "tcp", server.Listener.Addr().String())
			if err != nil {
				return err
			}
			defer conn.Close()
			if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; !got.Equal(want) {
				return fmt.Errorf("serial %x is served, want %x", got.SerialNumber, want.SerialNumber)
			}
			return nil
		})
	}
	cancel()
	clients.Wait()
	if err := <-ended; err != nil {
		t.Errorf("the reloader ended with: %v", err)
	}
}

func get(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
