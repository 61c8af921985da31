package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// ownResources are the APIs that Gangway cannot do without.
var ownResources = []schema.GroupVersionResource{
	workloadv1alpha1.GroupVersion.WithResource("modelservings"),
	aiinfrav1alpha1.GroupVersion.WithResource("vllmservices"),
}

// restConfig finds the API server. A nil error promises that the configuration is complete, not that the
// API server answers.
func restConfig(o options) (*rest.Config, error) {
	var cfg *rest.Config
	var err error
	if o.kubeconfig != "" {
		if _, err := os.Stat(o.kubeconfig); err != nil {
			return nil, usageError{invalid("kubeconfig", o.kubeconfig, "cannot be read ("+cause(err)+"); name a kubeconfig file")}
		}
		cfg, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, usageError{invalid("kubeconfig", o.kubeconfig,
				"is not a usable kubeconfig ("+err.Error()+"); `kubectl --kubeconfig=FILE cluster-info` must work with it")}
		}
	} else if cfg, err = config.GetConfig(); err != nil {
		return nil, fmt.Errorf("no API server to talk to (%w): set --kubeconfig or KUBECONFIG to a kubeconfig file, or run in a Pod", err)
	}
	cfg.QPS, cfg.Burst = o.kubeAPIQPS, o.kubeAPIBurst
	cfg.UserAgent = "gangway/" + buildVersion().module
	return cfg, nil
}

// cause is what the operating system said, without the name of the file.
func cause(err error) string {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// checkPorts tries every address, so that one that is taken is reported with its flag before anything runs.
func checkPorts(ctx context.Context, o options) error {
	for _, l := range o.listeners() {
		bound, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
		switch {
		case err == nil:
			if err := bound.Close(); err != nil {
				return fmt.Errorf("close the trial listener on %s: %w", l.address, err)
			}
		case errors.Is(err, syscall.EADDRINUSE):
			return invalid(l.flag, l.address, "is taken by another process; stop that one (ss -ltnp shows it) or choose another port")
		case errors.Is(err, syscall.EACCES):
			return invalid(l.flag, l.address, "is not allowed for this user; choose a port from 1024 up")
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return invalid(l.flag, l.address, "is not an address of this machine; leave the host out to listen on all of them")
		default:
			return invalid(l.flag, l.address, "cannot be bound: "+err.Error())
		}
	}
	return nil
}

// checkAPIs asks the API server for Gangway's own APIs. A nil error promises that it answers, lets us in,
// and serves both.
func checkAPIs(ctx context.Context, cfg *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", cfg.Host, err)
	}
	var missing []string
	for _, resource := range ownResources {
		list, err := client.ServerResourcesForGroupVersionWithContext(ctx, resource.GroupVersion().String())
		switch {
		case err == nil:
			found := false
			for _, r := range list.APIResources {
				found = found || r.Name == resource.Resource
			}
			if !found {
				missing = append(missing, crdName(resource))
			}
		case apierrors.IsNotFound(err):
			missing = append(missing, crdName(resource))
		case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
			return fmt.Errorf("the API server at %s refuses us (%w): check the credentials of the kubeconfig or the ServiceAccount", cfg.Host, err)
		default:
			return fmt.Errorf("the API server at %s does not answer (%w): check that it runs, and that --kubeconfig names the right one", cfg.Host, err)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("the cluster at %s lacks the CustomResourceDefinitions %s: install them with `kubectl apply -k config/crd`, then start again",
			cfg.Host, strings.Join(missing, " and "))
	}
	return nil
}

func crdName(resource schema.GroupVersionResource) string { return resource.GroupResource().String() }
