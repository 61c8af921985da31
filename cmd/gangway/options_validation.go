package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/gangway-serving/gangway/certs"
)

// disabled is the bind address of a server that is not wanted.
const disabled = "0"

// validate finds every fault of the flags at once. Each names the flag, the value, the rule and the way out.
func (o options) validate() field.ErrorList {
	errs := o.validateCluster()
	errs = append(errs, o.validateWebhook()...)
	errs = append(errs, o.validateLeaderElection()...)
	errs = append(errs, o.validateAddresses()...)
	if o.maxConcurrentReconciles < 1 {
		errs = append(errs, invalid("max-concurrent-reconciles", o.maxConcurrentReconciles, "must be 1 or more"))
	}
	if o.shutdownTimeout < 0 {
		errs = append(errs, invalid("shutdown-timeout", o.shutdownTimeout, "must not be negative; 0 waits for nothing"))
	}
	if _, err := verbosity(o.logLevel); err != nil {
		errs = append(errs, invalid("log-level", o.logLevel, err.Error()))
	}
	if !slices.Contains(logFormats, o.logFormat) {
		errs = append(errs, invalid("log-format", o.logFormat, "must be one of "+strings.Join(logFormats, ", ")))
	}
	return errs
}

func invalid(flag string, value any, rule string) *field.Error {
	if d, ok := value.(time.Duration); ok {
		value = d.String()
	}
	return field.Invalid(field.NewPath("--"+flag), value, rule)
}

func (o options) validateCluster() field.ErrorList {
	errs := validateNamespace("namespace", o.namespace)
	for _, namespace := range o.watchNamespaces {
		errs = append(errs, validateNamespace("watch-namespaces", namespace)...)
	}
	if o.kubeAPIQPS == 0 {
		errs = append(errs, invalid("kube-api-qps", o.kubeAPIQPS, "must be positive, or -1 for no limit"))
	}
	if o.kubeAPIQPS > 0 && o.kubeAPIBurst < 1 {
		errs = append(errs, invalid("kube-api-burst", o.kubeAPIBurst, "must be 1 or more when --kube-api-qps limits requests"))
	}
	return errs
}

func validateNamespace(flag, namespace string) field.ErrorList {
	var errs field.ErrorList
	for _, rule := range validation.IsDNS1123Label(namespace) {
		errs = append(errs, invalid(flag, namespace, "is not the name of a namespace: "+rule))
	}
	return errs
}

func (o options) validateWebhook() field.ErrorList {
	var errs field.ErrorList
	for _, rule := range validation.IsDNS1035Label(o.webhookServiceName) {
		errs = append(errs, invalid("webhook-service-name", o.webhookServiceName, "is not the name of a Service: "+rule))
	}
	for _, host := range o.webhookHosts {
		if net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
			errs = append(errs, invalid("webhook-host", host,
				"must be a DNS name or an IP address, without scheme and port; for example 127.0.0.1 or gangway.example.com"))
		}
	}
	switch mode := certs.Mode(o.certMode); {
	case !slices.Contains(certs.Modes(), mode):
		errs = append(errs, field.NotSupported(field.NewPath("--cert-mode"), mode, certs.Modes()))
	case mode == certs.CertManager && len(o.webhookHosts) > 0:
		errs = append(errs, invalid("webhook-host", strings.Join(o.webhookHosts, ","),
			"is for --cert-mode=self-managed; with cert-manager, name the host in the Certificate's dnsNames or ipAddresses"))
	case mode == certs.CertManager && o.certDir == "":
		errs = append(errs, field.Required(field.NewPath("--cert-dir"), "is where --cert-mode=cert-manager finds tls.crt and tls.key"))
	}
	return errs
}

func (o options) validateLeaderElection() field.ErrorList {
	if !o.leaderElect {
		return nil
	}
	var errs field.ErrorList
	if o.leaderElectionNamespace != "" {
		errs = append(errs, validateNamespace("leader-election-namespace", o.leaderElectionNamespace)...)
	}
	if o.retryPeriod <= 0 {
		errs = append(errs, invalid("leader-election-retry-period", o.retryPeriod, "must be positive"))
	}
	// As client-go has it: the renewal is retried with jitter, so a deadline must leave room for one retry.
	least := time.Duration(leaderelection.JitterFactor * float64(o.retryPeriod))
	if o.renewDeadline <= least {
		errs = append(errs, invalid("leader-election-renew-deadline", o.renewDeadline,
			fmt.Sprintf("must be more than %s, %v times --leader-election-retry-period", least, leaderelection.JitterFactor)))
	}
	if o.leaseDuration <= o.renewDeadline {
		errs = append(errs, invalid("leader-election-lease-duration", o.leaseDuration,
			fmt.Sprintf("must be more than --leader-election-renew-deadline, which is %s", o.renewDeadline)))
	}
	// A Lease counts in whole seconds.
	if o.leaseDuration < time.Second {
		errs = append(errs, invalid("leader-election-lease-duration", o.leaseDuration, "must be 1s or more"))
	}
	return errs
}

// listener is a bind address and the flag that sets it.
type listener struct{ flag, address string }

// listeners are the addresses that are bound.
func (o options) listeners() []listener {
	all := []listener{
		{"webhook-bind-address", o.webhookBindAddress},
		{"metrics-bind-address", o.metricsBindAddress},
		{"health-probe-bind-address", o.healthProbeBindAddress},
		{"pprof-bind-address", o.pprofBindAddress},
	}
	return slices.DeleteFunc(all, func(l listener) bool {
		return l.flag != "webhook-bind-address" && (l.address == disabled || l.address == "")
	})
}

func (o options) validateAddresses() field.ErrorList {
	var errs field.ErrorList
	flagOf := map[string]string{}
	for _, l := range o.listeners() {
		_, port, err := splitAddress(l.address)
		if err != nil {
			errs = append(errs, invalid(l.flag, l.address, err.Error()))
			continue
		}
		if other, taken := flagOf[port]; taken {
			errs = append(errs, invalid(l.flag, l.address, fmt.Sprintf("has the port of --%s; give each its own", other)))
			continue
		}
		flagOf[port] = l.flag
	}
	return errs
}

// splitAddress reads host:port. The host may be empty, for all addresses.
func splitAddress(address string) (host, port string, err error) {
	const rule = "must be host:port or :port; for example :9443 or 127.0.0.1:9443"
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		return "", "", errors.New(rule)
	}
	if host != "" && net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return "", "", fmt.Errorf("%s; %q is neither an IP address nor a host name", rule, host)
	}
	number, err := strconv.Atoi(port)
	if err != nil || len(validation.IsValidPortNum(number)) > 0 {
		return "", "", fmt.Errorf("%s; a port is a number from 1 to 65535", rule)
	}
	return host, port, nil
}
