package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the manager could not start, or ended with an error
	exitUsage  = 2 // a flag is wrong; nothing was started
)

const long = `Gangway runs large-model serving on Kubernetes.

One process has two halves: webhooks that refuse wrong ModelServings and VLLMServices and put the Pods of
a group into its gang, and controllers that create their Pods, Services, PodGroups and HTTPRoutes. Run two
or more replicas: all answer webhooks, one at a time (the leader) controls.`

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// newCommand is the gangway command; run starts the manager with options that are valid.
func newCommand(run func(context.Context, options) error) *cobra.Command {
	o := defaultOptions()
	flags := o.flags()
	cmd := &cobra.Command{
		Use:           "gangway [flags]",
		Short:         "Run large-model serving on Kubernetes",
		Long:          long,
		Version:       buildVersion().String(),
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.complete()
			if errs := o.validate(); len(errs) > 0 {
				return usageError{errs.ToAggregate()}
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.SetVersionTemplate("gangway {{.Version}}\n")
	for _, name := range flags.Order {
		cmd.Flags().AddFlagSet(flags.FlagSets[name])
	}
	other := flags.FlagSet("other")
	other.BoolP("help", "h", false, "Print this help.")
	other.Bool("version", false, "Print the version, as the command version does.")
	cmd.Flags().AddFlagSet(other)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		printHelp(cmd.OutOrStderr(), cmd, flags)
		return nil
	})
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if cmd.HasParent() {
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUsage:\n  %s\n", cmd.Short, cmd.UseLine())
			return
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", cmd.Long)
		printHelp(cmd.OutOrStdout(), cmd, flags)
	})
	cmd.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version that was built, its commit and the Go release",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "gangway "+buildVersion().String())
			return err
		},
	})
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	return cmd
}

func printHelp(w io.Writer, cmd *cobra.Command, flags cliflag.NamedFlagSets) {
	fmt.Fprintf(w, "Usage:\n  %s\n  gangway version\n", cmd.UseLine())
	cliflag.PrintSections(w, flags, columns(w))
}

// columns is the width of a terminal. 0, for what is none, wraps no lines.
func columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown argument %q: %s takes flags only; see gangway --help", args[0], cmd.CommandPath())}
	}
	return nil
}

// execute runs the command and turns its error into lines on stderr and an exit code.
func execute(ctx context.Context, cmd *cobra.Command, args []string, stdout, stderr io.Writer) int {
	cmd.SetArgs(append([]string{}, args...)) // never nil, which cobra takes for os.Args
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	for _, line := range lines(err) {
		fmt.Fprintln(stderr, "error:", line)
	}
	if errors.As(err, &usageError{}) {
		fmt.Fprintln(stderr, "gangway --help explains every flag.")
		return exitUsage
	}
	return exitFailed
}

// lines are the messages of an error, each on one line.
func lines(err error) []string {
	var out []string
	if many := utilerrors.Aggregate(nil); errors.As(err, &many) {
		for _, e := range utilerrors.Flatten(many).Errors() {
			out = append(out, oneLine(e))
		}
		return out
	}
	return []string{oneLine(err)}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
