// Command cluster starts, shows and stops a real Kubernetes on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gangway-serving/gangway/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called.
	}
}

func newCommand() *cobra.Command {
	var o cluster.Options
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A real Kubernetes on this machine",
		Long: `Starts, shows and stops a real Kubernetes on this machine: etcd, kube-apiserver,
kube-controller-manager and Volcano as processes on 127.0.0.1, and nodes that
kwok simulates. The programs come from bin/assets (make tools).`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// cobra prints to stderr when no output is set.
	root.SetOut(os.Stdout)
	root.PersistentFlags().StringVar(&o.StateDir, "state-dir", "", "folder for everything the cluster writes (default .cluster in the repository)")
	root.AddCommand(upCommand(&o), downCommand(&o), statusCommand(&o), installCommand(&o), managerCommand(&o))
	return root
}

func upCommand(o *cluster.Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster and wait until it is ready",
		Long: `Starts the cluster and waits until it is ready. When one runs already in the
state folder, says so and changes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			begin := time.Now()
			o.Out = cmd.OutOrStdout()
			c, started, err := cluster.Up(cmd.Context(), *o)
			if err != nil {
				return err
			}
			kubeconfig := relative(c.Kubeconfig())
			dir := relative(c.Dir())
			if started {
				cmd.Printf("the cluster is ready after %.1fs\n", time.Since(begin).Seconds())
			} else {
				cmd.Printf("a cluster runs already in %s; it was left as it is\n", dir)
			}
			cmd.Printf("  kubeconfig:   %s\n", kubeconfig)
			cmd.Printf("  look around:  bin/assets/kubectl --kubeconfig %s get nodes\n", kubeconfig)
			cmd.Printf("  programs:     bin/cluster status%s\n", stateFlag(o))
			cmd.Printf("  logs:         %s\n", filepath.Join(dir, "logs"))
			cmd.Printf("  stop:         bin/cluster down%s\n", stateFlag(o))
			return nil
		},
	}
	cmd.Flags().IntVar(&o.Nodes.Count, "nodes", 4, "number of simulated nodes")
	cmd.Flags().IntVar(&o.APIServerPort, "api-server-port", 0, "port of the API server on 127.0.0.1 (default a free one)")
	cmd.Flags().StringVar(&o.BinDir, "bin-dir", "", "folder of the programs (default bin/assets in the repository)")
	cmd.Flags().StringVar(&o.ManifestDir, "manifest-dir", "", "folder of the CRDs (default bin/manifests in the repository)")
	return cmd
}

func downCommand(o *cluster.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster; its logs stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			begin := time.Now()
			n, err := cluster.Down(o.StateDir)
			if err != nil {
				return err
			}
			if n == 0 {
				cmd.Println("no cluster runs")
				return nil
			}
			cmd.Printf("stopped %d programs in %.1fs\n", n, time.Since(begin).Seconds())
			return nil
		},
	}
}

func statusCommand(o *cluster.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the programs of the cluster; fails when one is dead",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := cluster.ReadStatus(o.StateDir)
			if err != nil {
				return err
			}
			if len(s.Processes) == 0 {
				return fmt.Errorf("no cluster runs in %s; start one with `bin/cluster up`", relative(s.Dir))
			}
			if err := s.Print(cmd.OutOrStdout()); err != nil {
				return err
			}
			if !s.Running() {
				return errors.New("a program is dead: look at its log, then start again with `bin/cluster down` and `bin/cluster up`")
			}
			return nil
		},
	}
}

func installCommand(o *cluster.Options) *cobra.Command {
	var in cluster.GangwayOptions
	cmd := &cobra.Command{
		Use:   "install [-- MANAGER-ARGS...]",
		Short: "Install Gangway from config/default and run its manager on this machine",
		RunE: func(cmd *cobra.Command, args []string) error {
			begin := time.Now()
			c, err := cluster.Attach(cmd.Context(), o.StateDir)
			if err != nil {
				return fmt.Errorf("%w; start one with `bin/cluster up`", err)
			}
			in.Args = args
			if err := c.InstallGangway(cmd.Context(), in); err != nil {
				return err
			}
			cmd.Printf("Gangway is installed, its manager is ready after %.1fs; its log is %s\n", time.Since(begin).Seconds(), relative(c.ManagerLog()))
			return nil
		},
	}
	cmd.Flags().StringVar(&in.ConfigDir, "config-dir", "", "kustomization to install (default config/default in the repository)")
	cmd.Flags().StringVar(&in.Manager, "manager", "", "the manager's program (default bin/gangway in the repository)")
	return cmd
}

func managerCommand(o *cluster.Options) *cobra.Command {
	cmd := &cobra.Command{Use: "manager", Short: "Start or stop the manager that `cluster install` set up"}
	run := func(use, short string, f func(context.Context, *cluster.Cluster) error) {
		cmd.AddCommand(&cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				c, err := cluster.Attach(cmd.Context(), o.StateDir)
				if err != nil {
					return err
				}
				return f(cmd.Context(), c)
			},
		})
	}
	run("start", "Start it and wait until it is ready", func(ctx context.Context, c *cluster.Cluster) error {
		return c.StartManager(ctx, cluster.GangwayOptions{})
	})
	run("stop", "Stop it gracefully", func(_ context.Context, c *cluster.Cluster) error { return c.StopManager() })
	run("kill", "Kill it with SIGKILL", func(_ context.Context, c *cluster.Cluster) error {
		return c.KillManager(syscall.SIGKILL)
	})
	return cmd
}

// stateFlag repeats the flag in hints, when it was given.
func stateFlag(o *cluster.Options) string {
	if o.StateDir == "" {
		return ""
	}
	return " --state-dir " + o.StateDir
}

// relative shortens a path below the working directory.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}
