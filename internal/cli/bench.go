package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/store"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

type benchOptions struct {
	bench.Options
	runtime, luajit, nginx string
	gocmd                  string // the go command
	filter                 string
	format, out            string
	list, compare, profile bool
	rule                   ruleFlags
	judging                *record.Comparing // what follows from rule
	past                   pastFlags
	replay                 uint64
	laps                   lapsFlag
	memory                 sizeFlag
}

// Bytes a process: a VM with the harness takes some 10 MiB, nginx's worker a few more.
const (
	defaultMemory = 2 << 30
	leastMemory   = sizeFlag(32 << 20)
)

func newBenchCommand(sys Sys) *cobra.Command {
	o := benchOptions{memory: defaultMemory}
	cmd := &cobra.Command{
		Use:   "bench [flags] FILE | ./GO/PACKAGE | -e CODE [-e CODE2 …]",
		Short: "Time Lua functions, on LuaJIT or in nginx, and Go benchmarks",
		Long: `Time the benchmarks that a Lua file declares, or those of Go packages, each in
several fresh processes.

A bench file is plain Lua:

  local moonlap = require "moonlap"
  moonlap.bench("concat", function() return table.concat({"a", "b"}) end)

The JIT's choice of traces differs from process to process, so a process is one
sample. In each round every case runs in a fresh process, in random order. A case is
done when its interval is narrow enough (--precision), or its time (--time) is spent.

With --compare, and with several -e, every other case is compared with the first.
They are interleaved as by 'moonlap compare', and end when the verdict is found.

A file may say in its first comment lines which flags it needs:

  -- moonlap: --phase content --http-conf 'lua_shared_dict cats 1m;'

Of Go, name a package's folder, ./... or an import path. Each benchmark and each
sub-benchmark is a case; what b.ReportMetric is given is reported too. The test
binaries are built once, with what GOFLAGS says.`,
		Example: `  moonlap bench examples/re_find.lua
  moonlap bench -e 'ngx.re.find(s, "l+", "jo")' --setup 'local s = "hello"'
  moonlap bench --runtime luajit --filter dots --laps string_concat.lua
  moonlap bench -e 'ngx.md5("hello")' -e 'ngx.crc32_long("hello")' --time 30s
  moonlap bench --workers 4 --http-conf 'lua_shared_dict cats 1m;' shared.lua
  moonlap bench --out today.jsonl app.lua && moonlap report today.jsonl
  moonlap bench --profile --out today.jsonl app.lua
  moonlap bench --compare --filter 'Digits/' ./examples/go_digits`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			return runBench(cmd.Context(), sys, o)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.profile, "profile", false, "keep a profile of each case in the record: one more process a\ncase, after the measured ones")
	o.rule.addFlags(cmd.Flags(), "a case")
	o.past.addFlags(cmd.Flags())
	return measuredOnHosts(sys, cmd)
}

