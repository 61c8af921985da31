// Package cluster starts and stops a real Kubernetes on this machine: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and Volcano as host
// processes on loopback, and Nodes that kwok simulates. Nothing of it needs a container
// runtime.
//
// The processes outlive the one that started them. What is needed to find them
// again (process ids with their start times, ports) is kept in the state
// directory, so that any later process can look at the cluster, use it or stop
// it.
//
// It needs Linux: processes are identified through /proc.
package cluster
