package main

import (
	"os"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/gangway-serving/gangway/certs"
)

const (
	// defaultNamespace is where the manifests install Gangway.
	defaultNamespace = "gangway-system"
	// namespaceFile is where a Pod finds the namespace of its ServiceAccount.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// options are the flags, one field each.
type options struct {
	kubeconfig      string
	namespace       string
	watchNamespaces []string
	kubeAPIQPS      float32
	kubeAPIBurst    int

	webhookBindAddress string
	webhookServiceName string
	webhookHosts       []string
	requireGateway     bool
	certMode           string
	certDir            string

	maxConcurrentReconciles int
	leaderElect             bool
	leaderElectionNamespace string
	leaseDuration           time.Duration
	renewDeadline           time.Duration
	retryPeriod             time.Duration
	shutdownTimeout         time.Duration

	metricsBindAddress     string
	healthProbeBindAddress string
	pprofBindAddress       string
	logLevel               string
	logFormat              string
}

func defaultOptions() options {
	return options{
		kubeAPIQPS:              -1,
		kubeAPIBurst:            100,
		webhookBindAddress:      ":9443",
		webhookServiceName:      "gangway-webhook",
		certMode:                string(certs.SelfManaged),
		certDir:                 "/etc/gangway/tls",
		maxConcurrentReconciles: 4,
		leaderElect:             true,
		leaseDuration:           15 * time.Second,
		renewDeadline:           10 * time.Second,
		retryPeriod:             2 * time.Second,
		shutdownTimeout:         30 * time.Second,
		metricsBindAddress:      ":8080",
		healthProbeBindAddress:  ":8081",
		pprofBindAddress:        disabled,
		logLevel:                "info",
		logFormat:               "json",
	}
}

// runningNamespace reads the namespace that the Pod runs in. Outside a Pod it is the default.
func runningNamespace(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return defaultNamespace
	}
	if namespace := strings.TrimSpace(string(b)); namespace != "" {
		return namespace
	}
	return defaultNamespace
}

// complete fills in what the surroundings say.
func (o *options) complete() {
	if o.namespace == "" {
		o.namespace = runningNamespace(namespaceFile)
	}
}

// flags are the options as flags, in the groups and the order of the help.
func (o *options) flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets

	fs := sets.FlagSet("cluster")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Kubeconfig `file` that says how to reach the API server. Default: $KUBECONFIG, then the Pod's ServiceAccount, then ~/.kube/config.")
	fs.StringVar(&o.namespace, "namespace", o.namespace,
		"The `name` of the namespace that Gangway runs in, with its Lease, its Secret and its webhook Service. Default: the Pod's own, else "+defaultNamespace+".")
	fs.StringSliceVar(&o.watchNamespaces, "watch-namespaces", o.watchNamespaces,
		"The `names` of the namespaces that Gangway serves; give those of their Gateways too. Default: all.")
	fs.Float32Var(&o.kubeAPIQPS, "kube-api-qps", o.kubeAPIQPS,
		"Requests per second to the API server, on average. -1: no limit here; the API server's priority and fairness decides.")
	fs.IntVar(&o.kubeAPIBurst, "kube-api-burst", o.kubeAPIBurst,
		"Requests that may go out at once when --kube-api-qps limits them.")

	fs = sets.FlagSet("webhook")
	fs.StringVar(&o.webhookBindAddress, "webhook-bind-address", o.webhookBindAddress,
		"Where to listen, as `host:port`, for admission requests. They come over TLS 1.2 or better.")
	fs.StringVar(&o.webhookServiceName, "webhook-service-name", o.webhookServiceName,
		"The `name` of the Service in --namespace by which the API server calls the webhooks.")
	fs.StringSliceVar(&o.webhookHosts, "webhook-host", o.webhookHosts,
		"Further DNS names or IP `addresses` that a self-managed certificate covers, for an API server that calls the webhooks by URL.")
	fs.StringVar(&o.certMode, "cert-mode", o.certMode,
		"Who makes the serving certificate, as `mode`. self-managed: Gangway is its own CA, and keeps caBundle of the webhook configurations. "+
			"cert-manager: cert-manager does both; the files are in --cert-dir.")
	fs.StringVar(&o.certDir, "cert-dir", o.certDir,
		"The `folder` with tls.crt, tls.key and ca.crt, for --cert-mode=cert-manager. Renewed files are picked up within seconds.")
	fs.BoolVar(&o.requireGateway, "require-gateway", o.requireGateway,
		"Refuse a gatewayRef whose Gateway or listener does not exist yet. Otherwise it is a warning, since it may be applied a moment later.")

	fs = sets.FlagSet("control")
	fs.IntVar(&o.maxConcurrentReconciles, "max-concurrent-reconciles", o.maxConcurrentReconciles,
		"How many objects of a kind are reconciled at once.")
	fs.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect,
		"Control only while holding the Lease. Turn it off only where there is never a second replica.")
	fs.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", o.leaderElectionNamespace,
		"The `name` of the namespace of the Lease. Default: --namespace.")
	fs.DurationVar(&o.leaseDuration, "leader-election-lease-duration", o.leaseDuration,
		"How long other replicas wait before they take the Lease of a leader that is silent.")
	fs.DurationVar(&o.renewDeadline, "leader-election-renew-deadline", o.renewDeadline,
		"How long the leader tries to renew the Lease before it gives up and ends. Less than the lease duration.")
	fs.DurationVar(&o.retryPeriod, "leader-election-retry-period", o.retryPeriod,
		"How long to wait between tries to take or renew the Lease. Less than the renew deadline.")
	fs.DurationVar(&o.shutdownTimeout, "shutdown-timeout", o.shutdownTimeout,
		"How long work under way may take to end after SIGTERM or SIGINT. A second signal ends the process at once.")

	fs = sets.FlagSet("observability")
	fs.StringVar(&o.metricsBindAddress, "metrics-bind-address", o.metricsBindAddress,
		"Where to serve Prometheus metrics, as `host:port`, at /metrics. 0: nowhere.")
	fs.StringVar(&o.healthProbeBindAddress, "health-probe-bind-address", o.healthProbeBindAddress,
		"Where to serve probes, as `host:port`: /healthz (the process runs) and /readyz (the certificate is there and the webhook server answers with it). 0: nowhere.")
	fs.StringVar(&o.pprofBindAddress, "pprof-bind-address", o.pprofBindAddress,
		"Where to serve Go profiles, as `host:port`, at /debug/pprof. They show much: keep to 127.0.0.1. 0: nowhere.")
	fs.StringVar(&o.logLevel, "log-level", o.logLevel,
		"What is logged: error, warn, info, debug, or a `level` from 0 (as info) to 10 (everything).")
	fs.StringVar(&o.logFormat, "log-format", o.logFormat,
		"How it is logged, as `format`. json: one object per line, for machines. console: for people.")

	return sets
}