func (o *benchOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.Code, "eval", "e", nil, "benchmark this `CODE` instead of a file; repeat to compare")
	f.StringVar(&o.Setup, "setup", "", "`CODE` that runs before -e, untimed; its locals are seen there")
	f.StringVar(&o.filter, "filter", "", "only cases whose name or a tag matches `RE`")
	f.BoolVar(&o.list, "list", false, "list the cases and measure nothing")

	f.BoolVar(&o.compare, "compare", false, "compare every case with the first (with -e, always)")

	f.StringVar(&o.runtime, "runtime", "auto", "luajit, nginx, go, or auto: go for a Go package, else nginx\nwhere there is one with Lua")
	f.StringVar(&o.luajit, "luajit", "", "`PATH` of the LuaJIT to use")
	f.StringVar(&o.nginx, "nginx", "", "`PATH` of the nginx to use")
	f.StringVar(&o.gocmd, "go", "", "`PATH` of the go command to use")
	f.StringArrayVar(&o.HTTPConf, "http-conf", nil, "`DIRECTIVES` for nginx's http block; @FILE includes a file")
	f.StringArrayVar(&o.MainConf, "main-conf", nil, "`DIRECTIVES` for nginx's top level; @FILE includes a file")
	f.StringVar(&o.Phase, "phase", runtime.PhaseTimer, "nginx phase that the code runs in: timer, init_worker,\nset, rewrite, access, balancer, content, header_filter,\nbody_filter, log")
	f.IntSliceVar(&o.Workers, "workers", []int{1}, "nginx workers that run a case at once; `N` alone is compared\nwith 1")
	f.StringVar(&o.JIT, "jit", "", "off, or jit.opt `FLAGS`: hotloop=10,-fold")

	f.IntVar(&o.Processes, "processes", 0, "exactly `N` fresh processes a case, instead of --time")
	f.DurationVar(&o.Time, "time", 10*time.Second, "time budget a case")
	f.DurationVar(&o.WaitQuiet, "wait-quiet", 0, "wait up to this much longer for the machine to be quiet")
	f.Float64Var(&o.Precision, "precision", 0.01, "a case that is not compared is done when its interval is\n± this `SHARE` of its time")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "a process that has not ended by then is killed")
	f.Var(&o.memory, "memory", "most memory of a process")
	f.Uint64Var(&o.Seed, "seed", 0, "every random choice follows from it (default: random)")

	f.Uint64Var(&o.replay, "replay", 0, "one process a case, with the `SEED` that a report gave; memory\naddresses still differ, so not every replay takes the same path")

	f.StringVar(&o.GC, "gc", "natural", "garbage collector: natural, stopped, or full (a collection\nbefore each batch)")
	f.StringVar(&o.Clock, "clock", "auto", "auto, tsc or monotonic")
	f.Var(&o.laps, "laps", "time every call singly too; =`N` laps a process")
	f.Lookup("laps").NoOptDefVal = "0"
	f.IntVar(&o.Concurrency, "concurrency", 0, "code that yields (cosockets, ngx.sleep): `N` light threads\ncall at once")
	f.Float64Var(&o.Rate, "rate", 0, "code that yields: `N` calls a second at fixed times, open loop")

	f.StringVar(&o.format, "format", "text", "text, json, csv, markdown, benchfmt, bencher or\ngithub-benchmark")
	f.StringVar(&o.out, "out", "", "keep the record in `FILE`; - is stdout, without a report")
	f.BoolVar(&o.Keep, "keep", false, "leave the temporary folders behind")
	f.Lookup("keep").Hidden = true
}

// complete checks the flags against each other and fills in what follows from them.
func (o *benchOptions) complete(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usageErrorf("one bench file, not %d", len(args))
	case len(args) == 1 && len(o.Code) > 0:
		return usageErrorf("a bench file or -e CODE, not both")
	case len(args) == 0 && len(o.Code) == 0:
		return usageErrorf("which bench file? Or -e CODE")
	case len(args) == 1 && o.Setup != "":
		return usageErrorf("--setup goes with -e; in a bench file, use setup = function() … end")
	}
	if err := o.completeIn(cmd.Flags(), "", strings.Join(args, "")); err != nil {
		return err
	}
	if !o.comparing() && o.past.baseline == "" {
		if err := o.rule.needs(cmd.Flags(), "--compare, -e CODE twice, or --baseline NAME"); err != nil {
			return err
		}
	}
	return o.past.check()
}

// completeIn is complete for a file in a working folder that need not be ours; "" is no
// file.
func (o *benchOptions) completeIn(flags *pflag.FlagSet, dir, file string) error {
	o.File = file
	isGo := o.runtime == runtime.Go
	if file != "" {
		var err error
		if isGo, err = o.isGo(dir, file); err != nil {
			return err
		}
	}
	if file != "" && !isGo {
		path := file
		if !filepath.IsAbs(file) {
			path = filepath.Join(dir, file)
		}
		if err := readable(path); err != nil {
			return err
		}
		if err := applyFileFlags(path, flags); err != nil {
			return err
		}
	}
	if err := o.completeValues(flags); err != nil {
		return err
	}
	if isGo {
		if o.profile {
			return usageErrorf("--profile is for Lua; of Go, see 'go test -cpuprofile'")
		}
		return o.completeGo(flags)
	}
	return o.onlyInNginx(flags)
}

