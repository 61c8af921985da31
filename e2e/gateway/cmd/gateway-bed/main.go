// Command gateway-bed adds real HTTP to a local cluster that runs: a Gateway controller on
// 127.0.0.1, and model servers at the addresses of simulated Pods. It runs until SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gangway-serving/gangway/e2e/cluster"
	"github.com/gangway-serving/gangway/e2e/gateway/bed"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		return err
	}
	stateDir := flag.String("state-dir", filepath.Join(root, ".cluster"), "state directory of the cluster")
	check := flag.Bool("check", false, "only say what this machine lacks")
	flag.Parse()
	if *check {
		return bed.Check()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, err := cluster.Attach(ctx, *stateDir)
	if err != nil {
		return fmt.Errorf("%w; start one with `make cluster-up`", err)
	}
	b, err := bed.Start(ctx, bed.Options{StateDir: c.Dir(), Kubeconfig: c.Kubeconfig(), Out: os.Stderr})
	if err != nil {
		return err
	}
	// The line that a script waits for.
	fmt.Printf("ready ports=%d,%d\n", b.Ports[0], b.Ports[1])
	select {
	case <-ctx.Done():
	case <-b.Ended():
		fmt.Fprintln(os.Stderr, "traefik ended; its log is", b.Log())
	}
	return b.Stop()
}
