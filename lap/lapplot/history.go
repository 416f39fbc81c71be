package lapplot

import (
	"fmt"
	"math"
	"slices"
)

// A Trend is a time over commits, versions or runs, for [History].
type Trend struct {
	Name string
	// Points have the place of their label, from 0, as X, and their interval as Low and
	// High. They ascend in X; a trend may lack some places.
	Points []Point
	Steps  []Step // ascending in At
}

// A Step is where a trend changes its level, as whoever found it says.
type Step struct {
	At            int     // X of the first point on the new level
	Before, After float64 // the two levels
	Low, High     float64 // interval of After/Before; 0: not known
}

// Kinds of marks of a history.
const (
	slowerMark = "slower from here"
	fasterMark = "faster from here"
)

// mostSteps is how many steps of a history are reported below its title.
const mostSteps = 8

// History is a chart of trends over commits, versions or runs, whose labels stand below it,
// oldest first: each time as a dot with its interval, the levels between steps as a line, a
// mark at each step, and the latest steps in words. Times are ns; for other values set the
// chart's Y.
func History(labels []string, trends ...Trend) *Chart {
	c := &Chart{
		Title: "History",
		X:     Axis{Labels: labels},
		Y:     Axis{Title: "time per call", Unit: Time},
	}
	type told struct {
		at   int
		text string
	}
	var steps []told
	for _, t := range trends {
		dots := Series{Name: t.Name, Style: Dots, Points: t.Points}
		for _, s := range t.Steps {
			dots.Marks = append(dots.Marks, s.mark())
			text := fmt.Sprintf("%s from %s", s, labelAt(labels, s.At))
			if len(trends) > 1 {
				text = t.Name + ": " + text
			}
			steps = append(steps, told{s.At, text})
		}
		if len(t.Points) > 0 {
			c.Series = append(c.Series, dots)
			if len(t.Steps) > 0 {
				c.Series = append(c.Series, t.levels(len(labels)))
			}
		}
	}
	c.Y.Scale = scaleOf(c.Series)
	slices.SortStableFunc(steps, func(a, b told) int { return a.at - b.at })
	if earlier := len(steps) - mostSteps; earlier > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("earlier steps: %d", earlier))
		steps = steps[earlier:]
	}
	for _, s := range steps {
		c.Notes = append(c.Notes, s.text)
	}
	return c
}

// levels change half way between two places.
func (t *Trend) levels(places int) Series {
	points := []Point{At(-0.5, t.Steps[0].Before)}
	for _, s := range t.Steps {
		points = append(points, At(float64(s.At)-0.5, s.After))
	}
	end := max(float64(places), t.Points[len(t.Points)-1].X+1) - 0.5
	return Series{Name: t.Name, Style: Steps, Points: append(points, At(end, points[len(points)-1].Y))}
}

func (s Step) mark() Mark {
	m := Mark{X: float64(s.At), Kind: slowerMark, Label: s.String()}
	if s.After < s.Before {
		m.Kind = fasterMark
	}
	return m
}

// String is the step in words: "1.21× slower (1.20–1.22)".
func (s Step) String() string {
	if !(s.Before > 0 && s.After > 0) {
		return "another level"
	}
	word, ratio, low, high := "slower", s.After/s.Before, s.Low, s.High
	if ratio < 1 {
		word, ratio, low, high = "faster", 1/ratio, 1/s.High, 1/s.Low
	}
	if !(s.Low > 0 && s.Low < s.High) {
		return fmt.Sprintf("%.3g× %s", ratio, word)
	}
	d := decimals(max(high-ratio, ratio-low))
	for d < 3 && low > 1 && low < 1+math.Pow(10, -float64(d))/2 { // its lower end shows that it lies beyond 1
		d++
	}
	return fmt.Sprintf("%.*f× %s (%.*f–%.*f)", d, ratio, word, d, low, d, high)
}

// decimals are those that an interval bears, as in Moonlap's reports: one digit of its longer arm, two where that begins with 1.
func decimals(arm float64) int {
	exponent := math.Floor(math.Log10(arm))
	digits := 1.0
	if arm/math.Pow(10, exponent) < 2 {
		digits = 2
	}
	return int(min(3, max(0, digits-1-exponent)))
}

func labelAt(labels []string, i int) string {
	if i < 0 || i >= len(labels) {
		return fmt.Sprint(i)
	}
	return labels[i]
}
