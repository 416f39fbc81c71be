package lapplot

import "math"

// Columns joins neighbours among the points, which ascend in X, so that at most most
// remain, each for an equal stretch of X: the mean of its points with the least and the
// greatest of them as interval. No extreme is lost. Gaps stay. Points whose values are no
// numbers are left out.
func Columns(points []Point, most int) []Point {
	if most < 1 {
		most = 1
	}
	drawn := make([]Point, 0, min(len(points), 2*most))
	count := 0
	extent := nothing
	for _, p := range points {
		if drawable(p) {
			count++
			extent = extent.with(p.X)
		}
	}
	if count <= most {
		for _, p := range points {
			if drawable(p) || p.isGap() {
				drawn = append(drawn, p)
			}
		}
		return drawn
	}
	width := (extent.high - extent.low) / float64(most)
	columnOf := func(x float64) int { return min(most-1, int((x-extent.low)/width)) }
	var open pile
	at := -1
	for _, p := range points {
		switch {
		case p.isGap():
			drawn = open.close(drawn)
			drawn = append(drawn, p)
		case drawable(p):
			if c := columnOf(p.X); c != at {
				drawn = open.close(drawn)
				at = c
			}
			open.add(p)
		}
	}
	return open.close(drawn)
}

// A pile is the points of one column.
type pile struct {
	count          int
	first, last    float64
	sum, low, high float64
	label          string
}

func (o *pile) add(p Point) {
	if o.count == 0 {
		*o = pile{first: p.X, low: math.Inf(1), high: math.Inf(-1), label: p.Label}
	}
	o.count++
	o.last = p.X
	o.sum += p.Y
	o.low = math.Min(o.low, math.Min(p.Y, orElse(p.Low, p.Y)))
	o.high = math.Max(o.high, math.Max(p.Y, orElse(p.High, p.Y)))
}

// close appends the pile's point, if it has one, and empties it.
func (o *pile) close(to []Point) []Point {
	if o.count == 0 {
		return to
	}
	p := Point{X: (o.first + o.last) / 2, Y: o.sum / float64(o.count), Low: o.low, High: o.high}
	if o.count == 1 {
		p.Label = o.label
	}
	// Rounding, and sums beyond all numbers, must not put the mean outside.
	p.Y = math.Max(p.Low, math.Min(p.High, p.Y))
	o.count = 0
	return append(to, p)
}

func orElse(x, otherwise float64) float64 {
	if finite(x) {
		return x
	}
	return otherwise
}
