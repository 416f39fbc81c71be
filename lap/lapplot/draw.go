package lapplot

import (
	"math"
	"strconv"
	"strings"
)

// Sizes of a picture, px.
const (
	pageWidth   = 1000.0
	plotHeight  = 300.0
	leftMargin  = 92.0
	rightMargin = 24.0
	belowPlot   = 58.0
	lineHeight  = 18.0
	fontSize    = 13.0
	stripHeight = 14.0 // of the marks of one kind
	gapAbove    = 10.0 // a chart
)

// A page is a figure laid out.
type page struct {
	canvas
	figure *Figure
	place  map[string]int // of names
	y      float64        // where the next part begins
}

// reportLine is the height of a line of a report.
const reportLine = 16.0

// report has the lines of the report, as they can be drawn.
func (f *Figure) report() []string {
	if f.Report == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(strings.ToValidUTF8(f.Report, "\uFFFD"), "\n"), "\n")
}

// height of the whole picture.
func (f *Figure) height() float64 {
	h := 16.0 + lineHeight*float64(len(f.Notes)+len(f.Ratios)) + reportLine*float64(len(f.report()))
	if f.Title != "" {
		h += 26
	}
	for _, c := range f.Charts {
		h += f.chartHeight(c)
	}
	return h
}

func (f *Figure) chartHeight(c *Chart) float64 {
	return f.aboveHeight(c) + plotHeight + stripHeight*float64(len(c.kinds())) + belowPlot
}

// aboveHeight is that of a chart's title, notes and legend.
func (f *Figure) aboveHeight(c *Chart) float64 {
	_, rows := legendOf(c)
	return gapAbove + 30 + lineHeight*float64(len(c.Notes)+rows)
}

// draw draws a figure.
func (f *Figure) draw(to canvas) {
	p := &page{canvas: to, figure: f, place: map[string]int{}, y: 16}
	for i, name := range f.names() {
		p.place[name] = i
	}
	to.group("head")
	to.rect(0, 0, pageWidth, f.height(), paint{paper, 1})
	if f.Title != "" {
		p.y += 10
		to.text(20, p.y+6, clipText(f.Title, 18, pageWidth-40), face{size: 18, ink: text, bold: true})
		p.y += 16
	}
	for _, line := range f.report() {
		to.text(20, p.y+fontSize, shorten(line, 130), face{size: fontSize - 1, ink: text, mono: true})
		p.y += reportLine
	}
	for _, note := range f.Notes {
		p.note(note, 20, muted)
	}
	for _, r := range f.Ratios {
		p.note(r.String(), 20, text)
	}
	for i, c := range f.Charts {
		to.group("chart" + strconv.Itoa(i+1))
		p.chart(c)
	}
}

func (p *page) note(s string, x float64, of ink) {
	p.text(x, p.y+fontSize, clipText(s, fontSize, pageWidth-x-20), face{size: fontSize, ink: of})
	p.y += lineHeight
}

func (p *page) chart(c *Chart) {
	top := p.y
	p.y += gapAbove
	p.text(20, p.y+16, clipText(c.Title, 15, pageWidth-40), face{size: 15, ink: text, bold: true})
	p.y += 22
	for _, note := range c.Notes {
		p.note(note, 20, muted)
	}
	p.legend(c)
	plot := newPlot(c, leftMargin, top+p.figure.aboveHeight(c))
	p.frame(plot)
	for _, pale := range []bool{true, false} { // what does not count lies below
		for _, s := range c.Series {
			if s.Pale == pale {
				p.series(plot, s)
			}
		}
	}
	p.marks(plot)
	p.y = top + p.figure.chartHeight(c)
}

// A plot is the area of a chart in which the series lie, and what its axes span.
type plot struct {
	chart               *Chart
	x, y, width, height float64 // of the area, without the strips of marks below
	strips              float64
	spanX, spanY        span
}

func newPlot(c *Chart, x, y float64) *plot {
	pl := &plot{chart: c, x: x, y: y, width: pageWidth - x - rightMargin, height: plotHeight}
	pl.strips = stripHeight * float64(len(c.kinds()))
	pl.spanX, pl.spanY = c.spans()
	return pl
}

