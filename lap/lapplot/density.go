package lapplot

import (
	"fmt"
	"math"
	"sort"
)

// mostBins is as many bins as a screen shows apart.
const mostBins = 240

// Density is a chart of how often which times occur: the share of the laps in each of many
// bins of round width, from the shortest lap to the 99.9th percentile, or three times the
// 90th where that is less; the chart says what lies beyond. Where times differ by more than
// a factor of 30 the bins widen in proportion, on a logarithmic axis, and none is left out.
// The bins are as wide as the Rice rule says of the narrowest distribution, 2·n^(1/3) of them,
// and at most 240 in all.
func Density(laps ...*Laps) *Chart {
	c := &Chart{
		Title: "Density",
		X:     Axis{Title: "time per lap", Unit: Time},
		Y:     Axis{Unit: Share},
		Notes: remarks(laps, true),
	}
	var names []string
	var ds []distribution
	for _, l := range laps {
		if d := l.distribution(); d.count > 0 {
			names, ds = append(names, l.name), append(ds, d)
		}
	}
	if len(ds) == 0 {
		return c
	}
	edges, title, scale := binEdges(ds)
	c.Y.Title, c.X.Scale = title, scale
	end := edges[len(edges)-1]
	for i := range ds {
		c.Series = append(c.Series, Series{
			Name: names[i], Style: Steps, Filled: true, Points: inBins(&ds[i], edges, scale),
		})
		if beyond := ds[i].above(end); beyond > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: %s take longer, up to %s",
				names[i], Share.print(beyond, 2), Time.print(ds[i].max, 3)))
		}
	}
	return c
}

// binEdges are the edges of the bins that all distributions share, what a bin's share is
// called, and the scale on which the bins are equally wide: as the narrowest distribution
// needs them.
func binEdges(ds []distribution) (edges []float64, title string, scale Scale) {
	low, high, least := math.Inf(1), math.Inf(-1), math.Inf(1)
	for i := range ds {
		low, high = math.Min(low, ds[i].min), math.Max(high, bodyEnd(&ds[i]))
		least = math.Min(least, ds[i].quantile(0.001))
	}
	if least > 0 && high > wide*least {
		for i := range ds {
			high = math.Max(high, ds[i].max)
		}
		low = math.Max(low, least/wide)
		width := binWidth(ds, math.Log(high)-math.Log(low), func(d *distribution) float64 { // high/low may overflow
			return math.Log(bodyEnd(d)) - math.Log(math.Max(low, d.quantile(0.001)))
		})
		edges = logEdges(low, high, width)
		return edges, fmt.Sprintf("share in each %.2g %%", 100*math.Expm1(width)), Log
	}
	width := binWidth(ds, high-low, func(d *distribution) float64 { return bodyEnd(d) - d.quantile(0.001) })
	edges, width = linearEdges(low, high, math.Max(width/rounding, coarsest(ds, high)))
	return edges, "share in each " + Time.print(width, 1), Linear
}

// rounding is how much narrower than by the rule a bin of round width may be: about as much
// as it may be wider, the steps of round numbers being 2 and 2.5.
const rounding = 1.6

// binWidth is how wide the bins of the narrowest body are by the Rice rule, but at least a
// mostBins-th of all.
func binWidth(ds []distribution, all float64, body func(*distribution) float64) float64 {
	width := all
	for i := range ds {
		if w := body(&ds[i]); w > 1e-9*all {
			width = math.Min(width, w/math.Max(10, math.Ceil(2*math.Cbrt(float64(ds[i].count)))))
		}
	}
	return math.Max(width, all/mostBins)
}

// bodyEnd is where the tail of a distribution is cut off.
func bodyEnd(d *distribution) float64 {
	end := d.quantile(0.999)
	if p90 := d.quantile(0.90); p90 > 0 {
		end = math.Min(end, 3*p90)
	}
	return end
}

// coarsest is the width of the widest bucket below high: narrower bins would show the
// buckets, not the laps.
func coarsest(ds []distribution, high float64) float64 {
	width := 0.0
	for _, d := range ds {
		for _, b := range d.buckets {
			if b.low <= high {
				width = math.Max(width, b.high-b.low)
			}
		}
	}
	return width
}

func linearEdges(low, high, least float64) (edges []float64, width float64) {
	width = least
	if width <= 1e-9*math.Abs(high) { // all equal, or nearly
		width = math.Max(math.Abs(high)/100, 1e-3)
	}
	width = niceStep(width)
	// An edge such as 100.4 must be the float that a time of 100.4 is, which is 502/5, and not
	// 502·0.2, so that clocks of round steps don't fall on either side of it at random.
	edge := func(k float64) float64 { return k * width }
	if per := math.Round(1 / width); width < 1 {
		edge = func(k float64) float64 { return k / per }
	}
	first := math.Floor(low / width)
	for edge(first) > low {
		first--
	}
	for k := first; ; k++ {
		edges = append(edges, edge(k))
		if edge(k) > high && k > first {
			return edges, width
		}
	}
}

// logEdges has an edge above high; the logarithms of the edges are so far apart.
func logEdges(low, high, width float64) (edges []float64) {
	for k := 0; ; k++ {
		edge := math.Exp(math.Log(low) + float64(k)*width)
		edges = append(edges, edge)
		if edge > high && k > 0 {
			return edges
		}
	}
}

// inBins are the shares of the values in each bin, as steps, without the empty bins at both
// ends. A bucket that reaches over several bins is dealt out in proportion.
func inBins(d *distribution, edges []float64, scale Scale) []Point {
	shares := make([]float64, len(edges)-1)
	at := func(x float64) float64 { // number of the bin with x, and how far in
		i := sort.Search(len(shares), func(i int) bool { return edges[i+1] > x })
		if i == len(shares) || x <= edges[0] {
			return float64(i)
		}
		low, high := edges[i], edges[i+1]
		if scale == Log {
			x, low, high = math.Log(x), math.Log(low), math.Log(high)
		}
		return float64(i) + math.Min((x-low)/(high-low), 1-1e-12) // not rounded into the next
	}
	for _, b := range d.buckets {
		if b.low >= edges[len(edges)-1] {
			break
		}
		low, high := at(math.Max(b.low, d.min)), at(math.Min(b.high, d.max))
		first := int(low)
		share := float64(b.count) / float64(d.count)
		if high-low < 1e-9 || int(high) == first {
			shares[first] += share
			continue
		}
		for i := first; i < len(shares) && float64(i) < high; i++ {
			shares[i] += share * (math.Min(high, float64(i+1)) - math.Max(low, float64(i))) / (high - low)
		}
	}
	first, last := 0, len(shares)-1
	for ; first < last && shares[first] == 0; first++ {
	}
	for ; last > first && shares[last] == 0; last-- {
	}
	points := make([]Point, 0, len(edges))
	for i := first; i <= last; i++ {
		points = append(points, At(edges[i], shares[i]))
	}
	return append(points, At(edges[last+1], 0))
}
