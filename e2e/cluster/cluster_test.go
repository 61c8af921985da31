package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFreePortsAreDifferentAndFree(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if got := len(slices.Compact(ports)); got != 20 {
		t.Errorf("%d different ports, want 20", got)
	}
	for _, port := range ports {
		if err := checkFree("--port", port); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // Nothing was written.
	taken := l.Addr().(*net.TCPAddr).Port
	for port, want := range map[int]string{
		taken: fmt.Sprintf("--port: port %d on 127.0.0.1 is taken", taken),
		0:     "--port: 0 is no port; give one from 1 to 65535",
		70000: "--port: 70000 is no port; give one from 1 to 65535",
	} {
		if err := checkFree("--port", port); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("port %d: error %v, want it to begin with %q", port, err, want)
		}
	}
}

func TestUseURL(t *testing.T) {
	hook := func(name string, clientConfig map[string]any) any {
		return map[string]any{"name": name, "clientConfig": clientConfig, "failurePolicy": "Fail"}
	}
	config := func(kind string, hooks ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
			"metadata": map[string]any{"name": "gangway"}, "webhooks": hooks,
		}}
	}
	service := func(path any) map[string]any {
		s := map[string]any{"name": "gangway-webhook", "namespace": "gangway-system"}
		if path != nil {
			s["path"] = path
		}
		return map[string]any{"service": s, "caBundle": "Q0E="}
	}
	url := func(u string) map[string]any { return map[string]any{"url": u, "caBundle": "Q0E="} }
	tests := map[string]struct{ in, want *unstructured.Unstructured }{
		"every webhook of a validating configuration": {
			config(validatingKind, hook("a", service("/validate-a")), hook("b", service("/validate-b"))),
			config(validatingKind, hook("a", url("https://127.0.0.1:9443/validate-a")), hook("b", url("https://127.0.0.1:9443/validate-b"))),
		},
		"a mutating configuration without a path": {
			config(mutatingKind, hook("a", service(nil))),
			config(mutatingKind, hook("a", url("https://127.0.0.1:9443/"))),
		},
		"a webhook that is called by URL already": {
			config(mutatingKind, hook("a", url("https://example.com/x"))),
			config(mutatingKind, hook("a", url("https://example.com/x"))),
		},
		"another kind with the same field": {
			config("Something", hook("a", service("/x"))),
			config("Something", hook("a", service("/x"))),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := useURL(tt.in, 9443); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tt.in); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestStateSurvivesARoundTrip(t *testing.T) {
	dir := t.TempDir()
	if s, err := loadState(dir); s != nil || err != nil {
		t.Fatalf("an empty directory gives %v, %v", s, err)
	}
	want := &state{Ready: true, Ports: map[string]int{"etcd": 1}, Manager: &managerState{Path: "gangway", Args: []string{"--a"}}}
	want.put(process{Name: "etcd", identity: identity{PID: 7, Start: 8, Boot: "b"}, Log: "old"})
	want.put(process{Name: "etcd", identity: identity{PID: 9, Start: 10, Boot: "b"}, Log: "new"})
	if err := want.save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := loadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(process{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(got.Processes) != 1 {
		t.Errorf("%d processes, want the one that replaced the other", len(got.Processes))
	}
}

func TestADamagedStateNamesTheWayOut(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadState(dir); err == nil || !strings.Contains(err.Error(), "remove the folder "+dir) {
		t.Errorf("error %v, want the way out in it", err)
	}
}

func TestTheSecondLockOfADirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil {
		t.Error("the directory was locked twice")
	}
	unlock()
	again, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestUpNamesWhatIsMissing(t *testing.T) {
	bin, manifests := t.TempDir(), t.TempDir()
	o := Options{StateDir: t.TempDir(), BinDir: bin, ManifestDir: manifests}
	_, _, err := Up(t.Context(), o)
	want := bin + " is missing etcd, kube-apiserver, kube-controller-manager, kube-scheduler, vc-controller-manager, vc-scheduler, kwok: build with `make tools`"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho cannot open the moon\nexit 3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = Up(t.Context(), o)
	want = manifests + " is missing the CRDs of volcano: copy them with `make tools`"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

func TestUpReportsAProgramThatDies(t *testing.T) {
	bin, manifests, dir := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho cannot open the moon\nexit 3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range manifestNames {
		if err := os.Mkdir(filepath.Join(manifests, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := Up(t.Context(), Options{StateDir: dir, BinDir: bin, ManifestDir: manifests})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"etcd ended", "(exit status 3)", filepath.Join(dir, "logs", "etcd.log"), "cannot open the moon"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if _, err := Attach(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the failure Attach gives %v, want ErrNotRunning", err)
	}
	if left := marked(dir); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestLogTailKnowsTheWayOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	for content, want := range map[string]string{
		"": "its log " + path + " is empty",
		"1\n2\nlisten tcp 127.0.0.1:1: bind: address already in use\n":      "try again, other ports are chosen",
		"write wal: no space left on device":                                "free some space and try again",
		strings.Repeat("noise\n", 100000) + "accept: too many open files\n": "raise it (ulimit -n 65536",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := logTail(path); !strings.Contains(got, want) {
			t.Errorf("tail %q lacks %q", got, want)
		}
	}
}

func TestNodeOptions(t *testing.T) {
	o := NodeOptions{}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(NodeOptions{Count: 4, Resources: DefaultResources()}, o); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := o.list(); err != nil {
		t.Error(err)
	}
	for _, count := range []int{-1, maxNodes + 1} {
		bad := NodeOptions{Count: count}
		if err := bad.complete(); err == nil {
			t.Errorf("%d nodes are accepted", count)
		}
	}
	bad := NodeOptions{Resources: map[corev1.ResourceName]string{"cpu": "many"}}
	if _, err := bad.list(); err == nil || !strings.Contains(err.Error(), `resource cpu of the nodes: "many" is no quantity`) {
		t.Errorf("error %v, want the resource and its value in it", err)
	}
}
