// Package plot makes charts of records: the course of each process, densities and
// percentiles, of several cases and records in the same chart.
package plot

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/lap"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// Kinds of charts.
const (
	Timeline    = "timeline"
	Density     = "density"
	Percentiles = "percentiles"
	Heatmap     = "heatmap"
	Forest      = "forest" // of records of several hosts
)

// Kinds are all of them, in the order in which they are drawn.
var Kinds = []string{Forest, Timeline, Density, Percentiles, Heatmap}

// A Source is a record, and what it is called beside others.
type Source struct {
	Name   string
	Record *record.Record
}

// Options say what is drawn of the records.
type Options struct {
	Title  string
	Report string              // stands above the charts
	Kinds  []string            // none: all
	Hosts  *record.HostsResult // what the records say as those of several hosts; nil: they are none
	Case   *regexp.Regexp      // only cases whose name matches; nil: all
}

// ErrNoCase says that no case is to be drawn; the error that wraps it names those there are.
var ErrNoCase = errors.New("no case to plot")

// Figure draws records. What is left out, the figure says.
func Figure(sources []Source, o Options) (*lapplot.Figure, error) {
	f := &lapplot.Figure{Title: o.Title, Report: o.Report}
	all, err := linesOf(sources, o.Case)
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, l := range all {
		if l.empty() {
			f.Notes = append(f.Notes, l.name+": no process finished, so there is nothing to draw; 'moonlap report' says why")
			continue
		}
		lines = append(lines, l)
	}
	wanted := func(kind string) bool { return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind) }
	if wanted(Forest) {
		f.Charts = append(f.Charts, forests(o.Hosts)...)
	}
	if wanted(Timeline) {
		f.Charts = append(f.Charts, timelines(lines)...)
	}
	batches, calls := samples(lines), singleCalls(lines)
	if wanted(Density) {
		f.Charts = append(f.Charts, distributions("Density", lapplot.Density, batches, calls)...)
	}
	if wanted(Percentiles) {
		f.Charts = append(f.Charts, distributions("Percentiles", lapplot.Percentiles, batches, calls)...)
	}
	if wanted(Heatmap) {
		f.Charts = append(f.Charts, heatMaps(lines)...)
	}
	for _, l := range lines {
		if l.unreadable > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("%s: %d histograms of single calls can't be read, and are left out", l.name, l.unreadable))
		}
	}
	switch {
	case len(lines) == 0:
		return nil, errors.New(strings.Join(f.Notes, "\n"))
	case len(f.Charts) == 0: // density and percentiles there are of everything
		return nil, errors.New("calls were timed one by one only, so there is no timeline; use --kind density,percentiles")
	}
	return f, nil
}

// A line is a case of a record: what has a colour of its own.
type line struct {
	name       string
	plan       record.Case
	vms        []vm
	laps       map[string]*lap.Histogram // by kind, of all VMs
	unreadable int                       // histograms of laps
}

// A vm is what one healthy VM said, and what is made of its batches.
type vm struct {
	said   *record.ProcessRecord
	course []stat.Moment
}

func newLine(name string, plan record.Case, said []*record.ProcessRecord, course func(*record.ProcessRecord) []stat.Moment) line {
	l := line{name: name, plan: plan, laps: map[string]*lap.Histogram{}}
	for _, p := range said {
		if p.Finish == nil || len(p.Faults) > 0 {
			continue
		}
		l.vms = append(l.vms, vm{p, course(p)})
		for _, laps := range p.Laps {
			if laps.Kind != record.LapEmpty {
				l.addLaps(laps)
			}
		}
	}
	slices.SortStableFunc(l.vms, func(a, b vm) int { return slotOf(a.said).compare(slotOf(b.said)) })
	return l
}

func (l *line) addLaps(laps record.Laps) {
	h, err := lap.Decode(laps.Histogram)
	if err == nil && l.laps[laps.Kind] != nil {
		err = l.laps[laps.Kind].Merge(h)
	} else if err == nil {
		l.laps[laps.Kind] = h
	}
	if err != nil {
		l.unreadable++
	}
}

func (l *line) empty() bool {
	return len(l.laps) == 0 && !slices.ContainsFunc(l.vms, func(v vm) bool { return len(v.course) > 0 })
}

// linesOf are the cases to draw of all records.
func linesOf(sources []Source, only *regexp.Regexp) ([]line, error) {
	var lines []line
	var others []string
	for i, s := range sources {
		course := stat.Courses(s.Record)
		for _, c := range s.Record.Cases {
			if only == nil || only.MatchString(c.Name) {
				lines = append(lines, newLine(nameOf(sources, i, c.Name), c, s.Record.Of(c.Case), course))
			} else if !slices.Contains(others, c.Name) {
				others = append(others, c.Name)
			}
		}
	}
	switch {
	case len(lines) > 0:
		return lines, nil
	case len(others) > 0:
		return nil, fmt.Errorf("%w: no name matches; there are %s", ErrNoCase, strings.Join(others, ", "))
	}
	return nil, fmt.Errorf("%w: the records hold none", ErrNoCase)
}

// nameOf tells the cases of several records apart.
func nameOf(sources []Source, i int, name string) string {
	if len(sources) == 1 {
		return name
	}
	return name + " · " + sources[i].Name
}
