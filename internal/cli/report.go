package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/whole"
)

// formats of results, for --format.
var formats = []string{"text", "json", "csv", "markdown", "benchfmt", "bencher", "github-benchmark"}

func newReportCommand(sys Sys) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report [flags] FILE…",
		Short: "Draw the report of a record or a profile again",
		Long: `Draw the report of a record that 'moonlap bench --out' kept.

All figures are computed anew from what was measured. A record that is cut off or
corrupt is read up to the fault, which is reported.

What 'moonlap profile', 'explain' and 'watch' wrote as JSON, captures included,
is drawn again as their runs showed it.

Several records are those of one run on several hosts ('moonlap compare --on'): they
stand side by side, and each comparison has a verdict over all hosts.`,
		Example: `  moonlap bench --out today.jsonl app.lua
  moonlap report today.jsonl
  moonlap report profile.json
  moonlap report today.web1.jsonl today.web2.jsonl today.web3.jsonl
  moonlap report --format benchfmt today.jsonl > today.txt; benchstat today.txt`,
		Args: someRecord,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return reportHosts(cmd.Context(), sys, args, format)
			}
			return runReport(cmd.Context(), sys, args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json, csv, markdown, benchfmt, bencher or\ngithub-benchmark; of load ndjson, too")
	return cmd
}

// someRecord is the argument check of a command that takes records.
func someRecord(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("which record? 'moonlap bench --out FILE' writes one")
	}
	return nil
}

func runReport(ctx context.Context, sys Sys, path, format string) error {
	if drawn, err := reportDocument(ctx, sys, path, format); drawn {
		return err
	}
	rec, err := readCases(ctx, sys, path)
	if rec == nil {
		return err
	}
	kind := rec.Run.Kind
	if kind == record.KindLoad && !slices.Contains(loadFormats, format) || kind != record.KindLoad && format == formatSeries {
		return usageErrorf("--format %s: a record of %s has none", format, kind)
	}
	found, stop := awaited(ctx, sys, "computing the figures of "+path, func() (judgedRecord, error) { return judged(rec), nil })
	if stop != nil {
		return stop
	}
	if drawn := found.write(sys, format); drawn != nil {
		return errors.Join(err, drawn)
	}
	if err != nil {
		return exitWith(ExitPartial, err)
	}
	return found.outcome
}

// A judgedRecord is what a record says, its comparisons included.
type judgedRecord struct {
	results *record.Results
	write   func(sys Sys, format string) error // the report, to stdout
	outcome error                              // the exit code that the results deserve
}

// judged computes what a record says, whichever command wrote it.
func judged(rec *record.Record) judgedRecord {
	switch rec.Run.Kind {
	case record.KindTime:
		res := whole.Summarize(rec)
		return judgedRecord{res.Results, func(sys Sys, format string) error { return writeTimeReport(sys, res, format) }, outcome(res.Results)}
	case record.KindLoad:
		res := load.Summarize(rec)
		return judgedRecord{res.Results, func(sys Sys, format string) error { return writeLoadReport(sys, res, format, true) }, loadOutcome(res)}
	}
	results := stat.Summarize(rec)
	results.Comparisons = stat.CompareTurns(rec, results)
	return judgedRecord{results, func(sys Sys, format string) error { return writeReport(sys, results, format) }, outcome(results)}
}

// readCases reads a record that has cases; nil where it has none. One with a fault is read up to that, which is the error.
func readCases(ctx context.Context, sys Sys, path string) (*record.Record, error) {
	rec, err := readRecord(ctx, sys, path)
	if rec == nil || len(rec.Cases) == 0 {
		return nil, cmp.Or(err, fmt.Errorf("%s holds no case", path))
	}
	return rec, err
}

// readRecord reads a record, - from stdin. A pipe may never end, so it is left when ctx ends.
func readRecord(ctx context.Context, sys Sys, path string) (*record.Record, error) {
	return awaited(ctx, sys, "reading "+path, func() (*record.Record, error) {
		if path == "-" {
			return record.Read(sys.Stdin, "standard input")
		}
		return record.ReadFile(path)
	})
}

// writeReport writes results to stdout in a format.
func writeReport(sys Sys, results *record.Results, format string) error {
	switch format {
	case "json":
		return record.WriteJSON(sys.Stdout, withHot(results))
	case "csv":
		return record.WriteCSV(sys.Stdout, results)
	case "benchfmt":
		tellMissing(sys.Stderr, results)
		return record.WriteBenchfmt(sys.Stdout, results)
	case "bencher":
		return record.WriteBencher(sys.Stdout, results)
	case "github-benchmark":
		return record.WriteGitHubBenchmark(sys.Stdout, results)
	}
	return report.Terminal(sys.Stdout, results, optionsIn(sys, format))
}

// withHot is a copy of results with the hottest lines of each case's profile, where one was kept.
func withHot(results *record.Results) *record.Results {
	const most = 20 // Lua lines
	out := *results
	out.Cases = slices.Clone(results.Cases)
	for i, c := range out.Cases {
		if c.Profile != nil {
			out.Cases[i].Hot = profile.Hot(c.Profile, most)
		}
	}
	return &out
}

// tellMissing names the cases that benchfmt has no line for: a comparison of two such
// files would leave them out without a word.
func tellMissing(w io.Writer, results *record.Results) {
	for _, c := range results.Cases {
		if c.NSPerCall == nil {
			fmt.Fprintf(w, "moonlap: %s has no single figure, so benchfmt has no line for it; --format text says why\n", c.Name)
		}
	}
}

// outcome is the exit code that results deserve: partial when a case has no figure
// for a fault, an error when none has one.
func outcome(results *record.Results) error {
	failed := 0
	for _, c := range results.Cases {
		if len(c.Faults) > 0 {
			failed++
		}
	}
	switch {
	case failed == 0 && results.Complete:
		return nil
	case failed == len(results.Cases) && failed > 0:
		return exitWith(ExitError, nil)
	}
	return exitWith(ExitPartial, nil)
}

// A sink keeps the record's lines in a file, or nowhere. A full disk costs the record,
// not the measurement: the first error is kept for close, and the lines after it go.
type sink struct {
	to   *record.Writer // nil: nowhere
	file io.Closer      // nil: not ours to close
	err  error
}

func newSink(sys Sys, path string) (*sink, error) {
	switch path {
	case "":
		return &sink{}, nil
	case "-":
		return &sink{to: record.NewWriter(sys.Stdout)}, nil
	}
	f, err := files.Create(path, files.Shared)
	if err != nil {
		return nil, fmt.Errorf("no record can be kept: %w", err)
	}
	return &sink{to: record.NewWriter(f), file: f}, nil
}

func (s *sink) write(l record.Line) error {
	if s.to != nil && s.err == nil {
		s.err = s.to.Write(l)
	}
	return nil
}

// close returns the first error there was.
func (s *sink) close() error {
	if s.file != nil {
		s.err = errors.Join(s.err, s.file.Close())
	}
	return s.err
}
