package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/moonlap/moonlap/lap/lapplot"
)

// Cells of a heat map of batches.
const (
	heatAcross = 120
	heatUp     = 40
	decades    = 1e18 // ns that no batch takes
)

// heatMaps are a chart a case: which times the batches that count had, over the time of all processes, one after another.
func heatMaps(lines []line) []*lapplot.Chart {
	var charts []*lapplot.Chart
	for _, l := range lines {
		var course []lapplot.Point
		begun := 0.0
		for _, v := range l.vms {
			longest := 0.0
			for _, m := range v.course {
				if x := begun + m.AtNS; m.Counts && m.NetNS > 0 && m.NetNS < decades && x < decades {
					course = append(course, lapplot.At(x, m.NetNS))
				}
				longest = max(longest, m.AtNS)
			}
			begun += longest
		}
		if len(course) == 0 {
			continue
		}
		charts = append(charts, &lapplot.Chart{
			Title: "Batches over time: " + l.name, Notes: []string{"all processes one after another; the stronger the colour, the more batches of that time took so long"},
			X: lapplot.Axis{Title: "time of all processes", Unit: lapplot.Time}, Y: lapplot.Axis{Title: "time per call", Unit: lapplot.Time, Scale: lapplot.Log},
			Series: []lapplot.Series{heatOf(l.name, course)},
		})
	}
	return charts
}

// heatOf counts points by cells, whose weight is their share of the column.
func heatOf(name string, course []lapplot.Point) lapplot.Series {
	byY := func(a, b lapplot.Point) int { return cmp.Compare(a.Y, b.Y) }
	low, high := slices.MinFunc(course, byY).Y, slices.MaxFunc(course, byY).Y
	low, high = low*0.99, high*1.01
	first, last := course[0].X, course[len(course)-1].X
	s := lapplot.Series{Name: name, Style: lapplot.Cells, Width: max(1, (last-first)/heatAcross)}
	type cell struct{ column, row int }
	cells, columns := map[cell]int{}, map[int]int{}
	for _, p := range course {
		at := cell{int((p.X - first) / s.Width), int(heatUp * math.Log(p.Y/low) / math.Log(high/low))}
		cells[at]++
		columns[at.column]++
	}
	edge := func(row int) float64 { return low * math.Pow(high/low, float64(row)/heatUp) }
	for at, n := range cells {
		share := float64(n) / float64(columns[at.column])
		s.Points = append(s.Points, lapplot.Point{
			X: first + float64(at.column)*s.Width, Y: math.Sqrt(edge(at.row) * edge(at.row+1)), Low: edge(at.row), High: edge(at.row + 1),
			Weight: math.Sqrt(share), Label: fmt.Sprintf("%.2g %% of %d batches", 100*share, columns[at.column]),
		})
	}
	slices.SortFunc(s.Points, func(a, b lapplot.Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	return s
}
