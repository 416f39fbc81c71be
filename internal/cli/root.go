// Package cli is the command line: one file a command. It is the only room that
// knows flags, progress lines and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/ui"
)

// version is set by the linker: -X github.com/moonlap/moonlap/internal/cli.version=…
var version = "dev"

// commands are moonlap's commands, in the order in which the help lists them.
var commands = []func(Sys) *cobra.Command{
	newBenchCommand,
	newCompareCommand,
	newLoadCommand,
	newGateCommand,
	newHistoryCommand,
	newReportCommand,
	newPlotCommand,
	newRunCommand,
	newTimeCommand,
	newLintCommand,
	newRulesCommand,
	newExplainCommand,
	newProfileCommand,
	newHeapCommand,
	newWatchCommand,
	newDoctorCommand,
	newDoctorGuardCommand,
	newServeHostCommand,
	newManualCommand,
	newVersionCommand,
}

// Main runs the command line args (without the program's name) in sys until it is
// done or ctx ends, and returns the exit code.
func Main(ctx context.Context, sys Sys, args []string) int {
	sys.Args = args
	root := newRootCommand(sys)
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		describeForShells(root)
	}
	cmd, err := root.ExecuteContextC(ctx)
	code, silent := exitCode(err)
	if code != ExitInterrupted { // who was interrupted leaves nothing, as who was killed
		runtime.Dismiss()
	}
	if !silent {
		fmt.Fprintf(sys.Stderr, "moonlap: %s%s\n", ui.Harmless(said(err)), moreFiles(err))
	}
	if code == ExitUsage {
		fmt.Fprintf(sys.Stderr, "Try '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// moreFiles is what to do about an error, wherever it came from, for want of file descriptors.
func moreFiles(err error) string {
	if errors.Is(err, syscall.EMFILE) {
		return "\nmoonlap may not open as many files as it needs: allow it more, as with 'ulimit -n 1024'"
	}
	return ""
}

func newRootCommand(sys Sys) *cobra.Command {
	root := &cobra.Command{
		Use:   "moonlap",
		Short: "The performance workbench for LuaJIT and OpenResty",
		Long: `Moonlap is the performance workbench for LuaJIT and OpenResty.

Every flag can be set in the environment too: MOONLAP_ and the flag's name in
capitals, with _ for -, as in MOONLAP_HTTP_CONF. The command line wins.
NO_COLOR leaves out colours, TERM=dumb all escape sequences. Where LC_ALL,
LC_CTYPE or LANG names another encoding than UTF-8, reports are in ASCII.`,
		Version:       version,
		SilenceErrors: true, // Main prints them
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usageErrorf("which command? 'moonlap --help' lists them")
		},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := flagsFromEnvironment(cmd.Flags(), sys.Getenv); err != nil {
				return err
			}
			if err := finite(cmd.Flags()); err != nil {
				return err
			}
			return checkFlags(cmd.Name(), cmd.Flags())
		},
	}
	root.SetIn(sys.Stdin)
	root.SetOut(sys.Stdout)
	root.SetErr(sys.Stderr)
	root.SetVersionTemplate(versionLine())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text := rootHelp(root)
		if cmd != root {
			text = shellHelp(cmd)
		}
		fmt.Fprint(cmd.OutOrStdout(), text)
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(withNearest(cmd, wrongValue(err)))
	})
	addQuestions(root)
	for _, newCommand := range commands {
		cmd := newCommand(sys)
		cmd.GroupID = questionOf(cmd.Name())
		cmd.Args = asUsage(cmd.Args)
		alignFormats(cmd)
		completeValues(sys, cmd)
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), shortHelp(cmd)) })
		root.AddCommand(cmd)
	}
	root.SetHelpCommand(newHelpCommand())
	return root
}

// said is an error in words: a file that is not there without the system call that found that out.
func said(err error) string {
	text := strings.TrimRight(err.Error(), "\n")
	var path *fs.PathError
	if errors.As(err, &path) && (path.Op == "stat" || path.Op == "lstat") && text == path.Error() {
		return path.Path + ": " + path.Err.Error()
	}
	return text
}

// questions are what moonlap answers, in the order of its help, each with the commands that do.
var questions = []struct {
	text     string
	commands []string
}{
	{"How long does this code take?", []string{"bench", "time", "run"}},
	{"Did my change matter?", []string{"compare", "gate", "history"}},
	{"How does it hold up under load?", []string{"load"}},
	{"Why, and what do I change?", []string{"lint", "rules", "explain", "profile", "heap", "watch"}},
	{"What was measured, and with what?", []string{"report", "plot", "doctor"}},
}

// addQuestions makes the questions groups of root's commands.
func addQuestions(root *cobra.Command) {
	for _, q := range questions {
		root.AddGroup(&cobra.Group{ID: q.text, Title: q.text})
	}
}

// questionOf is the group of a command; "" is none.
func questionOf(command string) string {
	for _, q := range questions {
		if slices.Contains(q.commands, command) {
			return q.text
		}
	}
	return ""
}

// asUsage makes the errors of an argument check usage errors.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError(err)
		}
		return nil
	}
}

func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	similar := cmd.SuggestionsFor(args[0])
	if len(similar) == 0 {
		return usageErrorf("unknown command %q", args[0])
	}
	return usageErrorf("unknown command %q; did you mean %s?", args[0], strings.Join(similar, " or "))
}

// ofEnvironment is the annotation of a flag that came from the environment: it may be meant for other commands.
const ofEnvironment = "environment"

// flagsFromEnvironment sets the flags that the command line left alone from their
// MOONLAP_ variables.
func flagsFromEnvironment(flags *pflag.FlagSet, getenv func(string) string) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "MOONLAP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := getenv(name)
		if f.Changed || value == "" || f.Name == "help" || first != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			first = usageErrorf("environment variable %s: %w", name, wrongValue(err))
		}
		f.Annotations = map[string][]string{ofEnvironment: {name}}
	})
	return first
}
