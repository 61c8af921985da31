package cluster

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

//go:embed config/volcano-scheduler.yaml
var schedulerConf []byte

//go:embed config/kwok-deletes.yaml
var kwokDeletes []byte

const (
	serviceCIDR    = "10.96.0.0/16"
	firstServiceIP = "10.96.0.1"
)

// PodCIDR is where the addresses of the simulated Pods come from. Nothing
// answers there unless somebody makes it.
const PodCIDR = "10.244.0.0/16"

// The programs of a cluster, in the order in which they start.
const (
	etcdName        = "etcd"
	apiServerName   = "kube-apiserver"
	kcmName         = "kube-controller-manager"
	ksName          = "kube-scheduler"
	volcanoCMName   = "vc-controller-manager"
	vcSchedulerName = "vc-scheduler"
	kwokName        = "kwok"
	managerName     = "gangway"
	etcdPeerPort    = "etcd-peer"
	webhookPort     = "gangway-webhook"
	metricsPort     = "gangway-metrics"
	healthPort      = "gangway-health"
)

var programs = []string{etcdName, apiServerName, kcmName, ksName, volcanoCMName, vcSchedulerName, kwokName}

// portNames lists what gets a port of its own.
var portNames = []string{
	etcdName, etcdPeerPort, apiServerName, kcmName, ksName, volcanoCMName, vcSchedulerName, kwokName,
	webhookPort, metricsPort, healthPort,
}

// command gives the arguments of a program and the port at which it serves.
func command(name, dir string, ports map[string]int, stageFiles []string) (args []string, port int) {
	in := func(file string) string { return filepath.Join(dir, file) }
	port = ports[name]
	switch name {
	case etcdName:
		client, peer := "http://"+address(port), "http://"+address(ports[etcdPeerPort])
		return []string{
			"--name=local",
			"--data-dir=" + in("etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=local=" + peer,
			// The data is thrown away with the cluster.
			"--unsafe-no-fsync",
			"--quota-backend-bytes=4294967296",
			"--auto-compaction-mode=periodic",
			"--auto-compaction-retention=5m",
			"--logger=zap",
			"--log-level=warn",
		}, port
	case apiServerName:
		return []string{
			"--etcd-servers=http://" + address(ports[etcdName]),
			"--bind-address=" + loopback,
			"--advertise-address=" + loopback,
			"--endpoint-reconciler-type=none",
			"--secure-port=" + strconv.Itoa(port),
			"--tls-cert-file=" + in(serverCertFile),
			"--tls-private-key-file=" + in(serverKeyFile),
			"--client-ca-file=" + in(caFile),
			"--authorization-mode=Node,RBAC",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + in(accountKeyFile),
			"--service-account-signing-key-file=" + in(accountKeyFile),
			"--service-cluster-ip-range=" + serviceCIDR,
			"--profiling=false",
		}, port
	case kcmName:
		return []string{
			"--kubeconfig=" + in(kcmKubeconfigFile),
			"--bind-address=" + loopback,
			"--secure-port=" + strconv.Itoa(port),
			"--cert-dir=" + in("pki"),
			"--root-ca-file=" + in(caFile),
			"--service-account-private-key-file=" + in(accountKeyFile),
			"--use-service-account-credentials=true",
			"--leader-elect=false",
			"--node-monitor-period=2s",
			"--kube-api-qps=200", "--kube-api-burst=400",
			"--profiling=false",
		}, port
	case ksName:
		return []string{
			"--kubeconfig=" + in(ksKubeconfigFile),
			"--bind-address=" + loopback,
			"--secure-port=" + strconv.Itoa(port),
			"--cert-dir=" + in("pki"),
			"--leader-elect=false",
			"--profiling=false",
		}, port
	case volcanoCMName:
		return []string{
			"--kubeconfig=" + in(kubeconfigFile),
			"--leader-elect=false",
			"--enable-healthz=true",
			"--healthz-address=" + address(port),
			"--kube-api-qps=200", "--kube-api-burst=400",
			"--logtostderr=true",
		}, port
	case vcSchedulerName:
		return []string{
			"--kubeconfig=" + in(kubeconfigFile),
			"--leader-elect=false",
			"--scheduler-conf=" + in("volcano-scheduler.yaml"),
			"--disable-default-scheduler-config=true",
			"--schedule-period=200ms",
			"--enable-healthz=true",
			"--healthz-address=" + address(port),
			"--plugins-dir=",
			"--cache-dumper=false",
			"--kube-api-qps=500", "--kube-api-burst=1000",
			"--logtostderr=true",
		}, port
	case kwokName:
		args := []string{
			"--kubeconfig=" + in(kwokKubeconfigFile),
			"--manage-all-nodes=true",
			"--node-lease-duration-seconds=40",
			"--cidr=" + PodCIDR,
			"--node-ip=" + loopback,
			"--server-address=" + address(port),
		}
		for _, file := range stageFiles {
			args = append(args, "--config="+file)
		}
		return args, port
	}
	return nil, 0
}

// missingPrograms names the programs that are not in bin.
func missingPrograms(bin string) []string {
	var missing []string
	for _, name := range programs {
		if fi, err := os.Stat(filepath.Join(bin, name)); err != nil || fi.Mode()&0o111 == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

func writeSchedulerConf(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "volcano-scheduler.yaml"), schedulerConf, 0o600); err != nil {
		return fmt.Errorf("write the configuration of the scheduler: %w", err)
	}
	return nil
}
