package validating

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	rulePodDNS = newRule(Rule{
		ID: "pod-dns", Effect: Rejects, Field: "*Template.spec.dnsConfig",
		Says:    "name servers must be up to 3 IP addresses, with one at least for dnsPolicy None; searches must be DNS names",
		Example: "dnsPolicy: None without dnsConfig",
		Fix:     "correct dnsConfig, or remove dnsPolicy",
	})
	rulePodHostAlias = newRule(Rule{
		ID: "pod-host-alias", Effect: Rejects, Field: "*Template.spec.hostAliases[]",
		Says:    "a host alias must give DNS names to an IP address",
		Example: "hostAliases: [{ip: db, hostnames: [db]}]",
		Fix:     "write the address, and lower-case names",
	})
)

const maxNameservers = 3

func validateNetwork(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, oneOf(spec.DNSPolicy, path.Child("dnsPolicy"),
		corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)...)
	if spec.DNSPolicy == corev1.DNSNone && (spec.DNSConfig == nil || len(spec.DNSConfig.Nameservers) == 0) {
		errs = append(errs, rulePodDNS.required(path.Child("dnsConfig", "nameservers"), "add one, or remove dnsPolicy"))
	}
	if spec.DNSConfig != nil {
		errs = append(errs, validateDNSConfig(spec.DNSConfig, path.Child("dnsConfig"))...)
	}
	for i := range judged(len(spec.HostAliases), &errs) {
		errs = append(errs, validateHostAlias(&spec.HostAliases[i], path.Child("hostAliases").Index(i))...)
	}
	return errs
}

func validateDNSConfig(c *corev1.PodDNSConfig, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n := len(c.Nameservers); n > maxNameservers {
		errs = append(errs, rulePodDNS.invalid(path.Child("nameservers"), int64(n), "keep %d", maxNameservers))
	}
	for i := range judged(len(c.Nameservers), &errs) {
		if at := path.Child("nameservers").Index(i); len(validation.IsValidIP(at, c.Nameservers[i])) > 0 {
			errs = append(errs, rulePodDNS.invalid(at, c.Nameservers[i], "write its IP address"))
		}
	}
	for i := range judged(len(c.Searches), &errs) {
		// "." and trailing dots are allowed, and underscores for SRV names.
		search := c.Searches[i]
		if n := len(search); n > 0 && search[n-1] == '.' {
			search = search[:n-1]
		}
		if search != "" && len(validation.IsDNS1123SubdomainWithUnderscore(search)) > 0 || c.Searches[i] == "" {
			errs = append(errs, rulePodDNS.invalid(path.Child("searches").Index(i), c.Searches[i], "write for example \"svc.cluster.local\""))
		}
	}
	for i := range judged(len(c.Options), &errs) {
		if c.Options[i].Name == "" {
			errs = append(errs, rulePodDNS.required(path.Child("options").Index(i).Child("name"), "name the option, for example \"ndots\""))
		}
	}
	return errs
}

func validateHostAlias(a *corev1.HostAlias, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(validation.IsValidIP(path.Child("ip"), a.IP)) > 0 {
		errs = append(errs, rulePodHostAlias.invalid(path.Child("ip"), a.IP, "write an IP address"))
	}
	for i := range judged(len(a.Hostnames), &errs) {
		if len(validation.IsDNS1123Subdomain(a.Hostnames[i])) > 0 {
			errs = append(errs, rulePodHostAlias.invalid(path.Child("hostnames").Index(i), a.Hostnames[i], "use lower case, digits, '-' and '.'"))
		}
	}
	return errs
}
