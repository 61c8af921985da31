package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// mount writes the data as a kubelet does: a new folder, a link that is moved to it at once, and then the
// folder of before is removed.
func mount(t *testing.T, dir, version string, data map[string][]byte) {
	t.Helper()
	folder := filepath.Join(dir, version)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(version, filepath.Join(dir, "next")); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Readlink(filepath.Join(dir, "..data")) // there is none at first
	if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if err := os.RemoveAll(filepath.Join(dir, before)); err != nil {
			t.Fatal(err)
		}
	}
	for name := range data {
		err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
}

func TestFilesAreServedAndReloaded(t *testing.T) {
	for name, withCA := range map[string]bool{"with ca.crt": true, "without ca.crt": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := New(Options{Mode: CertManager, Namespace: "gangway-system", ServiceName: "gangway-webhook", Dir: dir})
			config := &tls.Config{}
			c.TLS(config)
			if config.MinVersion != tls.VersionTLS12 {
				t.Errorf("MinVersion = %x, want TLS 1.2", config.MinVersion)
			}
			listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go serveHandshakes(listener)
			ready := c.ReadyCheck(listener.Addr().String())

			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- (&files{dir: dir, serving: c.serving}).Start(ctx) }()
			defer func() {
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("the reloader ended with: %v", err)
				}
			}()
			if err := ready(httpRequest()); !errors.Is(err, errNoCertificate) {
				t.Errorf("ready without files: %v, want %v", err, errNoCertificate)
			}

			// The real clock: crypto/tls checks by it.
			in := Input{Hosts: []string{"gangway-webhook.gangway-system.svc"}, Policy: DefaultPolicy()}
			data, err := carryOut(Remake, in, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			delete(data, caKeyKey)
			if !withCA {
				delete(data, caCertKey)
			}
			mount(t, dir, "..v1", data)
			eventually(t, "ready with files", func(context.Context) error { return ready(httpRequest()) })

			renewed, err := carryOut(Remake, in, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			delete(renewed, caKeyKey)
			if !withCA {
				delete(renewed, caCertKey)
			}
			mount(t, dir, "..v2", renewed)
			want := parse(renewed).leaf.Leaf
			eventually(t, "the renewed files are served", func(context.Context) error {
				current, err := c.serving.getCertificate(nil)
				if err != nil {
					return err
				}
				if !current.Leaf.Equal(want) {
					return fmt.Errorf("serial %x is served, want %x", current.Leaf.SerialNumber, want.SerialNumber)
				}
				return ready(httpRequest())
			})
		})
	}
}

func TestReadyCheckFindsAnotherServerOnThePort(t *testing.T) {
	in := Input{Hosts: []string{"gangway-webhook.gangway-system.svc"}, Policy: DefaultPolicy()}
	data, err := carryOut(Remake, in, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := carryOut(Remake, in, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*parse(other).leaf}})
	if err != nil {
		t.Fatal(err)
	}
	go serveHandshakes(listener)
	c := New(Options{Namespace: "gangway-system", ServiceName: "gangway-webhook"})
	c.serving.present(parse(data).leaf, pool(parse(data).cas))
	if err := c.ReadyCheck(listener.Addr().String())(httpRequest()); !errors.Is(err, errNotTrusted) {
		t.Errorf("before the trust is out: %v, want %v", err, errNotTrusted)
	}
	c.serving.markTrusted()
	if err := c.ReadyCheck(listener.Addr().String())(httpRequest()); err == nil {
		t.Error("ready, though another server answers")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadyCheck(listener.Addr().String())(httpRequest()); err == nil {
		t.Error("ready, though nothing listens")
	}
}

func serveHandshakes(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // closed by the test
		}
		go func() {
			defer conn.Close()
			_ = conn.(*tls.Conn).Handshake() // the client sees what is wrong
		}()
	}
}
