package plot

import (
	"fmt"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// LoadFigure draws a run of load: rate and latency over time (timeline), the percentile curve (percentiles), and a heat map of
// each side's latencies (heatmap), below a report. Where kinds are named it draws these alone.
func LoadFigure(res *record.LoadResults, report string, kinds ...string) *lapplot.Figure {
	wanted := func(kind string) bool { return len(kinds) == 0 || slices.Contains(kinds, kind) }
	f := &lapplot.Figure{Title: "moonlap load", Report: report}
	if len(res.Sides) == 1 {
		f.Title += " " + res.Sides[0].URL
	}
	if wanted(Timeline) {
		f.Charts = append(f.Charts, rates(res), overTime(res))
	}
	if wanted(Percentiles) {
		f.Charts = append(f.Charts, tails(res))
	}
	for _, s := range res.Sides {
		if heat := heatMap(s); heat != nil && (wanted(Heatmap) || wanted(Density)) {
			f.Charts = append(f.Charts, heat)
		}
	}
	return f
}

func timeAxis() lapplot.Axis {
	return lapplot.Axis{Title: "time since the first request", Unit: lapplot.Time}
}

func rates(res *record.LoadResults) *lapplot.Chart {
	c := &lapplot.Chart{Title: "Answers a second", X: timeAxis(), Y: lapplot.Axis{Title: "answers a second"}}
	for _, s := range res.Sides {
		series := lapplot.Series{Name: s.Name}
		offered := lapplot.Series{Name: s.Name + ", offered", Pale: true}
		for _, p := range s.Series {
			series.Points = append(series.Points, lapplot.At(p.AtNS, p.Rate))
			if p.Offered > 0 {
				offered.Points = append(offered.Points, lapplot.At(p.AtNS, p.Offered))
			}
			if p.Errors > 0 {
				series.Marks = append(series.Marks, lapplot.Mark{X: p.AtNS, Kind: "errors", Label: fmt.Sprintf("%d errors", p.Errors)})
			}
		}
		c.Series = append(c.Series, series)
		if len(offered.Points) > 0 {
			c.Series = append(c.Series, offered)
		}
	}
	return c
}

func overTime(res *record.LoadResults) *lapplot.Chart {
	c := &lapplot.Chart{
		Title: "p99 over time", Notes: []string{"corrected; the band reaches from the median to the longest"},
		X: timeAxis(), Y: lapplot.Axis{Title: "latency", Unit: lapplot.Time, Scale: lapplot.Log},
	}
	for _, s := range res.Sides {
		series := lapplot.Series{Name: s.Name}
		for _, p := range s.Series {
			if p.P99 > 0 {
				series.Points = append(series.Points, lapplot.Point{X: p.AtNS, Y: p.P99, Low: p.P50, High: p.Max})
			}
		}
		c.Series = append(c.Series, series)
	}
	return c
}

func tails(res *record.LoadResults) *lapplot.Chart {
	c := &lapplot.Chart{
		Title: "Percentiles", Notes: []string{"corrected for requests that were kept from being sent, and raw, from the time of sending"},
		X: lapplot.Axis{Title: "share that takes no longer", Scale: lapplot.Tail},
		Y: lapplot.Axis{Title: "latency", Unit: lapplot.Time, Scale: lapplot.Log},
	}
	for _, s := range res.Sides {
		h, err := lap.Decode(s.Histogram)
		if err != nil || h.Count() == 0 {
			continue
		}
		c.Series = append(c.Series, lapplot.Series{Name: s.Name, Points: tailOf(h)})
		if raw, err := lap.Decode(s.RawCounts); err == nil && raw.Count() > 0 {
			c.Series = append(c.Series, lapplot.Series{Name: s.Name + ", raw", Points: tailOf(raw), Pale: true})
		}
	}
	return c
}

// tailOf is the curve of a histogram on HdrHistogram's scale.
func tailOf(h *lap.Histogram) []lapplot.Point {
	const perDecade = 40
	last := 2 * float64(h.Count())
	var points []lapplot.Point
	for i := 0; ; i++ {
		x := math.Pow(10, float64(i)/perDecade)
		if x >= last {
			break
		}
		points = append(points, lapplot.At(x, float64(h.Percentile(100*(1-1/x)))))
	}
	return append(points, lapplot.At(last, float64(h.Max())))
}

// heatColumns is how many columns a heat map has at most.
const heatColumns = 150

// heatMap shows where the latencies of a side lay over time; nil where there were none.
func heatMap(s record.LoadSide) *lapplot.Chart {
	if len(s.Series) == 0 {
		return nil
	}
	first, last := s.Series[0].AtNS, s.Series[len(s.Series)-1]
	width := (last.AtNS + last.NS - first) / float64(min(heatColumns, len(s.Series)))
	columns := map[int][]int64{}
	most := 0
	for _, p := range s.Series {
		at := int((p.AtNS - first) / width)
		column := columns[at]
		for len(column) < len(p.Heat) {
			column = append(column, 0)
		}
		for cell, n := range p.Heat {
			column[cell] += n
		}
		columns[at] = column
		most = max(most, at)
	}
	series := lapplot.Series{Name: s.Name, Style: lapplot.Cells, Width: width}
	for at := range most + 1 {
		total := int64(0)
		for _, n := range columns[at] {
			total += n
		}
		for cell, n := range columns[at] {
			if n == 0 {
				continue
			}
			low, high := record.HeatFrom(cell), record.HeatFrom(cell+1)
			series.Points = append(series.Points, lapplot.Point{
				X: first + float64(at)*width, Y: math.Sqrt(low * high), Low: low, High: high,
				Weight: math.Sqrt(float64(n) / float64(total)), Label: fmt.Sprintf("%.2g %% of the answers", 100*float64(n)/float64(total)),
			})
		}
	}
	if len(series.Points) == 0 {
		return nil
	}
	return &lapplot.Chart{
		Title: "Latencies over time: " + s.Name, Notes: []string{"corrected; the stronger the colour, the more answers took so long"},
		X: timeAxis(), Y: lapplot.Axis{Title: "latency", Unit: lapplot.Time, Scale: lapplot.Log}, Series: []lapplot.Series{series},
	}
}
