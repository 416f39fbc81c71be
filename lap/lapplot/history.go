package lapplot

import (
	"fmt"
	"math"
	"slices"
)

// A Trend is one value over commits, versions or days, for [History].
type Trend struct {
	Name string
	// Points have the place of their label, from 0, as X, and their interval as Low and
	// High. They ascend in X; a trend may lack some places.
	Points []Point
	Steps  []Step
}

// A Step is where a trend changes its level.
type Step struct {
	At int // X of the first point on the new level
	// Ratio is the new level over the one before, with Low and High as its interval, as
	// whoever found the step says. 0 is not known: then it is that of the medians.
	Ratio, Low, High float64
}

// mostStepNotes is how many steps of a history are told below its title.
const mostStepNotes = 6

// History is a chart of trends over commits, versions or days, whose labels stand below it,
// oldest first: each value as a dot with its interval, the median of each level between two
// steps as a line, and a mark at each step, the latest of which are also told in words.
// Values are times per call in ns; for others set the chart's Y.
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
	var notes []told
	for _, t := range trends {
		values := Series{Name: t.Name, Style: Dots, Points: t.Points}
		levels := Series{Name: t.Name}
		before := math.NaN()
		for _, l := range t.levels() {
			if len(l.points) == 0 {
				continue
			}
			median := medianOf(l.points)
			first, last := l.points[0].X, l.points[len(l.points)-1].X
			levels.Points = append(levels.Points, At(first, median), At(last, median), Gap(last))
			if !math.IsNaN(before) {
				step := l.step.against(before, median)
				values.Marks = append(values.Marks, Mark{X: float64(step.At), Kind: "step", Label: step.String()})
				notes = append(notes, told{step.At, fmt.Sprintf("%s at %s: %s", t.Name, labelAt(labels, step.At), step)})
			}
			before = median
		}
		c.Series = append(c.Series, levels, values)
	}
	c.Y.Scale = scaleOf(c.Series)
	slices.SortStableFunc(notes, func(a, b told) int { return b.at - a.at })
	for i, n := range notes {
		if i == mostStepNotes {
			c.Notes = append(c.Notes, fmt.Sprintf("and %d earlier steps", len(notes)-i))
			break
		}
		c.Notes = append(c.Notes, n.text)
	}
	return c
}

// A level is the points between two steps, and the step that begins it.
type level struct {
	step   Step
	points []Point
}

func (t *Trend) levels() []level {
	levels := make([]level, 1, len(t.Steps)+1)
	steps := slices.SortedFunc(slices.Values(t.Steps), func(a, b Step) int { return a.At - b.At })
	for _, p := range t.Points {
		for len(steps) > 0 && p.X >= float64(steps[0].At) {
			levels = append(levels, level{step: steps[0]})
			steps = steps[1:]
		}
		if drawable(p) {
			l := &levels[len(levels)-1]
			l.points = append(l.points, p)
		}
	}
	return levels
}

// against fills in the ratio where it is not known.
func (s Step) against(before, after float64) Step {
	if !(s.Ratio > 0) && before > 0 {
		s.Ratio = after / before
	}
	return s
}

// String is how the new level compares: "1.412 times (1.380–1.445) the level before".
func (s Step) String() string {
	switch {
	case !(s.Ratio > 0) || !finite(s.Ratio):
		return "another level than before"
	case s.Low > 0 && finite(s.High) && s.Low < s.High:
		return fmt.Sprintf("%.4g times (%.4g–%.4g) the level before", s.Ratio, s.Low, s.High)
	}
	return fmt.Sprintf("%.4g times the level before", s.Ratio)
}

func medianOf(points []Point) float64 {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.Y
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return values[middle-1]/2 + values[middle]/2
}

func labelAt(labels []string, i int) string {
	if i < 0 || i >= len(labels) {
		return fmt.Sprint(i)
	}
	return labels[i]
}