// completeValues checks the value of each flag, and fills in what follows from it.
func (o *benchOptions) completeValues(flags *pflag.FlagSet) error {
	if err := checkFlags("bench", flags); err != nil { // the bench file may have set some
		return err
	}
	slices.Sort(o.Workers)
	o.Workers = slices.Compact(o.Workers)
	if len(o.Workers) == 1 && o.Workers[0] > 1 {
		o.Workers = []int{1, o.Workers[0]}
	}
	if o.filter != "" {
		re, err := regexp.Compile(o.filter)
		if err != nil {
			return usageErrorf("--filter: %w", err)
		}
		o.Filter = re
	}
	if !flags.Changed("seed") {
		o.Seed = randomSeed()
	}
	if flags.Changed("replay") {
		o.Processes, o.ProcessSeed = 1, &o.replay
	}
	o.Laps, o.LapCount = o.laps.on, o.laps.count
	if o.memory < leastMemory {
		least := leastMemory
		return usageErrorf("--memory %s is less than a VM and the harness need: give at least %s", &o.memory, &least)
	}
	o.MemoryBytes = int64(o.memory)
	return nil
}

// onlyInNginx refuses flags that plain LuaJIT has no meaning for, and lets them decide
// what "auto" is.
func (o *benchOptions) onlyInNginx(flags *pflag.FlagSet) error {
	if name := changed(flags, func(r flagRule) bool { return r.in == inNginx }); name != "" {
		if o.runtime == runtime.LuaJIT {
			return usageErrorf("--%s needs --runtime nginx", name)
		}
		o.runtime = runtime.Nginx
	}
	if o.runtime == "auto" && o.luajit != "" {
		o.runtime = "luajit"
	}
	return nil
}

func runBench(ctx context.Context, sys Sys, o benchOptions) error {
	remove, err := o.openRuntime(ctx, sys)
	defer func() { remove() }()
	if err != nil {
		return err
	}
	if o.list {
		return listCases(ctx, sys, o)
	}

	m := bench.Measurement{Sides: []bench.Side{{Options: o.Options}}}
	o.judging = o.rule.rule(o.Processes)
	if o.comparing() {
		m.Comparing = o.judging
	}
	if o.profile {
		way, err := profiles.OpenCases(noting(sys))
		if err != nil {
			return err
		}
		defer way.Close()
		m.Profile = func(name string) bench.Profiler { return way.Case(ctx, name, sys.Now()) }
		m.Note = noting(sys)
	}
	return o.measuring(m, "bench").run(ctx, sys)
}

// comparing reports whether cases are compared. The single process of a replay has nothing
// to say there.
func (o *benchOptions) comparing() bool {
	return (o.compare || len(o.Code) > 1) && o.ProcessSeed == nil
}

func (o *benchOptions) measuring(m bench.Measurement, kind string) measuring {
	return measuring{
		Measurement: m, kind: kind, place: gitPlace(m.Sides[0].Options), out: o.out, format: o.format,
		past: o.past, file: pastName(o.File, o.Program != nil), judging: o.judging,
	}
}

// A measuring is what bench, compare or time measures, and what becomes of its record.
type measuring struct {
	bench.Measurement
	kind        string // of the record
	place       string // in the folder whose git commit the record names; "" where there is none
	out, format string

	past    pastFlags
	file    string            // what the history knows it by
	judging *record.Comparing // of the gate and of comparisons with the baseline
}

