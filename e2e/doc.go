// Package e2e holds the scenarios that run the whole product, installed as config/default
// installs it, on a real cluster: webhooks on, Volcano scheduling, kubelets simulated.
//
// Without flags the suite makes a cluster of its own in .cluster-e2e and stops it at the end.
package e2e
