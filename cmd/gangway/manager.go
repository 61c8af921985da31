package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/certs"
	"github.com/gangway-serving/gangway/controllers"
	"github.com/gangway-serving/gangway/controllers/metrics"
	"github.com/gangway-serving/gangway/webhooks"
)

// leaseName is the Lease that the leader holds, and the owner of the fields that Gangway writes.
const (
	leaseName  = "gangway"
	fieldOwner = "gangway"
)

// newScheme knows every type that Gangway reads or writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		workloadv1alpha1.AddToScheme,
		aiinfrav1alpha1.AddToScheme,
		schedulingv1beta1.AddToScheme,
		gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	return scheme, nil
}

// runManager runs until ctx ends. A nil error promises that all work under way has ended and the Lease,
// if it was held, was given back.
func runManager(ctx context.Context, o options) error {
	logger, err := setUpLogging(o, os.Stderr)
	if err != nil {
		return err
	}
	cfg, err := restConfig(o)
	if err != nil {
		return err
	}
	if err := checkPorts(ctx, o); err != nil {
		return err
	}
	if err := checkAPIs(ctx, cfg); err != nil {
		return err
	}
	mgr, err := newManager(cfg, o)
	if err != nil {
		return err
	}
	logger.Info("Starting Gangway", "version", buildVersion().String(), "apiServer", cfg.Host, "namespace", o.namespace, "certMode", o.certMode)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	logger.Info("Gangway has stopped")
	return nil
}

// newManager wires certificates, admission and control into one manager. The options must be valid.
func newManager(cfg *rest.Config, o options) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	certificates := certs.New(certs.Options{
		Mode: certs.Mode(o.certMode), Namespace: o.namespace, ServiceName: o.webhookServiceName,
		ExtraHosts: o.webhookHosts, Dir: o.certDir, OnPresent: metrics.Presented,
	})
	server, err := webhookServer(o, certificates)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(o),
		Client:                        client.Options{FieldOwner: fieldOwner},
		WebhookServer:                 server,
		Metrics:                       metricsserver.Options{BindAddress: o.metricsBindAddress},
		HealthProbeBindAddress:        o.healthProbeBindAddress,
		PprofBindAddress:              o.pprofBindAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       leaderElectionNamespace(o),
		LeaderElectionReleaseOnCancel: true, // main ends the process when Start returns
		LeaseDuration:                 ptr.To(o.leaseDuration),
		RenewDeadline:                 ptr.To(o.renewDeadline),
		RetryPeriod:                   ptr.To(o.retryPeriod),
		GracefulShutdownTimeout:       ptr.To(o.shutdownTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := certificates.SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("set up certificates: %w", err)
	}
	if err := webhooks.SetupWithManager(mgr, webhooks.Options{RequireGateway: o.requireGateway}); err != nil {
		return nil, fmt.Errorf("set up admission: %w", err)
	}
	if err := controllers.SetupWithManager(mgr, controllers.Options{
		MaxConcurrentReconciles: o.maxConcurrentReconciles, Namespaces: o.watchNamespaces,
	}); err != nil {
		return nil, fmt.Errorf("set up control: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", certificates.ReadyCheck(o.webhookBindAddress)); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}

func webhookServer(o options, certificates *certs.Certificates) (webhook.Server, error) {
	host, port, err := splitAddress(o.webhookBindAddress)
	if err != nil {
		return nil, invalid("webhook-bind-address", o.webhookBindAddress, err.Error())
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, invalid("webhook-bind-address", o.webhookBindAddress, err.Error())
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: number, TLSOpts: []func(*tls.Config){certificates.TLS}}), nil
}

// cacheOptions narrow the informers to what control reads, in the namespaces that are served.
func cacheOptions(o options) cache.Options {
	opts := controllers.CacheOptions()
	if len(o.watchNamespaces) > 0 {
		opts.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range o.watchNamespaces {
			opts.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return opts
}

func leaderElectionNamespace(o options) string {
	if o.leaderElectionNamespace != "" {
		return o.leaderElectionNamespace
	}
	return o.namespace
}
