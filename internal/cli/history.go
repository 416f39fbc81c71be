package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/store"
)

type historyOptions struct {
	file, format, remove string
	rebuild              bool
}

func newHistoryCommand(sys Sys) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history [flags] [CASE]",
		Short: "Show figures over time, with the steps in them",
		Long: `Show the runs that 'moonlap bench --save NAME' kept: without a case, the names and
cases there are; with one, its figure in every run, with the steps that neither the
intervals nor the noise from run to run explain.

Runs on another machine, VM or environment make a series of their own.

The records are kept compressed in the folder records/ beside the history's file,
which is an index of them: --rebuild makes it again, records copied into the folder
enter it by themselves.`,
		Example: `  moonlap bench --save main app.lua
  moonlap history
  moonlap history concat
  moonlap history --format csv concat > concat.csv
  moonlap history --delete experiment
  moonlap history --rebuild`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return runHistory(cmd.Context(), sys, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "text, json, csv or markdown")
	f.StringVar(&o.remove, "delete", "", "delete the runs under this `NAME`, their records too")
	f.BoolVar(&o.rebuild, "rebuild", false, "make the index again from the records, all figures computed anew")
	addHistoryFlag(f, &o.file)
	return cmd
}

func (o *historyOptions) check(args []string) error {
	switch {
	case o.rebuild && o.remove != "":
		return usageErrorf("--rebuild or --delete, not both")
	case (o.rebuild || o.remove != "") && len(args) > 0:
		return usageErrorf("--rebuild and --delete take no case")
	}
	return oneOf("--format", o.format, "text", "json", "csv", "markdown")
}

func runHistory(ctx context.Context, sys Sys, o historyOptions, args []string) error {
	s, err := openStore(sys, o.file)
	if err != nil {
		return err
	}
	line, begun := newProgress(sys), sys.Now()
	s.Progress = func(read, of int) {
		line.Update(fmt.Sprintf("record %d of %d", read+1, of), sys.Now().Sub(begun), time.Duration(0))
	}
	h, err := o.do(ctx, sys, s, args)
	line.Clear()
	if err != nil || h == nil {
		return err
	}
	return o.write(sys, h, len(args) == 1)
}

// do does what the flags ask for, and returns the history where it is asked for.
func (o *historyOptions) do(ctx context.Context, sys Sys, s *store.Store, args []string) (*record.History, error) {
	switch {
	case o.rebuild:
		runs, err := s.Rebuild(ctx)
		if err == nil {
			note(sys, fmt.Sprintf("the index holds %s", counted(runs, "run")))
		}
		return nil, err
	case o.remove != "":
		runs, err := s.Delete(ctx, o.remove)
		if err == nil {
			note(sys, fmt.Sprintf("deleted %s", counted(runs, "run")))
		}
		return nil, err
	case len(args) == 1:
		return s.History(ctx, args[0])
	}
	return s.History(ctx, "")
}

// write writes the history of all cases or of one.
func (o *historyOptions) write(sys Sys, h *record.History, one bool) error {
	switch o.format {
	case "json":
		out := json.NewEncoder(sys.Stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(h)
	case "csv":
		return record.WriteHistoryCSV(sys.Stdout, h)
	case "markdown":
		return report.HistoryMarkdown(sys.Stdout, h, one)
	}
	opt := report.Options{Width: sys.Width(), Color: sys.StdoutTerminal && sys.Getenv("NO_COLOR") == ""}
	if one {
		return report.HistoryOf(sys.Stdout, h, opt)
	}
	return report.History(sys.Stdout, h, opt)
}