// run measures and reports what there is, whatever ended the run.
func (m measuring) run(ctx context.Context, sys Sys) error {
	past, err := m.past.begin(ctx, sys, "bench", m.file, m.judging)
	if err != nil {
		return err
	}
	sink, err := newSink(sys, m.out)
	if err != nil {
		return err
	}
	begun := past.sign(opening(sys, m.kind, m.place))
	rec, err := runMeasured(ctx, sys, m.Measurement, begun, past.watch(sink.write), atRound)
	if closeErr := sink.close(); err == nil {
		err = closeErr
	}
	var plan *bench.PlanError
	if errors.As(err, &plan) {
		printOutput(sys.Stderr, plan.Exit)
		return withRemedy(err)
	}
	if len(rec.Processes) == 0 && err != nil || refused(err) {
		return err
	}
	found := judged(rec)
	return past.finish(ctx, found.results, func() error {
		if m.out == "-" {
			return nil
		}
		return found.write(sys, m.format)
	}, func() error { return gated(m.judging, found.results.Comparisons) }, found.outcome, err)
}

// runMeasured runs a measurement beside the best that this machine is known for, shows what it is at, and keeps the best that it saw.
func runMeasured(ctx context.Context, sys Sys, m bench.Measurement, begun record.Run, write func(record.Line) error, at func(bench.Progress) string) (*record.Record, error) {
	known := store.ReadYardsticks(begun.Environment, sys.Now())
	begun.Yardsticks = known.Best()
	line := newProgress(sys)
	rec, err := bench.Run(ctx, m, begun, write, func(p bench.Progress) { line.Update(at(p), p.Elapsed, p.Left) })
	line.Clear()
	if len(rec.Processes) > 0 && !refused(err) {
		keepBest(sys, known, rec)
	}
	return rec, err
}

func atRound(p bench.Progress) string {
	if p.Round == 0 {
		return "warming up, " + p.Case
	}
	return fmt.Sprintf("round %d, %s", p.Round, p.Case)
}

// keepBest keeps the best that a run saw of the yardsticks. Where that fails, the run does not.
func keepBest(sys Sys, kept *store.Yardsticks, rec *record.Record) {
	if err := kept.Keep(quiet.Seen(rec)); err != nil {
		fmt.Fprintf(sys.Stderr, "moonlap: the machine's best is not kept: %v\n", err)
	}
}

func opening(sys Sys, kind, file string) record.Run {
	return record.Run{
		Schema: record.Schema, Kind: kind, Moonlap: version, Args: withoutSecrets(sys.Args...),
		Started: sys.Now().Format("2006-01-02T15:04:05.000Z07:00"), Environment: runtime.Environment(file),
	}
}

func listCases(ctx context.Context, sys Sys, o benchOptions) error {
	cases, err := bench.Plan(ctx, o.Options)
	if err != nil {
		return withRemedy(err)
	}
	for _, c := range cases {
		if _, err := fmt.Fprintln(sys.Stdout, c.Name); err != nil {
			return err
		}
	}
	return nil
}

// withRemedy adds to the error of a bench file what to do about it, where that is known.
func withRemedy(err error) error {
	if remedy := report.Remedy(err.Error()); remedy != "" {
		return fmt.Errorf("%w\n%s", err, remedy)
	}
	return err
}

// printOutput shows what a process that failed to load had printed.
func printOutput(w io.Writer, exit *record.Exit) {
	if exit == nil {
		return
	}
	for _, output := range []*record.Output{exit.Stdout, exit.Stderr} {
		if output != nil && output.Head != "" {
			fmt.Fprintln(w, output.Head)
		}
	}
}

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	if near := nearest(value, allowed); near != "" {
		return usageErrorf("%s %q: did you mean %s? There are %s", flag, value, near, strings.Join(allowed, ", "))
	}
	return usageErrorf("%s %q: there are %s", flag, value, strings.Join(allowed, ", "))
}
