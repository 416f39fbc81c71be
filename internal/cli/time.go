package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/runtime/exec"
)

type timeOptions struct {
	exec.Options
	plan                        bench.Options // runs, warm-up, precision, budget, seed
	comparing                   *record.Comparing
	lines, names, empty         []string
	shell, prepare, format, out string
	rule                        ruleFlags
	show, discard               bool
}

func newTimeCommand(sys Sys) *cobra.Command {
	var o timeOptions
	cmd := &cobra.Command{
		Use:   "time [flags] -- CMD [ARGS] | -c 'CMD ARGS' [-c 'CMD2 ARGS' …]",
		Short: "Time whole commands, with what their start-up costs taken off",
		Long: `Time whole commands, each run in a fresh process.

'time resty -e CODE' measures how long resty takes to start, and hardly CODE itself.
So moonlap also runs the command's empty twin, the same program with nothing to do, and
takes its time off, with an interval. It guesses the twin of luajit, lua, resty, nginx,
sh, python, perl, node and 'moonlap run'; --empty names another, or none.

Commands and their twins are interleaved in balanced random order. Several commands are
compared with the first, until the verdicts are found, as 'moonlap compare' does; one
alone runs until its interval is narrow enough (--precision). The time (--time) ends both.

There is no shell between moonlap and the command, unless --shell asks for one. The
command's stdin is empty, or --input; its output is read, counted and not shown.`,
		Example: `  moonlap time luajit app.lua
  moonlap time -c 'luajit app.lua' -c 'luajit -joff app.lua'
  moonlap time -c 'resty a.lua' --empty "resty -e ''" --runs 50
  moonlap time --shell -c 'sort big.txt | uniq -c' --empty none
  moonlap time -c ./old -c ./new --fail-if-slower 5%
  moonlap time --prepare 'rm -rf cache' -c 'python3 build.py' --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			return runTime(cmd.Context(), sys, o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the program is the program's
	f.StringArrayVarP(&o.lines, "command", "c", nil, "a command, in `QUOTES`; repeat to compare")
	f.StringArrayVarP(&o.names, "name", "n", nil, "`NAME` of a command in the report, in their order")
	f.StringArrayVar(&o.empty, "empty", []string{"auto"}, "`COMMAND` that only starts and ends; auto guesses it, none takes\nnothing off; repeat for one a command")
	f.StringVarP(&o.shell, "shell", "S", "", "run -c, --empty and --prepare by a shell: sh, or =`SHELL`")
	f.Lookup("shell").NoOptDefVal = "sh"
	f.StringVar(&o.prepare, "prepare", "", "`COMMAND` to run before each run, untimed")
	f.IntVar(&o.plan.Warmup, "warmup", 1, "untimed runs before")
	f.StringVar(&o.Input, "input", "", "`FILE` that is the commands' stdin")
	f.BoolVar(&o.show, "show-output", false, "let the commands write to stderr")
	f.BoolVar(&o.discard, "discard-output", false, "send stdout to /dev/null, which some programs notice")
	f.BoolVarP(&o.IgnoreFailure, "ignore-failure", "i", false, "time commands that fail, too")

	f.IntVar(&o.plan.Processes, "runs", 0, "exactly `N` runs a command, instead of --time")
	f.DurationVar(&o.plan.Time, "time", 10*time.Second, "time budget a command")
	f.DurationVar(&o.plan.WaitQuiet, "wait-quiet", 0, "wait up to this much longer while the machine has no quiet moment")
	f.Float64Var(&o.plan.Precision, "precision", 0.01, "a command alone is done when its interval is ± this share")
	o.rule.addFlags(f, "a command")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "a run that has not ended by then is killed")
	f.Uint64Var(&o.plan.Seed, "seed", 0, "every random choice follows from it (default: random)")
	f.StringVar(&o.format, "format", "text", "text, json, csv, markdown, benchfmt, bencher or\ngithub-benchmark")
	f.StringVar(&o.out, "out", "", "keep the record in `FILE`; - is stdout, without a report")
	return measuredOnHosts(sys, cmd)
}

// complete checks the flags against each other and makes the commands.
func (o *timeOptions) complete(cmd *cobra.Command, args []string) error {
	switch {
	case o.show:
		o.Output = exec.Show
	case o.discard:
		o.Output = exec.Discard
	}
	if !cmd.Flags().Changed("seed") {
		o.plan.Seed = randomSeed()
	}
	var shell []string
	if o.shell != "" {
		shell = []string{o.shell}
	}
	for _, line := range o.lines {
		words, err := exec.Split(line, shell)
		if err != nil {
			return usageErrorf("-c: %w", err)
		}
		o.Commands = append(o.Commands, exec.Command{Name: line, Args: words})
	}
	if len(args) > 0 {
		o.Commands = append(o.Commands, exec.Command{Name: exec.Join(args), Args: args})
	}
	if len(o.Commands) == 0 {
		return usageErrorf("which command? moonlap time -- CMD ARGS, or -c 'CMD ARGS'")
	}
	if o.prepare != "" {
		var err error
		if o.Prepare, err = exec.Split(o.prepare, shell); err != nil {
			return usageErrorf("--prepare: %w", err)
		}
	}
	if err := o.twins(shell); err != nil {
		return err
	}
	if len(o.Commands) > 1 {
		o.comparing = o.rule.rule(o.plan.Processes)
	} else if err := o.rule.needs(cmd.Flags(), "a second command"); err != nil {
		return err
	}
	return o.named()
}

// twins gives each command its empty twin.
func (o *timeOptions) twins(shell []string) error {
	if n := len(o.empty); n > 1 && n != len(o.Commands) {
		return usageErrorf("--empty is given %d times for %d commands: once for all, or once for each", n, len(o.Commands))
	}
	for i := range o.Commands {
		c := &o.Commands[i]
		switch empty := o.empty[min(i, len(o.empty)-1)]; empty {
		case "none":
		case "auto":
			c.Empty, c.Guessed = exec.Guess(c.Args), true
		default:
			words, err := exec.Split(empty, shell)
			if err != nil {
				return usageErrorf("--empty: %w", err)
			}
			c.Empty = words
		}
	}
	return nil
}

// named gives each command the name that the user wants, and makes equal names distinct.
func (o *timeOptions) named() error {
	if len(o.names) > len(o.Commands) {
		return usageErrorf("%d names for %d commands", len(o.names), len(o.Commands))
	}
	seen := map[string]int{}
	for i := range o.Commands {
		c := &o.Commands[i]
		if i < len(o.names) {
			c.Name = o.names[i]
		}
		if strings.TrimSpace(c.Name) == "" {
			return usageErrorf("--name: a name is not empty")
		}
		if seen[c.Name]++; seen[c.Name] > 1 {
			c.Name = fmt.Sprintf("%s (%d)", c.Name, seen[c.Name])
		}
	}
	return nil
}

func runTime(ctx context.Context, sys Sys, o timeOptions) error {
	o.Path = sys.Getenv("PATH")
	opened, err := exec.Open(ctx, o.Options)
	if err != nil {
		return err
	}
	defer opened.Close()
	o.plan.Program, o.plan.Workers = opened, []int{1}
	o.plan.Runtime, o.plan.Timeout = record.Runtime{Kind: record.KindCommand}, o.Timeout
	return measuring{
		Measurement: bench.Measurement{Sides: []bench.Side{{Options: o.plan}}, Comparing: o.comparing},
		kind:        record.KindTime, out: o.out, format: o.format, judging: o.comparing,
	}.run(ctx, sys)
}

// writeTimeReport writes the results of a record of whole commands to stdout.
func writeTimeReport(sys Sys, res *record.CommandResults, format string) error {
	switch format {
	case "text", "markdown":
		return report.Time(sys.Stdout, res, optionsIn(sys, format))
	case "json":
		return jsontext.Write(sys.Stdout, res)
	}
	return writeReport(sys, res.Results, format)
}
