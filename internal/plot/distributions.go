package plot

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// distributions are a chart of batches and one of single calls, where there are any.
func distributions(title string, draw func(...*lapplot.Laps) *lapplot.Chart, batches, calls []*lapplot.Laps) []*lapplot.Chart {
	var charts []*lapplot.Chart
	for _, of := range []struct {
		what string
		laps []*lapplot.Laps
	}{{"batches", batches}, {"single calls", calls}} {
		if len(of.laps) == 0 {
			continue
		}
		c := draw(of.laps...)
		c.Title = title + " of " + of.what
		for _, a := range []*lapplot.Axis{&c.X, &c.Y} {
			if a.Unit == lapplot.Time {
				a.Title = "time per call"
			}
		}
		charts = append(charts, c)
	}
	return charts
}

// samples are the batches that make the figures, of each case that has some.
func samples(lines []line) []*lapplot.Laps {
	var all []*lapplot.Laps
	for _, l := range lines {
		var ns []float64
		for _, v := range l.vms {
			for _, m := range v.course {
				if m.Counts {
					ns = append(ns, m.NetNS)
				}
			}
		}
		if len(ns) > 0 {
			all = append(all, lapplot.FromSamples(l.name, ns))
		}
	}
	return all
}

// singleCalls are the calls that were timed one by one, of each case that has some. Where a
// case has several kinds, their names say which.
func singleCalls(lines []line) []*lapplot.Laps {
	var all []*lapplot.Laps
	for _, l := range lines {
		for _, kind := range []string{record.LapCalls, record.LapService, record.LapResponse} {
			h := l.laps[kind]
			if h == nil || h.Count() == 0 {
				continue
			}
			name := l.name
			if len(l.laps) > 1 {
				name += " (" + kind + ")"
			}
			all = append(all, lapplot.FromHistogram(name, h))
		}
	}
	return all
}
