package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat"
)

type compareOptions struct {
	shared    benchOptions // flags that hold for all sides
	sides     sideFlags
	minEffect percentFlag
	gate      percentFlag
}

func newCompareCommand(sys Sys) *cobra.Command {
	o := compareOptions{minEffect: percentFlag(stat.DefaultComparing().MinEffect)}
	cmd := &cobra.Command{
		Use:   "compare [flags] A.lua B.lua… | FILE --rev A --rev B… | -e A -e B…",
		Short: "Tell whether two files, revisions, VMs or configurations differ in speed",
		Long: `Compare two or more sides: bench files, pieces of code, git revisions, VMs, JIT
options or nginx configurations.

What is given several times makes the sides, in order: bench files and the flags
-e, --setup, --rev, --runtime, --luajit, --nginx, --jit, --http-conf, --main-conf
and --phase. What is given once holds for all sides. The others are compared with
the first, case by case, by name; a single case with a single one.

The sides take turns, in random order, each process a fresh VM. It stops as soon
as a pair is decided, or at its time; looking early does not raise the rate of
false alarms. The verdict is one of

  1.031× slower (1.024–1.038)            the interval of the ratio excludes 1
  no measurable difference (within ±0.8 %)  it lies within --min-effect
  undecided: needs about 40 more processes

--rev checks a revision out into a temporary worktree; --rev . is the working tree
as it is. Modules are found from the same folder there; absolute paths in LUA_PATH
are not moved.`,
		Example: `  moonlap compare old.lua new.lua
  moonlap compare bench.lua --rev main --rev .
  moonlap compare bench.lua --luajit /usr/bin/luajit --luajit ./luajit
  moonlap compare bench.lua --jit '' --jit off
  moonlap compare shm.lua --http-conf 'lua_shared_dict d 1m;' --http-conf @big.conf
  moonlap compare -e 's:sub(1, 1)' -e 's:byte(1)' --setup 'local s = ...'
  moonlap compare bench.lua --rev origin/main --rev HEAD --fail-if-slower 3%`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompare(cmd, sys, &o, args)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *compareOptions) addFlags(cmd *cobra.Command) {
	o.sides.addFlags(cmd, &o.shared)
	f := cmd.Flags()
	f.Lookup("processes").Usage = "exactly `N` fresh processes a side, instead of --time"
	f.Lookup("time").Usage = "time budget a case and side"
	f.Var(&o.minEffect, "min-effect", "the smallest difference that matters")
	f.Var(&o.gate, "fail-if-slower", "exit with 4 when a side is proved to be slower than the first\nby more than this")
}

// comparing is the rule of the judge.
func (o *compareOptions) comparing() (record.Comparing, error) {
	rule := stat.DefaultComparing()
	rule.MinEffect, rule.FailIfSlower = float64(o.minEffect), float64(o.gate)
	rule.Processes = o.shared.Processes
	if rule.MinEffect <= 0 {
		return rule, usageErrorf("--min-effect is above 0")
	}
	return rule, nil
}

func runCompare(cmd *cobra.Command, sys Sys, o *compareOptions, args []string) (err error) {
	ctx := cmd.Context()
	rule, err := o.comparing()
	if err != nil {
		return err
	}
	settings, err := o.sides.deal(cmd.Flags(), args)
	if err != nil {
		return err
	}
	c := bench.Comparison{Comparing: rule, Note: func(text string) { fmt.Fprintln(sys.Stderr, "moonlap: "+text) }}
	for _, s := range settings {
		side, remove, err := s.open(ctx, sys, c.Note)
		defer func() { remove() }()
		if err != nil {
			return err
		}
		c.Sides = append(c.Sides, side)
		c.Time = max(c.Time, side.Time)
	}
	c.Seed = c.Sides[0].Seed
	return compareSides(ctx, sys, o, c)
}

func compareSides(ctx context.Context, sys Sys, o *compareOptions, c bench.Comparison) error {
	sink, err := newSink(sys, o.shared.out)
	if err != nil {
		return err
	}
	line := newProgress(sys)
	rec, err := bench.Compare(ctx, c, compareOpening(sys, c), sink.write, func(p bench.Progress) {
		line.Update(benchProgress(p), p.Elapsed, p.Left)
	})
	line.Clear()
	if closeErr := sink.close(); err == nil {
		err = closeErr
	}
	var plan *bench.PlanError
	if errors.As(err, &plan) {
		printOutput(sys.Stderr, plan.Exit)
		return err
	}
	if len(rec.Processes) == 0 && err != nil {
		return err
	}
	results := stat.Summarize(rec)
	results.Comparisons = stat.CompareSides(rec, results)
	if o.shared.out != "-" {
		if reportErr := writeReport(sys, results, o.shared.format); reportErr != nil {
			return errors.Join(err, reportErr)
		}
	}
	if err != nil {
		return err
	}
	if err := gated(rec.Run.Comparing, results); err != nil {
		return err
	}
	return outcome(results)
}

// gated is exit code 4 when a comparison proves what the gate forbids.
func gated(rule *record.Comparing, results *record.Results) error {
	if rule == nil || rule.FailIfSlower == 0 {
		return nil
	}
	for _, c := range results.Comparisons {
		if stat.TooSlow(c, rule.FailIfSlower) {
			return exitWith(ExitRegression, fmt.Errorf("%s is more than %s slower than %s", c.B, percentFlag(rule.FailIfSlower).String(), c.A))
		}
	}
	return nil
}

func compareOpening(sys Sys, c bench.Comparison) record.Run {
	return record.Run{
		Schema: record.Schema, Kind: "compare", Moonlap: version, Args: sys.Args,
		Started: sys.Now().Format(time.RFC3339), Seed: c.Seed, BudgetNS: float64(c.Time),
		Environment: runtime.Environment(c.Sides[0].File),
	}
}
