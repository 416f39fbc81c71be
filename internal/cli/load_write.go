package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence/allocations"
	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/plot"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// writeLoadReport writes the results of a record of load to stdout.
func writeLoadReport(sys Sys, res *record.LoadResults, format string, percentiles bool) error {
	switch format {
	case "text":
		return report.Load(sys.Stdout, res, report.LoadOptions{Options: reportOptions(sys), Percentiles: percentiles})
	case "markdown":
		return report.Load(sys.Stdout, res, report.LoadOptions{Options: ui.Options{Markdown: true}})
	case "json":
		return record.WriteLoadJSON(sys.Stdout, res)
	case formatSeries:
		return record.WriteLoadSeries(sys.Stdout, res)
	case "csv":
		return record.WriteLoadCSV(sys.Stdout, res)
	}
	return writeReport(sys, res.Results, format)
}

// writePages writes the files that were asked for beside the report.
func (o loadOptions) writePages(sys Sys, res *record.LoadResults, run record.Run) error {
	if o.page != "" {
		var b bytes.Buffer
		figure, err := loadFigure(res, run)
		if err != nil {
			return err
		}
		if err := figure.WriteHTML(&b); err != nil {
			return err
		}
		if err := writeOut(sys, o.page, "the page", b.Bytes(), files.Shared); err != nil {
			return err
		}
	}
	if o.metricsF != "" {
		var b bytes.Buffer
		if err := record.WriteLoadPrometheus(&b, res); err != nil {
			return err
		}
		return writeOut(sys, o.metricsF, "the figures", b.Bytes(), files.Shared)
	}
	return nil
}

// loadFigure draws results of load, with a flame graph of each side that has a profile, and what differs between these.
func loadFigure(res *record.LoadResults, run record.Run, kinds ...string) (*lapplot.Figure, error) {
	var above strings.Builder
	if err := report.AboveLoad(&above, res, run, ui.Options{}); err != nil {
		return nil, err
	}
	figure := plot.LoadFigure(res, above.String(), kinds...)
	var first *profile.Profile
	add := func(title string, write func(to io.Writer, report string) error) error {
		var b bytes.Buffer
		err := write(&b, "")
		figure.Pages = append(figure.Pages, lapplot.Page{Title: title, HTML: b.String()})
		return err
	}
	for _, c := range res.Cases {
		if c.Profile == nil || len(kinds) > 0 {
			continue
		}
		p, err := profile.ReadJSON(c.Profile.Profile)
		if err != nil {
			return nil, fmt.Errorf("the profile of %s: %w", c.Name, err)
		}
		err = add(momentsOf(p)+c.Name, p.WriteHTML)
		if first != nil && p.Unit == profile.Samples { // of time and bytes it is not known what is chance
			d := &profile.Diff{Title: c.Name + " against " + first.Title, Before: first, After: p}
			err = errors.Join(err, add("What differs: "+d.Title, d.WriteHTML))
		}
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = p
		}
	}
	return figure, nil
}

// momentsOf is the title of a side's profile, to which its name is added.
func momentsOf(p *profile.Profile) string {
	switch p.Mode {
	case sample.OffCPU:
		return "What put the server to sleep: "
	case sample.Wall:
		return "The server's time: "
	case allocations.Name:
		return "What the server's Lua allocated: "
	}
	return "The server on the CPU: "
}

// runLoadJoin reports several records as one.
func runLoadJoin(ctx context.Context, sys Sys, o loadOptions, paths []string) error {
	if len(paths) < 2 {
		return usageErrorf("--join merges two records or more")
	}
	if err := o.completeLimits(); err != nil {
		return err
	}
	var list []load.Machine
	var partial error
	for i, name := range hostNames(paths) {
		rec, err := readRecord(ctx, sys, paths[i])
		if rec == nil || rec.Run.Kind != record.KindLoad {
			if err == nil {
				err = fmt.Errorf("%s holds no load", paths[i])
			}
			return err
		}
		partial = errors.Join(partial, err)
		list = append(list, load.Machine{LoadHost: record.LoadHost{Name: name, File: paths[i]}, Record: rec})
	}
	res, joined, err := load.SummarizeTogether(list, o.limits)
	if err != nil {
		return err
	}
	if err := o.writeTogether(sys, res, joined); err != nil {
		return err
	}
	if partial != nil {
		return exitWith(ExitPartial, partial)
	}
	return loadOutcome(res)
}
