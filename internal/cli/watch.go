package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/watch"
	"github.com/moonlap/moonlap/internal/worker"
)

type watchOptions struct {
	chosenWorkers
	every time.Duration
	once  bool
	json  bool
}

func newWatchCommand(sys Sys) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:   "watch [--pid PID|--master PID|--all] [flags]",
		Short: "Watch running nginx workers: CPU, Lua, memory, switches, I/O",
		Long: `Watch running nginx workers, one line each, again and again until Ctrl-C: what share of a processor
they use and wait for, what Lua does in them and for which request, its heap and traces, their
memory, sockets, context switches and bytes read and written.

Workers are not stopped: Lua's state is read about a hundred times a second as it stands. What
is needed for that is the same as for 'moonlap explain'. On a terminal the table is drawn in
place; elsewhere one follows the other. With --json each interval is one line.`,
		Example: `  moonlap watch
  moonlap watch --once
  moonlap watch --master $(cat /run/nginx.pid) --every 5s
  moonlap watch --pid 4711 --json | jq .workers[0].lua_share`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.given() {
				o.all = true
			}
			if err := o.chosenWorkers.check(); err != nil {
				return err
			}
			if o.every < 100*time.Millisecond {
				return usageErrorf("--every must be at least 100ms")
			}
			return runWatch(cmd.Context(), sys, o)
		},
	}
	f := cmd.Flags()
	o.addFlags(f)
	f.DurationVar(&o.every, "every", 2*time.Second, "length of an interval")
	f.BoolVar(&o.once, "once", false, "one interval, and done")
	f.BoolVar(&o.json, "json", false, "write each interval as a line of JSON")
	return cmd
}

// watched is what --json writes for an interval.
type watched struct {
	Schema  string      `json:"schema"`
	Kind    string      `json:"kind"`
	At      time.Time   `json:"at"` // its end
	Workers []watch.Row `json:"workers"`
}

func runWatch(ctx context.Context, sys Sys, o watchOptions) error {
	open := map[int]*worker.Worker{}
	defer func() {
		for _, w := range open {
			w.Close()
		}
	}()
	lines := 0 // that the last table took
	for {
		pids, err := o.find() // anew, because a reload starts other workers
		if err != nil {
			return err
		}
		rows := watchAll(ctx, open, pids, o.every)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		seen := 0
		for _, r := range rows {
			if r.Error == "" {
				seen++
			}
		}
		if seen == 0 {
			return errors.New(rows[0].Error)
		}
		if o.json {
			if err := json.NewEncoder(sys.Stdout).Encode(watched{record.Schema, "watch", sys.Now().UTC(), rows}); err != nil {
				return err
			}
		} else {
			if sys.StdoutTerminal && lines > 0 {
				fmt.Fprintf(sys.Stdout, "\x1b[%dA\x1b[J", lines) // over the last one
			}
			lines, err = report.Watch(sys.Stdout, rows, sys.Now(), report.Options{
				Width: sys.Width(), Color: sys.StdoutTerminal && sys.Getenv("NO_COLOR") == "",
			})
			if err != nil {
				return err
			}
		}
		if o.once {
			if seen < len(rows) {
				return exitWith(ExitPartial, nil)
			}
			return nil
		}
	}
}

// watchAll watches the workers side by side for an interval. open keeps those that are known.
func watchAll(ctx context.Context, open map[int]*worker.Worker, pids []int, every time.Duration) []watch.Row {
	rows := make([]watch.Row, len(pids))
	var wait sync.WaitGroup
	for i, pid := range pids {
		if open[pid] == nil {
			w, err := worker.Open(pid)
			if err != nil {
				rows[i] = watch.Row{PID: pid, Error: err.Error()}
				continue
			}
			open[pid] = w
		}
		wait.Go(func() { rows[i] = watch.Interval(ctx, open[pid], every) })
	}
	wait.Wait()
	for i, r := range rows {
		if w := open[pids[i]]; w != nil && r.Error != "" { // it ended; its number may come again
			w.Close()
			delete(open, pids[i])
		}
	}
	return rows
}
