package plot

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap/lapplot"
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
	var labels []string
	trend := lapplot.Trend{Name: name}
	for i, p := range s.Points {
		labels = append(labels, p.Name())
		if iv := p.NSPerCall; iv != nil {
			label := p.Minute() + ", " + p.SavedAs
			if p.Slowed > 0 {
				label += fmt.Sprintf(", machine slower by up to %.0f %%", 100*p.Slowed)
			}
			trend.Points = append(trend.Points, lapplot.Point{X: float64(i), Y: iv.Estimate, Low: iv.Low, High: iv.High, Label: label})
		}
	}
	for _, st := range s.Steps {
		trend.Steps = append(trend.Steps, lapplot.Step{At: st.At, Before: st.Before, After: st.After, Low: st.Ratio.Low, High: st.Ratio.High})
	}
	c := lapplot.History(labels, trend)
	c.Title, c.X.Title = name, "run"
	return c
}
