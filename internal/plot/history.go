package plot

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// Kinds of marks of a history: where its steps are.
const (
	slowerMark = "slower from here"
	fasterMark = "faster from here"
)

// ErrNoFigure says that no run of a history has a figure.
var ErrNoFigure = errors.New("no run has a figure, so there is nothing to draw")

// History draws series over their runs, a chart each: every figure with its interval, the
// levels, and the steps between them. Runs stand side by side, whatever time lies between
// them; one without a figure leaves its place empty.
func History(h *record.History, title string) (*lapplot.Figure, error) {
	f := &lapplot.Figure{Title: title}
	first := map[string]record.Series{} // of each case and file
	for _, s := range h.Series {
		name := s.Case
		if s.File != "" {
			name += " · " + s.File
		}
		c := seriesChart(s, name)
		if other, ok := first[name]; ok {
			c.Notes = append([]string{apart(s, other)}, c.Notes...)
		} else {
			first[name] = s
		}
		if len(c.Series) == 0 {
			f.Notes = append(f.Notes, name+": "+ErrNoFigure.Error())
			continue
		}
		f.Charts = append(f.Charts, c)
	}
	if len(f.Charts) == 0 {
		return nil, ErrNoFigure
	}
	return f, nil
}

// apart is what sets a series apart from the first of its name.
func apart(s, first record.Series) string {
	var parts []string
	for _, fact := range s.Apart(first.Setting) {
		parts = append(parts, fact.What+" "+fact.Value)
	}
	return "here: " + strings.Join(parts, " · ")
}

// seriesChart has no series where no run has a figure.
func seriesChart(s record.Series, name string) *lapplot.Chart {
	c := &lapplot.Chart{
		Title: name,
		X:     lapplot.Axis{Title: "run"},
		Y:     lapplot.Axis{Title: "time per call", Unit: lapplot.Time},
	}
	dots := lapplot.Series{Name: name, Style: lapplot.Dots}
	for i, p := range s.Points {
		c.X.Labels = append(c.X.Labels, p.Name())
		if iv := p.NSPerCall; iv != nil {
			label := p.Minute() + ", " + p.SavedAs
			dots.Points = append(dots.Points, lapplot.Point{X: float64(i), Y: iv.Estimate, Low: iv.Low, High: iv.High, Label: label})
		}
	}
	for _, st := range s.Steps {
		text := stepText(st.Ratio)
		mark := lapplot.Mark{X: float64(st.At), Kind: slowerMark, Label: text}
		if st.Ratio.Estimate < 1 {
			mark.Kind = fasterMark
		}
		dots.Marks = append(dots.Marks, mark)
		c.Notes = append(c.Notes, text+" from "+s.Points[st.At].Name())
	}
	if len(dots.Points) > 0 {
		c.Series = append(c.Series, dots)
		if len(s.Steps) > 0 {
			c.Series = append(c.Series, lapplot.Series{Name: name, Style: lapplot.Steps, Points: levels(s)})
		}
	}
	return c
}

// levels change half way between two runs.
func levels(s record.Series) []lapplot.Point {
	points := []lapplot.Point{lapplot.At(-0.5, s.Steps[0].Before)}
	for _, st := range s.Steps {
		points = append(points, lapplot.At(float64(st.At)-0.5, st.After))
	}
	return append(points, lapplot.At(float64(len(s.Points))-0.5, points[len(points)-1].Y))
}

// stepText is a ratio in words: "1.210× slower (1.201–1.219)".
func stepText(r record.Interval) string {
	word := "slower"
	if r.Estimate < 1 {
		word, r = "faster", record.Interval{Estimate: 1 / r.Estimate, Low: 1 / r.High, High: 1 / r.Low}
	}
	return fmt.Sprintf("%.3f× %s (%.3f–%.3f)", r.Estimate, word, r.Low, r.High)
}
