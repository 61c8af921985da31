// Package certs keeps the certificate that the webhook server presents, and the trust in it.
//
// There are two modes. With cert-manager, the certificate comes as files that cert-manager renews and
// the trust is injected by its cainjector: this package only reloads the files. Self-managed, Gangway is
// its own authority. Everything it knows is in one Secret:
//
//	ca.crt   the CAs to trust, newest first
//	ca.key   the key of the newest CA
//	tls.crt  the serving certificate
//	tls.key  its key
//
// Why a renewal is hard: the certificate lives in the servers and the trust lives in the API servers,
// and no write reaches both at once. A new CA that signs at once is, for a while, a CA that some API
// server does not know, and every admission request in that while fails. So a CA is renewed in two
// steps. It first joins the bundle and signs nothing ("overlap"); only when Policy.Overlap has passed and
// every webhook configuration carries it does it sign the serving certificate. The CA before it stays in
// the bundle until it expires, for servers that still present the old certificate.
//
// Who does what: the leader alone writes (authority_controller.go): it asks Decide (rotation.go, pure) what
// the Secret needs, carries that out, and copies the bundle into every webhook of the configurations.
// Every replica, the leader included, follows the Secret (serving_controller.go) and presents what it
// holds; an unusable Secret changes nothing in what is presented. The objects are watched by name, so
// that no other Secret of the cluster is ever read or cached.
//
// The ready-made rotators (open-policy-agent/cert-controller, the authority inside cert-manager) were
// looked at first: both replace the CA and what it signs in one go, without an overlap. Made here are
// only the decisions; keys, certificates and their encodings come from crypto/x509 and client-go.
package certs
