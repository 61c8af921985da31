// Package bed adds real HTTP to the local cluster: the addresses of simulated Pods answer, and a
// real Gateway controller carries requests to them.
//
// Three parts. A route in the table of local addresses makes every address of the Pods' CIDR one
// of this machine's own, so that a server can listen on it and nothing leaves the machine. A
// watch starts a model server on the address of every Pod that runs vLLM, and ends it as a
// kubelet would. traefik, a process of this machine, implements Gateways on 127.0.0.1.
//
// The route needs root; everything is undone by Stop. Only one bed runs on a machine at a time.
package bed
