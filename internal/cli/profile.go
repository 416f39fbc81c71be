package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

type profileOptions struct {
	chosenWorkers
	profiles.Options
	pushFlags
	continuousOptions
	duration           time.Duration
	evidence           evidenceFlags
	format, out, title string
	diff, lines        bool
	baseline           string
	ofCase             string
	command            []string // to be run under the profiler
	bounded            bool     // --duration was given
}

const profileHelp = `Profile running nginx workers, or a command: Lua, C and kernel functions in one
stack, with the Lua line also in compiled code, by request and phase. It
needs no debug symbols, no restart and no change of the configuration.

What to count, one of:

  --on-cpu       samples of where workers compute (the default)
  --off-cpu      time in which something put a worker to sleep, so that its
                 event loop stood still; not ngx.sleep and cosockets
  --wall         both, as time, without waiting for events
  --stalls 10ms  time inside event-loop turns of at least that length
  --allocations  bytes that Lua lines allocate, and for which request

What to time beside it; these two and --allocations exclude one another:

  --locks        how long locks of shared memory are waited for and held
  --resumes      how long each resume (one run of Lua) takes, by phase, and how
                 long requests wait in between

Their probes cost about 3 µs for each lock or resume, and 0.75 µs for each
allocation. Where that exceeds --budget, they are attached in bursts.

The summary also says why Lua was interpreted, and which lines match regular
expressions.

Samples come through eBPF, and nothing is stopped. That takes root, or CAP_BPF,
CAP_PERFMON and CAP_SYS_PTRACE, and a kernel with BTF: Linux 6.1 is the oldest
that was tried. Elsewhere, and with --by ptrace, each sample stops the worker
for a fraction of a millisecond, --pause at most, and stops take at most 5 % of
its time. Such samples know no durations, miss short sleeps, and see no turns.

With --master and --all, workers that a reload starts are profiled too.

A command runs until it ends, or until --duration is over. All its processes
with LuaJIT in them are profiled. Its stdout goes to stderr.

Formats, by the file's ending or --format: html, an interactive flame graph in
one file; svg, a picture; pprof, for 'go tool pprof'; folded, for FlameGraph's
tools; speedscope, for speedscope.app; json, everything. In folded stacks a Lua
frame is function@file.lua:line, with _[j] where it is compiled; functions of
the kernel end in _[k]. Without --out there is only the summary.

A FILE that --format json wrote, or a record with what 'moonlap bench
--profile' kept, is drawn again, or written in another format.

--diff compares two such files, and --baseline FILE compares one with what is
sampled now. The result has the lines, functions and stacks whose share differs
by more than sampling error. Its formats are html, svg, folded and json.

--push sends the profile to Pyroscope or Parca. --continuous goes on until
Ctrl-C and makes a profile every 10 s, which are sent, or written into the folder
--out. While the server is away up to 360 of them wait; then the oldest go. Ctrl-C
sends what is left.`

const profileExamples = `  moonlap profile --pid 4711 --out profile.html
  moonlap profile --all --duration 30s --out profile.pprof
  go tool pprof -top profile.pprof
  moonlap profile --master $(cat /run/nginx.pid) --off-cpu --out blocked.svg
  moonlap profile --all --stalls 50ms --duration 1m
  moonlap profile --master $(cat /run/nginx.pid) --wall --locks
  moonlap profile --master $(cat /run/nginx.pid) --resumes --duration 30s
  moonlap profile --pid 4711 --resumes --budget 100% --out resumes.json
  moonlap profile --master $(cat /run/nginx.pid) --allocations --out a.html
  moonlap profile --allocations --out script.pprof -- luajit script.lua
  moonlap profile --pid 4711 --format folded --out - | flamegraph.pl > p.svg
  moonlap profile --out script.html -- luajit script.lua
  moonlap profile --duration 1m --out s.html -- nginx -g 'daemon off;'
  moonlap profile --all --out before.json
  moonlap profile --all --baseline before.json --out changed.html
  moonlap profile --diff before.json after.json --out changed.html
  moonlap profile today.jsonl --case upper --out upper.html
  moonlap profile --all --push http://127.0.0.1:4040/ingest
  moonlap profile --all --continuous --push http://127.0.0.1:4040/ingest
  moonlap profile --all --continuous --out profiles --keep 360`

