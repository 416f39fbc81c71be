package lapplot

import (
	"fmt"
	"math"
)

// wide is how many times the smallest value the greatest must be for a logarithmic axis.
const wide = 30

// Timeline is a chart of laps in their order: the mean of each stretch as a line within the
// band from its shortest lap to its longest. Laps whose order is not known are not in it.
func Timeline(laps ...*Laps) *Chart {
	c := &Chart{
		Title: "Timeline",
		X:     Axis{Title: "lap"},
		Y:     Axis{Title: "time per lap", Unit: Time},
	}
	for _, l := range laps {
		if points := l.ordered(); len(points) > 0 {
			c.Series = append(c.Series, Series{Name: l.name, Points: points})
		}
	}
	c.Y.Scale = scaleOf(c.Series)
	c.Notes = remarks(laps, false)
	if c.Y.Scale == Log && atOrBelowZero(c.Series) {
		c.Notes = append(c.Notes, "times at or below 0 stand at the lower end of the scale")
	}
	return c
}

// Percentiles is a chart of the time that a share of the laps does not exceed, over the
// share on HdrHistogram's scale, 1/(1-p): each further nine takes the same room. The curve
// ends at the longest lap, which stands for the middle of the last 1/n.
func Percentiles(laps ...*Laps) *Chart {
	c := &Chart{
		Title: "Percentiles",
		X:     Axis{Title: "share that takes no longer", Scale: Tail},
		Y:     Axis{Title: "time per lap", Unit: Time},
	}
	for _, l := range laps {
		if d := l.distribution(); d.count > 0 {
			c.Series = append(c.Series, Series{Name: l.name, Points: tailCurve(&d)})
		}
	}
	c.Y.Scale = scaleOf(c.Series)
	c.Notes = remarks(laps, true)
	if c.Y.Scale == Log && atOrBelowZero(c.Series) {
		c.Notes = append(c.Notes, "times of 0 stand at the lower end of the scale")
	}
	return c
}

// perDecade is how many points a percentile curve has for each nine.
const perDecade = 60

// tailCurve is the nearest-rank quantiles at 1/(1-p) from 1 to 2n.
func tailCurve(d *distribution) []Point {
	end := 2 * float64(d.count)
	steps := int(math.Ceil(perDecade * math.Log10(end)))
	points := make([]Point, 0, steps+1)
	for i := range steps {
		x := math.Pow(10, float64(i)/perDecade)
		y := d.quantile(1 - 1/x)
		// Points on a level line say nothing but where it ends.
		if n := len(points); n >= 2 && points[n-1].Y == y && points[n-2].Y == y {
			points[n-1] = At(x, y)
			continue
		}
		points = append(points, At(x, y))
	}
	return append(points, At(end, d.max))
}

// scaleOf is logarithmic where the values above 0 differ by more than a factor of wide.
func scaleOf(series []Series) Scale {
	least, most := math.Inf(1), 0.0
	for _, s := range series {
		for _, p := range s.Points {
			for _, y := range []float64{p.Y, p.Low, p.High} {
				if finite(y) && y > 0 {
					least, most = math.Min(least, y), math.Max(most, y)
				}
			}
		}
	}
	if most > wide*least {
		return Log
	}
	return Linear
}

func atOrBelowZero(series []Series) bool {
	for _, s := range series {
		for _, p := range s.Points {
			if p.Y <= 0 || p.Low <= 0 {
				return true
			}
		}
	}
	return false
}

// remarks say what of the laps is not in a chart as it was.
func remarks(laps []*Laps, clamped bool) []string {
	var notes []string
	for _, l := range laps {
		switch {
		case l.Count() == 0:
			notes = append(notes, l.name+": no laps")
		case !clamped && l.course == nil && l.histogram != nil:
			notes = append(notes, l.name+": the order of its laps is not known")
		case clamped && l.negative > 0:
			notes = append(notes, fmt.Sprintf("%s: %d negative times count as 0", l.name, l.negative))
		}
		if l.unusable > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d values that are no finite number are left out", l.name, l.unusable))
		}
	}
	return notes
}
