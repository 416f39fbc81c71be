package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/view/explain"
)

type explainOptions struct {
	pid      int
	root     string
	duration time.Duration
	pause    time.Duration // that a sample may stop the worker for
	json     bool
}

func newExplainCommand(sys Sys) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain --pid PID|CORE",
		Short: "Show what a running nginx worker does, and in which Lua line",
		Long: `Show what a running nginx worker is doing: stuck in a loop, blocked, busy or
idle; in which Lua line, for which request, with its Lua and C stack; and what
to try. Then the requests in flight, with their light threads and where each
waits, and Lua's timers by what they call.

The worker is sampled about a hundred times a second. Each sample stops it, for
--pause at most, and stops take at most 5 % of its time; the report shows how
long. Nothing is written into it. It needs no debug symbols, no restart and no
change of the configuration.

It works on x86-64 Linux, as root or with CAP_SYS_PTRACE, for nginx with the
Lua module and OpenResty, whose LuaJIT has 64-bit pointers (the default since
2019). C functions that a stripped program does not name are shown by their
offset.

Of a core file it shows what the process did when the file was written: its
stack, the request, the signal.`,
		Example: `  moonlap explain --pid 4711
  moonlap explain --pid 4711 --duration 10s
  moonlap explain --pid $(pgrep -n nginx) --json
  moonlap explain /var/crash/core.4711`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && (o.pid != 0 || cmd.Flags().Changed("duration") || cmd.Flags().Changed("pause")):
				return usageErrorf("--pid, --duration and --pause are for a running worker, not for a core file")
			case len(args) == 1:
				p, err := explain.Core(args[0], o.root)
				if err != nil {
					return err
				}
				return writeExplained(sys, p, o.json)
			case o.root != "":
				return usageErrorf("--root is for core files")
			case o.pid <= 0:
				return usageErrorf("--pid of which worker? 'pgrep -a nginx' lists them")
			}
			return runExplain(cmd.Context(), sys, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.pid, "pid", 0, "process `ID` of the worker")
	f.DurationVar(&o.duration, "duration", time.Second, "how long to sample")
	f.DurationVar(&o.pause, "pause", sample.DefaultHold, "how long a sample may stop the worker;\nwhat is not read by then is left out")
	f.StringVar(&o.root, "root", "", "`FOLDER` that has a core's programs and libraries,\nas they were in / (default: where they were)")
	f.BoolVar(&o.json, "json", false, "write the explanation as JSON")
	return cmd
}

func runExplain(ctx context.Context, sys Sys, o explainOptions) error {
	line := newProgress(sys)
	p, err := explain.Worker(ctx, o.pid, o.duration, o.pause, func(elapsed time.Duration) {
		line.Update(fmt.Sprintf("sampling worker %d", o.pid), elapsed, o.duration-elapsed)
	})
	line.Clear()
	if p == nil {
		return err
	}
	if err := writeExplained(sys, p, o.json); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // what was seen up to then stands
		return exitWith(ExitPartial, err)
	}
	return nil
}

func writeExplained(sys Sys, p *profile.Profile, asJSON bool) error {
	if asJSON {
		return p.WriteDocument(sys.Stdout, "explain")
	}
	return explain.Draw(sys.Stdout, p, reportOptions(sys))
}
