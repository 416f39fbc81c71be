package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/plot"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/store"
	"github.com/moonlap/moonlap/lap/lapplot"
)

type historyOptions struct {
	historyPlace
	format, add, remove, plot string
	rebuild, schema           bool
	html, commitURL           string
}

func newHistoryCommand(sys Sys) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history [flags] [CASE] | --add NAME RECORD…",
		Short: "Show figures over time, and where they changed",
		Long: `Show the runs that 'moonlap bench --save NAME' kept: without a case, the names and
cases there are; with one, its figure in every run. Steps are marked: changes that
neither the intervals nor the noise between runs explain.

Runs on another machine, VM or environment make a series of their own.

--add keeps records that 'bench', 'compare' or 'time' wrote with --out, here or on
another machine.

The records are kept, compressed, in the folder records/ beside the history's file.
The file is only an index of them, and --rebuild makes it again. Records that are
copied into the folder are found without it.`,
		Example: `  moonlap bench --save main app.lua
  moonlap history
  moonlap history concat
  moonlap history --plot concat.html concat
  moonlap history --format csv concat > concat.csv
  moonlap history --html site --commit-url https://example.org/it/{commit}
  moonlap history --add main monday.jsonl tuesday.jsonl
  moonlap history --delete experiment
  moonlap history --rebuild`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return runHistory(cmd.Context(), sys, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "text, json, csv or markdown")
	f.StringVar(&o.plot, "plot", "", "draw the figures with their steps, too: `FILE`.html, .svg or .png")
	f.StringVar(&o.html, "html", "", "write a page a case, and an index of them, into `FOLDER`")
	f.StringVar(&o.commitURL, "commit-url", "", "with --html: where a commit is shown, with {commit} in `URL`")
	f.StringVar(&o.add, "add", "", "keep records, of --out, under this `NAME`")
	f.StringVar(&o.remove, "delete", "", "delete the runs under this `NAME`, their records too")
	f.BoolVar(&o.rebuild, "rebuild", false, "make the index again from the records, all figures computed anew")
	f.BoolVar(&o.schema, "print-schema", false, "print what makes the tables of --index, for who must not")
	o.historyPlace.addFlags(f)
	return cmd
}

func (o *historyOptions) check(args []string) error {
	deed := o.rebuild || o.schema || o.remove != "" || o.add != ""
	switch {
	case o.commitURL != "" && !strings.Contains(o.commitURL, "{commit}"):
		return usageErrorf("--commit-url has {commit} where the commit stands: https://github.com/you/it/commit/{commit}")
	case o.html != "" && len(args) > 0:
		return usageErrorf("--html writes a page of each case: it takes none")
	case o.add != "" && len(args) == 0:
		return usageErrorf("which records? --add NAME RECORD…")
	case o.add == "" && deed && len(args) > 0:
		return usageErrorf("--rebuild, --delete and --print-schema take no case")
	case !deed && len(args) > 1:
		return usageErrorf("one case at a time, or all: moonlap history [CASE]")
	}
	if err := checkName("--add", o.add); err != nil {
		return err
	}
	if o.plot != "" {
		ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.plot), "."))
		if err := oneOf("--plot "+o.plot+": the file's ending", ending, lapplot.Formats...); err != nil {
			return err
		}
	}
	return nil
}

func runHistory(ctx context.Context, sys Sys, o historyOptions, args []string) error {
	s, err := o.open(sys)
	if err != nil {
		return err
	}
	line, begun := newProgress(sys), sys.Now()
	if o.schema {
		_, err := io.WriteString(sys.Stdout, s.Schema())
		return err
	}
	s.Progress = func(read, of int) {
		line.Update(fmt.Sprintf("record %d of %d", read+1, of), sys.Now().Sub(begun), time.Duration(0))
	}
	h, err := o.do(ctx, sys, s, args)
	line.Clear()
	if err != nil || h == nil {
		return err
	}
	if o.html != "" {
		return writeSite(sys, h, o.html, o.commitURL)
	}
	if err := o.write(sys, h, len(args) == 1); err != nil || o.plot == "" {
		return err
	}
	return drawHistory(h, o.plot, strings.Join(append([]string{"moonlap history"}, args...), " · "))
}

// do does what the flags ask for, and returns the history where it is asked for.
func (o *historyOptions) do(ctx context.Context, sys Sys, s *store.Store, args []string) (*record.History, error) {
	switch {
	case o.add != "":
		return nil, addRecords(ctx, sys, s, o.add, args)
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

// addRecords keeps all of the records in files, or none when one of them is not fit.
func addRecords(ctx context.Context, sys Sys, s *store.Store, name string, paths []string) error {
	var drafts []*store.Draft
	for _, path := range paths {
		d, err := s.Draft(path, name)
		if err != nil {
			return fmt.Errorf("nothing is added: %w", err)
		}
		drafts = append(drafts, d)
	}
	for _, d := range drafts {
		if _, err := s.Keep(ctx, d); err != nil {
			return err
		}
	}
	note(sys, fmt.Sprintf("saved %s as %s in %s", counted(len(drafts), "run"), name, s.Place))
	return nil
}

// drawHistory writes a plot; the file's ending says its format.
func drawHistory(h *record.History, file, title string) error {
	f, err := plot.History(h, title)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return f.WriteFile(file)
}

// write writes the history of all cases or of one.
func (o *historyOptions) write(sys Sys, h *record.History, one bool) error {
	switch o.format {
	case "json":
		return jsontext.Write(sys.Stdout, h)
	case "csv":
		return record.WriteHistoryCSV(sys.Stdout, h)
	}
	opt := optionsIn(sys, o.format)
	if one {
		return report.HistoryOf(sys.Stdout, h, opt)
	}
	return report.History(sys.Stdout, h, opt)
}