func newProfileCommand(sys Sys) *cobra.Command {
	var o profileOptions
	cmd := &cobra.Command{
		Use:     "profile --pid PID|--master PID|--all | FILE | --diff BEFORE AFTER [flags] [-- COMMAND]",
		Short:   "Profile workers or a command: Lua and C in one flame graph",
		Long:    profileHelp,
		Example: profileExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, o.command = args[:at], args[at:]
			}
			o.bounded = cmd.Flags().Changed("duration")
			o.choose(cmd.Flags())
			if err := o.check(args); err != nil {
				return err
			}
			if o.Stalls > 0 && !cmd.Flags().Changed("hz") {
				o.Hz = profiles.HzFor(o.Stalls)
			}
			if o.continuous && o.Stalls == 0 && !cmd.Flags().Changed("hz") {
				o.Hz = continuousHz
			}
			switch {
			case o.diff:
				return o.diffs(cmd.Context(), sys, args[0], args[1])
			case len(args) == 1:
				return o.again(cmd.Context(), sys, args[0])
			}
			return runProfile(cmd.Context(), sys, o)
		},
	}
	f := cmd.Flags()
	o.chosenWorkers.addFlags(f)
	f.DurationVar(&o.duration, "duration", 10*time.Second, "how long to profile; a command until it ends,\nunless given")
	f.Float64Var(&o.Hz, "hz", 99, "samples of each worker a second; through eBPF,\na second of its CPU time")
	f.StringVar(&o.By, "by", profiles.Auto, "ebpf, ptrace, or auto, which is eBPF where it\nworks")
	f.DurationVar(&o.Pause, "pause", sample.DefaultHold, "by ptrace: how long a sample may stop a worker;\nwhat is not read by then is left out")
	o.addModes(f)
	o.evidence.addFlags(f, profiles.Kinds)
	o.Budget = 0.01
	f.Var((*percentFlag)(&o.Budget), "budget", "share of a worker's time that --locks, --resumes\nand --allocations may cost")
	f.StringVar(&o.out, "out", "", "write the profile to `FILE`; - is stdout")
	f.StringVar(&o.format, "format", "", "html, svg, pprof, folded, speedscope or json,\nwhere the file's ending does not say")
	f.StringVar(&o.title, "title", "", "title of the flame graph")
	f.StringVar(&o.ofCase, "case", "", "`NAME` of the case, where a record holds several")
	f.BoolVar(&o.diff, "diff", false, "compare the profiles BEFORE and AFTER, JSON files\nof this command")
	f.StringVar(&o.baseline, "baseline", "", "compare with the profile in `FILE`, as --diff does")
	o.continuousOptions.addFlags(f)
	o.pushFlags.addFlags(f)
	f.BoolVar(&o.lines, "lines", false, "in a difference, tell a function's lines apart:\nthey move when a file is edited")
	return cmd
}

func (o *profileOptions) check(args []string) error {
	if o.given() {
		if err := morePIDs(args); err != nil {
			return err
		}
	}
	switch {
	case o.diff && len(args) != 2:
		return usageErrorf("--diff BEFORE AFTER: two files that 'moonlap profile --format json' wrote")
	case !o.diff && len(args) > 1:
		return usageErrorf("%q: what is it? Two files go with --diff, a command behind --", args[1])
	case len(args) == 1 && (o.given() || o.command != nil || o.baseline != ""):
		return usageErrorf("%s, or workers, not both", args[0])
	case o.ofCase != "" && len(args) == 0 && o.baseline == "":
		return usageErrorf("--case is for a record")
	case o.command != nil && (len(o.command) == 0 || o.diff || o.given()):
		return usageErrorf("-- COMMAND: a command, and neither workers nor --diff")
	}
	if len(args) == 0 && o.command == nil {
		if err := o.chosenWorkers.check(); err != nil {
			return err
		}
	}
	if err := o.Check(len(args) > 0, o.command != nil); err != nil {
		return usageError(err)
	}
	if err := o.name(o.command); err != nil {
		return err
	}
	if o.continuous {
		return o.checkContinuous(args)
	}
	if o.out == "" && o.format == "json" {
		o.out = "-" // as every command's --format json has it
	}
	var err error
	if o.format, err = outFormat(o.out, o.format, heapFormats); err != nil || o.out == "" {
		return err
	}
	if o.diff || o.baseline != "" {
		return oneOf("--format", o.format, profile.DiffFormats...)
	}
	return nil
}

// addModes adds a flag for each mode, all of which but --stalls are on or off.
func (o *profileOptions) addModes(f *pflag.FlagSet) {
	for _, m := range profiles.Modes {
		if m.Name == sample.Stalls {
			f.DurationVar(&o.Stalls, m.Name, 0, m.Usage)
			continue
		}
		f.Bool(m.Name, false, m.Usage)
	}
}

// choose takes the mode and the evidence that were asked for.
func (o *profileOptions) choose(f *pflag.FlagSet) {
	o.Mode, o.Beside = profiles.Modes[0], o.evidence.wanted()
	if i := slices.IndexFunc(profiles.Modes, func(m profiles.Mode) bool { return given(f.Lookup(m.Name)) }); i >= 0 {
		o.Mode = profiles.Modes[i]
	}
}
