package plot

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// forests are a chart for each comparison that several hosts made: the ratio and its interval on each of them, on hosts
// like these, and on the next such host.
func forests(res *record.HostsResult) (charts []*lapplot.Chart) {
	if res == nil {
		return nil
	}
	for _, c := range res.Comparisons {
		if len(c.Hosts) > 1 && c.Ratio.Low > 0 {
			charts = append(charts, forest(c))
		}
	}
	return charts
}

func forest(c record.HostComparison) *lapplot.Chart {
	chart := &lapplot.Chart{
		Title: c.B + " against " + c.A,
		X:     lapplot.Axis{Title: "host"},
		Y:     lapplot.Axis{Title: "ratio", Unit: lapplot.Times, Scale: lapplot.Log},
		Notes: []string{c.Found() + "; on hosts like these: " + c.Verdict + ". Above 1 it takes longer."},
	}
	if c.Metric != "" {
		chart.Title += ", " + c.Metric
	}
	place := func(label, hover string, iv record.Interval) lapplot.Point {
		chart.X.Labels = append(chart.X.Labels, label)
		return lapplot.Point{X: float64(len(chart.X.Labels) - 1), Y: iv.Estimate, Low: iv.Low, High: iv.High, Label: hover}
	}
	each := lapplot.Series{Name: "each host", Style: lapplot.Dots}
	for _, h := range c.Hosts {
		if h.Ratio.Low > 0 && h.Ratio.High > h.Ratio.Low {
			each.Points = append(each.Points, place(h.Host, h.Host+": "+h.Verdict, h.Ratio))
		}
	}
	all := lapplot.Series{Name: "hosts like these", Style: lapplot.Dots, Points: []lapplot.Point{place("all", "hosts like these: "+c.Verdict, c.Ratio)}}
	chart.Series = append(chart.Series, each, all)
	if c.Next != nil {
		next := lapplot.Series{Name: "the next host", Style: lapplot.Dots, Pale: true}
		next.Points = append(next.Points, place("next", "where the ratio of one more host lies", *c.Next))
		chart.Series = append(chart.Series, next)
	}
	last := float64(len(chart.X.Labels)) - 0.5
	chart.Series = append(chart.Series, lapplot.Series{Name: "equal", Style: lapplot.Lines, Points: []lapplot.Point{lapplot.At(-0.5, 1), lapplot.At(last, 1)}})
	return chart
}
