// Package gateway holds the scenarios in which a real Gateway controller accepts the HTTPRoutes
// of Gangway, writes their status, and carries HTTP to model servers at the addresses of the
// simulated Pods. It needs root; see the package bed.
package gateway
