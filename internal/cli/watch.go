package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/store"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/watch"
)

type watchOptions struct {
	chosenWorkers
	every    time.Duration
	once     bool
	json     bool
	listen   string
	dicts    bool
	top      int
	evidence evidenceFlags
	budget   percentFlag // of a worker's time, for these

	capture captureOptions
}

const watchHelp = `Watch running nginx workers, interval after interval until Ctrl-C:

  - the share of a processor that they use, and wait for
  - what Lua does, in which phase and for which request
  - requests in flight, with their light threads and where each waits
  - connections, timers, cosocket pools, and how full shared memory is
  - how long events wait for the event loop
  - Lua's heap, its collector, traces, and what LuaJIT will not compile
  - memory, context switches, I/O, and the counters of kernel and processor

--dicts adds what is in shared dicts: entries, expired ones, and what is
evicted alive. --locks adds how long locks of shared memory are waited for and
held. It takes eBPF and costs about 3 µs a lock. Where that exceeds --budget,
locks are timed in bursts.

Workers are not stopped: their memory is read as it is, about a hundred times a
second. It needs what 'moonlap explain' needs. What is wrong comes first, with the
command to type next. On a terminal the page is drawn in place: arrows scroll it,
s sorts workers, tab opens one, q ends. Elsewhere one page follows the other.
--top-lines adds the Lua lines and functions that use most CPU time. With --json
each interval is one line. With --listen nothing is drawn, and Prometheus may read the last interval
at http://ADDRESS/metrics.

With --capture FOLDER nothing is drawn either. The last seconds of each worker
stay in memory, as 'moonlap profile --wall' samples them through eBPF. When a
--when is met, they are written: a folder an event, with a summary, a flame
graph and all of it as JSON. Conditions:

  turn>100ms      an event-loop turn took that long; timing turns makes every
                  system call of the machine 0.15 µs slower
  held>100ms      Lua held the event loop that long, by samples, to 10 ms
  sleep>50ms      anything but waiting for events put the worker to sleep
  request>2s      a request has been in flight that long
  cpu>95% for 5s  the worker's main thread used that much of a processor
  gc>30% for 2s   Lua's garbage collector did
  heap>200MB      Lua's heap is that large
  growth>150%     it is that much above its largest before; heaps often double
  ended           a signal ended the worker, or its exit status was not 0`

const watchExamples = `  moonlap watch
  moonlap watch --once
  moonlap watch --master $(cat /run/nginx.pid) --every 5s
  moonlap watch --dicts --top 10 --once
  moonlap watch --locks --every 10s
  moonlap watch --top-lines --every 1s
  moonlap watch --pid 4711 --json | jq .workers[0].head.event_loop.p99_ns
  moonlap watch --listen 127.0.0.1:9145
  moonlap watch --capture stalls
  moonlap watch --capture stalls --when 'turn>50ms' --when 'heap>500MB'
  moonlap watch --pid 4711 --capture slow --when 'request>5s' --limit 3 --json`

func newWatchCommand(sys Sys) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:     "watch [--pid PID|--master PID|--all] [flags]",
		Short:   "Watch workers live: requests, event loop, Lua, memory, I/O",
		Long:    watchHelp,
		Example: watchExamples,
		Args:    flagsAlone,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.given() {
				o.All = true
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			if o.capture.Folder != "" {
				return runCapture(cmd.Context(), sys, o)
			}
			return runWatch(cmd.Context(), sys, o)
		},
	}
	f := cmd.Flags()
	o.addFlags(f)
	f.DurationVar(&o.every, "every", 2*time.Second, "length of an interval")
	f.BoolVar(&o.once, "once", false, "one interval, and done")
	f.BoolVar(&o.json, "json", false, "write each interval as a line of JSON")
	f.BoolVar(&o.dicts, "dicts", false, "also what is in shared dicts, and what they evict")
	f.IntVar(&o.top, "top", 0, "also the `N` largest entries of each dict, by key")
	o.evidence.addFlags(f, watch.Kinds)
	o.budget = 0.01
	f.Var(&o.budget, "budget", "share of a worker's time that --locks may\ncost")
	f.StringVar(&o.listen, "listen", "", "serve a page for Prometheus at this loopback\n`ADDRESS`, such as 127.0.0.1:9145")
	o.capture.addFlags(f)
	return cmd
}

func (o *watchOptions) check(f *pflag.FlagSet) error {
	if err := o.chosenWorkers.check(); err != nil {
		return err
	}
	if err := o.capture.check(f); err != nil {
		return err
	}
	o.dicts = o.dicts || o.top > 0
	if o.listen == "" {
		return nil
	}
	if err := watch.CheckLoopback(o.listen); err != nil {
		return usageError(err)
	}
	return nil
}

func runWatch(ctx context.Context, sys Sys, o watchOptions) error {
	all := &watch.Watching{
		Choice: o.Choice, Every: o.every, Once: o.once, Waits: o.listen != "", Dicts: o.dicts, Top: o.top,
		Kinds: o.evidence.wanted(), Budget: float64(o.budget), Now: sys.Now,
		Best: store.ReadYardsticks(runtime.Environment(""), sys.Now()).Best(),
	}
	if len(all.Kinds) > 0 {
		if err := observe.Possible(); err != nil {
			return fmt.Errorf("--%s: %w", all.Kinds[0].Name, err)
		}
	}
	screen := &watch.Screen{
		To: sys.Stdout, Terminal: sys.StdoutTerminal, Height: sys.Height, Now: sys.Now, Options: func() ui.Options { return reportOptions(sys) },
	}
	all.Show = screen.Show
	if o.json {
		all.Show = func(s watch.Snapshot) error { return jsontext.NewEncoder(sys.Stdout).Encode(s) }
	}
	var err error
	switch {
	case o.listen != "":
		err = serveWatch(ctx, sys, o, all)
	case !o.json && !o.once && interactive(sys):
		return all.Live(ctx, sys.Stdin, sys.Stdout, reportOptions(sys))
	default:
		err = all.Run(ctx)
	}
	if errors.Is(err, watch.ErrSome) {
		return exitWith(ExitPartial, nil) // the page says which
	}
	return err
}

// serveWatch has Prometheus read the intervals, which are drawn as JSON alone.
func serveWatch(ctx context.Context, sys Sys, o watchOptions, all *watch.Watching) error {
	metrics := &watch.Metrics{}
	serving, err := metrics.Serve(ctx, sys.Stderr, o.listen)
	if err != nil {
		return err
	}
	show := all.Show
	all.Show = func(s watch.Snapshot) error {
		metrics.Observe(s)
		if o.json {
			return show(s)
		}
		return nil
	}
	return all.Run(serving)
}

// interactive reports whether somebody sits at a terminal who may type.
func interactive(sys Sys) bool {
	in, ok := sys.Stdin.(*os.File)
	return ok && sys.StdoutTerminal && term.IsTerminal(int(in.Fd()))
}