// spans are what the axes of a chart show.
func (c *Chart) spans() (x, y span) {
	x = nothing
	leastX := math.Inf(1)
	for _, s := range c.Series {
		for _, m := range s.Marks {
			x = x.with(m.X)
		}
		for _, p := range s.Points {
			if drawable(p) {
				x = x.with(p.X)
				if s.Style == Cells {
					x = x.with(p.X + s.Width)
				}
				leastX = leastAbove0(leastX, p.X)
			}
		}
	}
	if x.empty() {
		x = span{0, 1}
	}
	y, leastY := c.reachY()
	zero := c.Y.Scale == Linear && y.low >= 0 && y.low < 0.4*y.high
	x, y = c.X.narrow(x, leastX), c.Y.widen(y, leastY)
	if zero {
		y.low = 0
	}
	return x, y
}

// reachY is from where to where the series reach, and the smallest value above 0. Pale ones
// count up to twice what the others reach.
func (c *Chart) reachY() (y span, least float64) {
	y, least = nothing, math.Inf(1)
	for _, pale := range []bool{false, true} {
		limit := span{math.Inf(-1), math.Inf(1)}
		if pale && !y.empty() {
			limit = span{y.low / 2, 2 * y.high}
		}
		for _, s := range c.Series {
			if s.Pale != pale {
				continue
			}
			for _, p := range s.Points {
				if !drawable(p) {
					continue
				}
				for _, v := range []float64{p.Y, p.Low, p.High} {
					if v >= limit.low && v <= limit.high {
						y, least = y.with(v), leastAbove0(least, v)
					}
				}
			}
			if s.Filled {
				y = y.with(0)
			}
		}
	}
	if y.empty() {
		y = span{0, 1}
	}
	return y, least
}

func leastAbove0(least, x float64) float64 {
	if finite(x) && x > 0 && x < least {
		return x
	}
	return least
}

// at is the place of a point, px.
func (pl *plot) at(x, y float64) xy {
	return xy{
		pl.x + pl.width*pl.chart.X.place(pl.spanX, x),
		pl.y + pl.height*(1-pl.chart.Y.place(pl.spanY, y)),
	}
}

// frame draws grid, axes, ticks and titles.
func (p *page) frame(pl *plot) {
	bottom := pl.y + pl.height + pl.strips
	hair := pen{paint{grid, 1}, 1, nil}
	label := face{size: 12, ink: muted}
	for _, t := range pl.chart.Y.ticks(pl.spanY, 6) {
		y := math.Round(pl.at(pl.spanX.low, t.at).y) + 0.5
		p.lines([][]xy{{{pl.x, y}, {pl.x + pl.width, y}}}, hair)
		label.anchor = end
		p.text(pl.x-8, y+4, t.text, label)
	}
	for _, t := range apart(pl.chart.X.ticks(pl.spanX, 10), func(t tick) float64 { return pl.at(t.at, pl.spanY.low).x }) {
		x := math.Round(pl.at(t.at, pl.spanY.low).x) + 0.5
		p.lines([][]xy{{{x, pl.y}, {x, bottom}}}, hair)
		label.anchor = middle
		p.text(x, bottom+18, t.text, label)
	}
	p.lines([][]xy{{{pl.x, bottom}, {pl.x + pl.width, bottom}}}, pen{paint{muted, 1}, 1, nil})
	title := face{size: fontSize, ink: text, anchor: middle}
	p.text(pl.x+pl.width/2, bottom+38, pl.chart.X.Title, title)
	title.upward = true
	p.text(24, pl.y+pl.height/2, clipText(pl.chart.Y.Title, fontSize, pl.height), title)
}

// apart leaves out ticks whose labels would touch the one before.
func apart(ticks []tick, at func(tick) float64) []tick {
	var kept []tick
	free := math.Inf(-1)
	for _, t := range ticks {
		half := textWidth(t.text, 12)/2 + 4
		if at(t)-half < free {
			continue
		}
		kept = append(kept, t)
		free = at(t) + half
	}
	return kept
}
