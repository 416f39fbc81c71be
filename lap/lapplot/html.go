package lapplot

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// The page's parts. assets/README.md says where the foreign ones are from.
var (
	//go:embed assets/uPlot.iife.min.js
	uPlotJS string
	//go:embed assets/uPlot.min.css
	uPlotCSS string
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/ticks.js
	ticksJS string
	//go:embed assets/draw.js
	drawJS string
	//go:embed assets/page.js
	pageJS string
)

// WriteHTML writes the figure as one HTML file that works offline: zooming, hovering,
// series on and off, light and dark. It loads nothing; its charts are drawn by uPlot, which
// is inside.
func (f *Figure) WriteHTML(w io.Writer) error {
	if err := f.check(); err != nil && len(f.Tables) == 0 {
		return err
	}
	data, err := json.Marshal(f.pageData()) // escapes <, > and &, so that no text ends the script
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(strings.ToValidUTF8(f.caption(), "\uFFFD")),
		"{{css}}", uPlotCSS+"\n"+pageCSS,
		"{{data}}", string(data),
		"{{pages}}", f.framed(),
		"{{uplot}}", uPlotJS,
		"{{page}}", ticksJS+drawJS+pageJS,
	).WriteString(w, pageHTML)
	return err
}

// framed are the figure's pages, each in a frame.
func (f *Figure) framed() string {
	var b strings.Builder
	for _, p := range f.Pages {
		title := html.EscapeString(strings.ToValidUTF8(p.Title, "\uFFFD"))
		fmt.Fprintf(&b, "<section><h2>%s</h2>\n<iframe title=\"%s\" srcdoc=\"%s\"></iframe></section>\n",
			title, title, html.EscapeString(strings.ToValidUTF8(p.HTML, "\uFFFD")))
	}
	return b.String()
}

// What the page draws.
type (
	pageFigure struct {
		Title  string      `json:"title"`
		Report string      `json:"report,omitempty"`
		Notes  []string    `json:"notes"`
		Names  []string    `json:"names"`
		Hues   int         `json:"hues"` // from here on lines are dashed
		Light  []string    `json:"light"`
		Dark   []string    `json:"dark"`
		Charts []pageChart `json:"charts"`
		Up     *Cell       `json:"up,omitempty"`
		Tables []Table     `json:"tables,omitempty"`
	}
	pageChart struct {
		Title  string       `json:"title"`
		Notes  []string     `json:"notes"`
		X      pageAxis     `json:"x"`
		Y      pageAxis     `json:"y"`
		Kinds  []string     `json:"kinds"`
		Series []pageSeries `json:"series"`
	}
	pageAxis struct {
		Title     string     `json:"title"`
		Scale     string     `json:"scale"`
		Multiples []multiple `json:"multiples"`
		Labels    []string   `json:"labels,omitempty"`
		Low       float64    `json:"low"`
		High      float64    `json:"high"`
	}
	pageSeries struct {
		Name   int         `json:"name"` // place among the names
		Style  string      `json:"style"`
		Filled bool        `json:"filled,omitempty"`
		Pale   bool        `json:"pale,omitempty"`
		X      numbers     `json:"x"`
		Y      numbers     `json:"y"`
		Low    *numbers    `json:"low,omitempty"` // where any differs from Y
		High   *numbers    `json:"high,omitempty"`
		Texts  []string    `json:"texts,omitempty"`
		Labels map[int]int `json:"labels,omitempty"` // of points: place among the texts
		// Of cells:
		Width   float64    `json:"width,omitempty"`
		Weights []float64  `json:"weights,omitempty"`
		Marks   []pageMark `json:"marks,omitempty"`
	}
	pageMark struct {
		X     float64 `json:"x"`
		Kind  int     `json:"kind"`
		Label string  `json:"label,omitempty"`
	}
)

// MarshalJSON writes a multiple as [per, name].
func (m multiple) MarshalJSON() ([]byte, error) { return json.Marshal([]any{m.per, m.name}) }

var (
	scaleNames = map[Scale]string{Linear: "linear", Log: "log", Tail: "tail"}
	styleNames = map[Style]string{Lines: "line", Steps: "steps", Dots: "dots", Cells: "cells"}
)

func (f *Figure) pageData() pageFigure {
	data := pageFigure{Title: f.Title, Report: strings.ToValidUTF8(f.Report, "\uFFFD"), Notes: f.Notes, Names: f.names(), Hues: hues, Tables: f.Tables}
	for _, r := range f.Ratios {
		data.Notes = append(data.Notes, r.String())
	}
	for i := range lightInks {
		data.Light, data.Dark = append(data.Light, hex(lightInks[i])), append(data.Dark, hex(darkInks[i]))
	}
	place := map[string]int{}
	for i, name := range data.Names {
		place[name] = i
	}
	for _, c := range f.Charts {
		data.Charts = append(data.Charts, c.pageData(place))
	}
	if f.Up != (Cell{}) {
		data.Up = &f.Up
	}
	return data
}

