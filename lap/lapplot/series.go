package lapplot

import "math"

// paleOpacity is that of what does not count.
const paleOpacity = 0.35

// series draws a series in its style.
func (p *page) series(pl *plot, s Series) {
	i := p.place[s.Name]
	full := paint{hueOf(i), 1}
	if s.Pale {
		full.opacity = paleOpacity
	}
	line := pen{full, 1.5, dashOf(i)}
	switch s.Style {
	case Steps:
		p.steps(pl, s, line)
	case Dots:
		p.scattered(pl, s, full)
	case Cells:
		p.cells(pl, s, full.ink)
	default:
		for _, run := range runs(Columns(s.Points, int(pl.width))) {
			p.line(pl, run, line)
		}
	}
}

// runs are the stretches of points between gaps.
func runs(points []Point) [][]Point {
	var runs [][]Point
	from := 0
	for i := 0; i <= len(points); i++ {
		if i < len(points) && drawable(points[i]) {
			continue
		}
		if i > from {
			runs = append(runs, points[from:i])
		}
		from = i + 1
	}
	return runs
}

// cells fills the rectangles of a heat map. One that holds anything is never invisible.
func (p *page) cells(pl *plot, s Series, of ink) {
	for _, q := range s.Points {
		if !drawable(q) || !(q.Weight > 0) {
			continue
		}
		from, to := pl.at(q.X, orElse(q.High, q.Y)), pl.at(q.X+s.Width, orElse(q.Low, q.Y))
		p.rect(from.x, from.y, max(1, to.x-from.x), max(1, to.y-from.y), paint{of, cellOpacity(q.Weight)})
	}
}

// cellOpacity is that of a cell, as in draw.js.
func cellOpacity(weight float64) float64 { return 0.08 + 0.92*min(1, weight) }

func (p *page) line(pl *plot, run []Point, line pen) {
	var mid, low, high []xy
	band := false
	for _, q := range run {
		mid = append(mid, pl.at(q.X, q.Y))
		low = append(low, pl.at(q.X, orElse(q.Low, q.Y)))
		high = append(high, pl.at(q.X, orElse(q.High, q.Y)))
		band = band || q.High > q.Low
	}
	if len(run) == 1 {
		p.dots(mid, 2, line.paint)
		if band {
			p.lines([][]xy{{low[0], high[0]}}, pen{line.paint, 1, nil})
		}
		return
	}
	if band {
		inside := line.paint
		inside.opacity *= 0.25
		edge := pen{line.paint, 0.75, nil}
		edge.opacity *= 0.6
		corners := append([]xy(nil), high...)
		for i := len(low) - 1; i >= 0; i-- {
			corners = append(corners, low[i])
		}
		p.area(corners, inside)
		p.lines([][]xy{high, low}, edge)
	}
	p.lines([][]xy{mid}, line)
}

func (p *page) steps(pl *plot, s Series, line pen) {
	for _, run := range runs(s.Points) {
		var path []xy
		for i, q := range run {
			at := pl.at(q.X, q.Y)
			if i > 0 {
				before := pl.at(run[i-1].X, run[i-1].Y)
				if at == before {
					continue
				}
				if at.y != before.y {
					path = append(path, xy{at.x, before.y})
				}
			}
			path = append(path, at)
		}
		if s.Filled {
			ground := pl.y + pl.height*(1-pl.chart.Y.place(pl.spanY, math.Max(0, pl.spanY.low)))
			inside := line.paint
			inside.opacity *= 0.2
			path = append([]xy{{path[0].x, ground}}, path...)
			p.area(append(path[:len(path):len(path)], xy{path[len(path)-1].x, ground}), inside)
		}
		p.lines([][]xy{path}, line)
	}
}

func (p *page) scattered(pl *plot, s Series, full paint) {
	var at []xy
	var whiskers [][]xy
	for _, q := range s.Points {
		if !drawable(q) {
			continue
		}
		at = append(at, pl.at(q.X, q.Y))
		if low, high := orElse(q.Low, q.Y), orElse(q.High, q.Y); high > low {
			whiskers = append(whiskers, []xy{pl.at(q.X, low), pl.at(q.X, high)})
		}
	}
	thin := pen{full, 1.25, nil}
	thin.opacity *= 0.6
	p.lines(whiskers, thin)
	radius := 3.0
	if len(at) > 200 || s.Pale {
		radius = 1.5
	}
	p.dots(at, radius, full)
}

// marks draws each kind of mark in a strip of its own below the plot.
func (p *page) marks(pl *plot) {
	for k, kind := range pl.chart.kinds() {
		y := pl.y + pl.height + stripHeight*(float64(k)+0.5)
		for _, s := range pl.chart.Series {
			seen := map[int]bool{}
			for _, m := range s.Marks {
				x := pl.at(m.X, pl.spanY.low).x
				if m.Kind != kind || seen[int(x)] || !finite(m.X) {
					continue
				}
				seen[int(x)] = true
				p.sign(k, xy{x, y}, paint{hueOf(p.place[s.Name]), 0.8})
			}
		}
	}
}

// signs are how the kinds of marks look, around 0.
var signs = [][]xy{
	{{0, -4}, {3.5, 3}, {-3.5, 3}},
	{{0, -4}, {4, 0}, {0, 4}, {-4, 0}},
	{{-3, -3}, {3, -3}, {3, 3}, {-3, 3}},
	{{0, 4}, {3.5, -3}, {-3.5, -3}},
}

func (p *page) sign(kind int, at xy, with paint) {
	corners := make([]xy, 0, 4)
	for _, c := range signs[kind%len(signs)] {
		corners = append(corners, xy{at.x + c.x, at.y + c.y})
	}
	p.area(corners, with)
}
