package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

func TestHelp(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		got := runWith(t, nil, flag)
		if got.Code != exitOK || got.Stderr != "" {
			t.Errorf("%s: code %d, stderr %q; want 0 and none", flag, got.Code, got.Stderr)
		}
		gangwaytesting.Golden(t, "testdata/help.golden", []byte(got.Stdout))
	}
}

func TestWrongFlagsAreRefusedBeforeAnythingStarts(t *testing.T) {
	const hint = "gangway --help explains every flag.\n"
	tests := map[string]struct {
		args []string
		want string
	}{
		"an unknown flag": {
			[]string{"--leader-election"},
			"error: unknown flag: --leader-election\n",
		},
		"an argument that is no flag": {
			[]string{"start"},
			"error: unknown argument \"start\": gangway takes flags only; see gangway --help\n",
		},
		"a value of another type": {
			[]string{"--leader-elect=maybe"},
			"error: invalid argument \"maybe\" for \"--leader-elect\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax\n",
		},
		"an unknown certificate mode": {
			[]string{"--cert-mode=vault"},
			"error: --cert-mode: Unsupported value: \"vault\": supported values: \"self-managed\", \"cert-manager\"\n",
		},
		"cert-manager without a folder": {
			[]string{"--cert-mode=cert-manager", "--cert-dir="},
			"error: --cert-dir: Required value: is where --cert-mode=cert-manager finds tls.crt and tls.key\n",
		},
		"a host for a certificate that cert-manager makes": {
			[]string{"--cert-mode=cert-manager", "--webhook-host=127.0.0.1,example.com"},
			"error: --webhook-host: Invalid value: \"127.0.0.1,example.com\": is for --cert-mode=self-managed; " +
				"with cert-manager, name the host in the Certificate's dnsNames or ipAddresses\n",
		},
		"a host with a port": {
			[]string{"--webhook-host=127.0.0.1:9443"},
			"error: --webhook-host: Invalid value: \"127.0.0.1:9443\": must be a DNS name or an IP address, without scheme and port; " +
				"for example 127.0.0.1 or gangway.example.com\n",
		},
		"a bind address without a port": {
			[]string{"--webhook-bind-address=127.0.0.1"},
			"error: --webhook-bind-address: Invalid value: \"127.0.0.1\": must be host:port or :port; for example :9443 or 127.0.0.1:9443\n",
		},
		"a webhook server that is turned off": {
			[]string{"--webhook-bind-address=0"},
			"error: --webhook-bind-address: Invalid value: \"0\": must be host:port or :port; for example :9443 or 127.0.0.1:9443\n",
		},
		"a port out of range": {
			[]string{"--metrics-bind-address=:70000"},
			"error: --metrics-bind-address: Invalid value: \":70000\": must be host:port or :port; for example :9443 or 127.0.0.1:9443; " +
				"a port is a number from 1 to 65535\n",
		},
		"a host that is no name": {
			[]string{"--pprof-bind-address=local host:6060"},
			"error: --pprof-bind-address: Invalid value: \"local host:6060\": must be host:port or :port; for example :9443 or 127.0.0.1:9443; " +
				"\"local host\" is neither an IP address nor a host name\n",
		},
		"one port for two servers": {
			[]string{"--metrics-bind-address=127.0.0.1:8081"},
			"error: --health-probe-bind-address: Invalid value: \":8081\": has the port of --metrics-bind-address; give each its own\n",
		},
		"durations of the Lease in the wrong order": {
			[]string{"--leader-election-lease-duration=5s", "--leader-election-renew-deadline=10s", "--leader-election-retry-period=9s"},
			"error: --leader-election-renew-deadline: Invalid value: \"10s\": must be more than 10.8s, 1.2 times --leader-election-retry-period\n" +
				"error: --leader-election-lease-duration: Invalid value: \"5s\": must be more than --leader-election-renew-deadline, which is 10s\n",
		},
		"a Lease that counts less than a second": {
			[]string{"--leader-election-lease-duration=500ms", "--leader-election-renew-deadline=400ms", "--leader-election-retry-period=100ms"},
			"error: --leader-election-lease-duration: Invalid value: \"500ms\": must be 1s or more\n",
		},
		"names that are none": {
			[]string{"--namespace=Gangway", "--watch-namespaces=team-a,team_b", "--webhook-service-name=1st"},
			"error: --namespace: Invalid value: \"Gangway\": is not the name of a namespace: a lowercase RFC 1123 label must consist of lower case " +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', " +
				"regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n" +
				"error: --watch-namespaces: Invalid value: \"team_b\": is not the name of a namespace: a lowercase RFC 1123 label must consist of lower case " +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', " +
				"regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n" +
				"error: --webhook-service-name: Invalid value: \"1st\": is not the name of a Service: a DNS-1035 label must consist of lower case " +
				"alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name', or 'abc-123', " +
				"regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\n",
		},
		"numbers out of range": {
			[]string{"--max-concurrent-reconciles=0", "--kube-api-qps=20", "--kube-api-burst=0", "--shutdown-timeout=-1s", "--log-level=11", "--log-format=xml"},
			"error: --kube-api-burst: Invalid value: 0: must be 1 or more when --kube-api-qps limits requests\n" +
				"error: --max-concurrent-reconciles: Invalid value: 0: must be 1 or more\n" +
				"error: --shutdown-timeout: Invalid value: \"-1s\": must not be negative; 0 waits for nothing\n" +
				"error: --log-level: Invalid value: \"11\": must be error, warn, info, debug, or a number from 0 to 10\n" +
				"error: --log-format: Invalid value: \"xml\": must be one of json, console\n",
		},
		"no requests at all": {
			[]string{"--kube-api-qps=0"},
			"error: --kube-api-qps: Invalid value: 0: must be positive, or -1 for no limit\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			started := func(context.Context, options) error {
				t.Error("the manager was started")
				return nil
			}
			want := outcome{Code: exitUsage, Stderr: tc.want + hint}
			if diff := cmp.Diff(want, runWith(t, started, tc.args...)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlagsReachTheManager(t *testing.T) {
	var got options
	args := []string{
		"--kubeconfig=/k", "--namespace=n", "--watch-namespaces=a,b", "--kube-api-qps=50", "--kube-api-burst=60",
		"--webhook-bind-address=127.0.0.1:1", "--webhook-service-name=s", "--webhook-host=::1", "--webhook-host=example.com",
		"--cert-mode=self-managed", "--cert-dir=/d", "--require-gateway", "--max-concurrent-reconciles=7", "--leader-elect=false",
		"--leader-election-namespace=l", "--leader-election-lease-duration=9s", "--leader-election-renew-deadline=8s",
		"--leader-election-retry-period=1s", "--shutdown-timeout=5s", "--metrics-bind-address=0", "--health-probe-bind-address=:2",
		"--pprof-bind-address=[::1]:3", "--log-level=4", "--log-format=console",
	}
	result := runWith(t, func(_ context.Context, o options) error { got = o; return nil }, args...)
	if diff := cmp.Diff(outcome{}, result); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	want := options{
		kubeconfig: "/k", namespace: "n", watchNamespaces: []string{"a", "b"}, kubeAPIQPS: 50, kubeAPIBurst: 60,
		webhookBindAddress: "127.0.0.1:1", webhookServiceName: "s", webhookHosts: []string{"::1", "example.com"},
		certMode: "self-managed", certDir: "/d", requireGateway: true, maxConcurrentReconciles: 7, leaderElect: false,
		leaderElectionNamespace: "l", leaseDuration: 9 * time.Second, renewDeadline: 8 * time.Second, retryPeriod: time.Second,
		shutdownTimeout: 5 * time.Second, metricsBindAddress: "0", healthProbeBindAddress: ":2", pprofBindAddress: "[::1]:3",
		logLevel: "4", logFormat: "console",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestErrorsOfTheManagerAreOneLineEach(t *testing.T) {
	failing := func(context.Context, options) error { return errors.New("the cluster\n\tis on fire") }
	want := outcome{Code: exitFailed, Stderr: "error: the cluster is on fire\n"}
	if diff := cmp.Diff(want, runWith(t, failing)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestRunningNamespace(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"pod": "team-a\n", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{}
	for _, name := range []string{"pod", "empty", "missing"} {
		got = append(got, runningNamespace(filepath.Join(dir, name)))
	}
	if diff := cmp.Diff("team-a gangway-system gangway-system", strings.Join(got, " ")); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}