// pagePoints is how many points the lines of a chart may have together, so that a page
// stays small.
const pagePoints = 8192

func (c *Chart) pageData(place map[string]int) pageChart {
	spanX, spanY := c.spans()
	data := pageChart{
		Title: c.Title, Notes: c.Notes, Kinds: c.kinds(),
		X: c.X.pageData(spanX), Y: c.Y.pageData(spanY),
	}
	kind := map[string]int{}
	for i, k := range data.Kinds {
		kind[k] = i
	}
	for _, s := range c.Series {
		points := s.Points
		if s.Style == Lines {
			points = Columns(points, max(200, pagePoints/len(c.Series)))
		}
		ps := pageSeries{
			Name: place[s.Name], Style: styleNames[s.Style], Filled: s.Filled, Pale: s.Pale,
			X: numbers{scale: c.X.Scale, span: spanX}, Y: numbers{scale: c.Y.Scale, span: spanY},
		}
		low, high := ps.Y, ps.Y
		wide := false
		textAt := map[string]int{}
		for _, p := range points {
			if !drawable(p) && !(p.isGap() && finite(p.X)) {
				continue
			}
			if p.Label != "" {
				if _, known := textAt[p.Label]; !known {
					textAt[p.Label] = len(ps.Texts)
					ps.Texts = append(ps.Texts, p.Label)
				}
				if ps.Labels == nil {
					ps.Labels = map[int]int{}
				}
				ps.Labels[len(ps.X.values)] = textAt[p.Label]
			}
			ps.X.add(p.X)
			ps.Y.add(p.Y)
			low.add(orElse(p.Low, p.Y))
			high.add(orElse(p.High, p.Y))
			wide = wide || p.High > p.Low
			if s.Style == Cells {
				ps.Weights = append(ps.Weights, math.Round(1000*min(1, p.Weight))/1000)
			}
		}
		if s.Style == Cells {
			ps.Width = s.Width
		}
		if wide {
			ps.Low, ps.High = &low, &high
		}
		ps.Marks = pageMarks(s.Marks, kind, spanX)
		data.Series = append(data.Series, ps)
	}
	return data
}

func (a Axis) pageData(s span) pageAxis {
	return pageAxis{
		Title: a.Title, Scale: scaleNames[a.Scale], Multiples: multiples[a.Unit],
		Labels: a.Labels, Low: s.low, High: s.high,
	}
}

// pageMarks leaves out marks that no zoom would show apart from the one before.
func pageMarks(marks []Mark, kind map[string]int, s span) []pageMark {
	var kept []pageMark
	type cell struct{ kind, column int }
	seen := map[cell]bool{}
	for _, m := range marks {
		at := cell{kind[m.Kind], int((m.X - s.low) / (s.high - s.low) * mostColumns / 2)}
		if !finite(m.X) || seen[at] {
			continue
		}
		seen[at] = true
		kept = append(kept, pageMark{X: m.X, Kind: at.kind, Label: m.Label})
	}
	return kept
}

// numbers are written as exactly as a screen can show, to save room: to 1/20000 of their
// span, or on a logarithmic scale to five digits. Those that are no number become null.
type numbers struct {
	values []float64
	scale  Scale
	span   span
}

func (n *numbers) add(x float64) { n.values = append(n.values, x) }

// MarshalJSON writes an array.
func (n numbers) MarshalJSON() ([]byte, error) {
	decimals := int(math.Ceil(math.Log10(20000 / (n.span.high - n.span.low))))
	out := []byte{'['}
	for i, x := range n.values {
		if i > 0 {
			out = append(out, ',')
		}
		switch {
		case !finite(x):
			out = append(out, "null"...)
		case n.scale != Linear || decimals > 15 || decimals < -15:
			out = appendShort(out, x, 'g', 5)
		case decimals <= 0:
			unit := math.Pow(10, float64(-decimals))
			out = strconv.AppendFloat(out, math.Round(x/unit)*unit, 'g', -1, 64)
		default:
			out = appendShort(out, x, 'f', decimals)
		}
	}
	return append(out, ']'), nil
}

// appendShort drops zeros at the end of a fraction.
func appendShort(out []byte, x float64, format byte, digits int) []byte {
	text := strconv.FormatFloat(x, format, digits, 64)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return append(out, text...)
}
