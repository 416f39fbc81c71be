package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/plot"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/hosts"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/lap/lapplot"
)

type plotOptions struct {
	kinds              []string
	only               string
	out, format, title string
}

func newPlotCommand(sys Sys) *cobra.Command {
	var o plotOptions
	cmd := &cobra.Command{
		Use:   "plot [flags] RECORD… --out FILE.html|svg|png",
		Short: "Draw timeline, density and percentiles of records",
		Long: `Draw what records hold that 'moonlap bench --out' or 'moonlap compare --out' kept:

  timeline     batches over time, process beside process; where a trace was
               recorded, where the collector ran, and, pale, the batches
               that are not in the figures
  density      how often which times occur
  percentiles  the tail, on a scale where each further nine takes the same room
  heatmap      of each case, which times its batches had over time
  forest       where the records are those of several hosts ('moonlap compare
               --on'): the ratio on each host, and on hosts like these

Batches and single calls (bench --laps) have charts of their own. The cases of all
records are drawn over each other. Above them stand the verdicts, the table of the
cases and what was measured with, as in the report. The file's ending says the
format. The HTML page zooms, shows values under the cursor, switches series on and
off, and works offline.`,
		Example: `  moonlap bench --out today.jsonl app.lua
  moonlap plot today.jsonl --out today.html
  moonlap plot today.jsonl --kind timeline --case '^router' --out router.svg
  moonlap plot today.web1.jsonl today.web2.jsonl --kind forest --out hosts.html
  moonlap plot before.jsonl after.jsonl --kind percentiles --out both.png
  moonlap plot today.jsonl --out - --format svg | rsvg-convert > today.png`,
		Args: someRecord,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPlot(cmd.Context(), sys, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "write the plot to `FILE`; - is stdout")
	f.StringVar(&o.format, "format", "", "html, svg or png, where the file's ending does not say")
	f.StringSliceVar(&o.kinds, "kind", nil, "timeline, density, percentiles, heatmap or forest; several with\ncommas (default all)")
	f.StringVar(&o.only, "case", "", "only cases whose name matches `RE`")
	f.StringVar(&o.title, "title", "", "title of the plot (default the records' names)")
	return cmd
}

func runPlot(ctx context.Context, sys Sys, o plotOptions, paths []string) error {
	options, err := o.complete()
	if err != nil {
		return err
	}
	sources, readErr, err := readSources(ctx, sys, paths)
	if err != nil {
		return err
	}
	if options.Title == "" {
		var names []string
		for _, s := range sources {
			names = append(names, s.Name)
		}
		options.Title = strings.Join(names, ", ")
	}
	picture, err := awaited(ctx, sys, "drawing "+options.Title, func() ([]byte, error) {
		figure, err := figureOf(sources, options)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = figure.Write(&b, o.format)
		return b.Bytes(), err
	})
	switch {
	case errors.Is(err, plot.ErrNoCase) && o.only != "":
		return usageErrorf("--case %s: %w", o.only, err)
	case err == nil:
		err = writeOut(sys, o.out, "the plot", picture, files.Shared)
	}
	if err != nil {
		return errors.Join(readErr, err)
	}
	if readErr != nil {
		return exitWith(ExitPartial, readErr)
	}
	return nil
}

// figureOf draws sources, or one run of load, which has charts of its own.
func figureOf(sources []plot.Source, options plot.Options) (*lapplot.Figure, error) {
	isLoad := func(s plot.Source) bool { return s.Record.Run.Kind == record.KindLoad }
	switch {
	case !slices.ContainsFunc(sources, isLoad):
		above, err := above(sources, options.Case)
		if err != nil {
			return nil, err
		}
		options.Report, options.Hosts = above, onHosts(sources)
		return plot.Figure(sources, options)
	case len(sources) > 1:
		return nil, errors.New("a run of load is drawn alone: 'moonlap load --join' merges several into one page")
	case options.Case != nil:
		return nil, usageErrorf("--case is not for a run of load, whose sides are drawn together")
	}
	return loadFigure(load.Summarize(sources[0].Record), sources[0].Record.Run, options.Kinds...)
}

// onHosts is what several records say together where each is a host's: all have a comparison in common.
func onHosts(sources []plot.Source) *record.HostsResult {
	if len(sources) < 2 {
		return nil
	}
	paths := make([]string, len(sources))
	for i, s := range sources {
		paths[i] = s.Name
	}
	var found []hosts.Found
	for i, name := range hostNames(paths) {
		found = append(found, *foundIn(sources[i].Record, name, paths[i]))
	}
	res := hosts.Merge(found, minEffectOf(found))
	res.Comparisons = slices.DeleteFunc(res.Comparisons, func(c record.HostComparison) bool { return len(c.Hosts) < len(sources) })
	return res
}

// above is what stands above the plots: of each record its verdicts, and the table of the cases that are drawn.
func above(sources []plot.Source, only *regexp.Regexp) (string, error) {
	var b strings.Builder
	left := func(name string) bool { return only != nil && !only.MatchString(name) }
	for i, s := range sources {
		results := stat.Summarize(s.Record)
		results.Comparisons = slices.DeleteFunc(stat.CompareTurns(s.Record, results), func(c record.Comparison) bool { return left(c.A) || left(c.B) })
		results.Cases = slices.DeleteFunc(results.Cases, func(c record.CaseResult) bool { return left(c.Name) })
		name := ""
		if len(sources) > 1 {
			name = s.Name
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := report.AbovePlots(&b, results, s.Record.Run, name, ui.Options{}); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// complete checks the flags.
func (o *plotOptions) complete() (plot.Options, error) {
	options := plot.Options{Title: o.title, Kinds: o.kinds}
	if o.only != "" {
		re, err := regexp.Compile(o.only)
		if err != nil {
			return options, usageErrorf("--case: %w", err)
		}
		options.Case = re
	}
	if o.out == "" {
		return options, usageErrorf("where to? --out FILE.html, FILE.svg or FILE.png")
	}
	if o.format == "" {
		o.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(o.out), "."))
		if o.out == "-" || o.format == "" {
			return options, usageErrorf("in which format? --format html, svg or png")
		}
	}
	return options, oneOf("the format", o.format, lapplot.Formats...)
}

// readSources reads records. A record that is cut off or corrupt is read up to the fault,
// which is partial.
func readSources(ctx context.Context, sys Sys, paths []string) (sources []plot.Source, partial, err error) {
	for _, path := range paths {
		rec, readErr := readCases(ctx, sys, path)
		if rec == nil {
			return nil, nil, readErr
		}
		if rec.Run.Kind == record.KindTime {
			return nil, nil, fmt.Errorf("%s holds runs of whole commands, which have no plot; 'moonlap report %[1]s' draws it", path)
		}
		partial = errors.Join(partial, readErr)
		name := path
		if slices.ContainsFunc(sources, func(s plot.Source) bool { return s.Name == path }) {
			name = fmt.Sprintf("%s#%d", path, len(sources)+1)
		}
		sources = append(sources, plot.Source{Name: name, Record: rec})
	}
	return sources, partial, nil
}
