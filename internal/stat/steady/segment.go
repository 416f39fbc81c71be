package steady

import (
	"math"

	"github.com/moonlap/moonlap/internal/stat/changepoints"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

const (
	// The changepoint search sees at most this many points of a stretch, each of which
	// stands for a block of batches; see blockFloors.
	steadyPoints = 400
	leastSegment = 5 // points
)

// A segment is a stretch of batches between changepoints; its levels are logarithms.
type segment struct {
	from, to int
	floor    float64 // 10 % quantile: the level without what disturbances added
	spread   float64 // 25 % less 5 % quantile: for normal noise, its standard deviation
	high     float64 // 90 % quantile
}

func (s segment) size() int { return s.to - s.from }

// band is how far another level may be and still be the same.
func (s segment) band() float64 { return max(levelTolerance, s.spread) }

func (s segment) sameLevel(steady segment) bool {
	return math.Abs(s.floor-steady.floor) <= steady.band()
}

func (s segment) slowerThan(steady segment) bool {
	return s.floor-steady.floor > steady.band()
}

// newSegment measures the levels of ys[from:to].
func newSegment(ys []float64, from, to int) segment {
	s := estimate.Sorted(ys[from:to])
	return segment{
		from: from, to: to,
		floor:  estimate.QuantileSorted(s, 0.10),
		spread: estimate.QuantileSorted(s, 0.25) - estimate.QuantileSorted(s, 0.05),
		high:   estimate.QuantileSorted(s, 0.90),
	}
}

// segmentsOf cuts ys[from:to], logarithms of batch times, at its changepoints.
func segmentsOf(ys []float64, from, to int) []segment {
	points, size := blockFloors(ys[from:to], steadyPoints, 0.25)
	changes := changepoints.Changepoints(points, changepointPenalty(len(points)), leastSegment)
	var segments []segment
	at := from
	for _, c := range append(changes, len(points)) {
		end := min(from+c*size, to)
		segments = append(segments, newSegment(ys, at, end))
		at = end
	}
	return segments
}

// changepointPenalty is what a change must gain among n points. It is low enough for
// changes in few points; a segment that chance cuts off has its neighbour's level and
// does no harm.
func changepointPenalty(n int) float64 { return 1.5 * math.Log(float64(n)) }

// blockFloors gives a low quantile of each block of consecutive values, at most
// limit blocks of equal size, so that a search is quick and sees what the batches
// do when nothing disturbs them. Single values mean themselves.
func blockFloors(ys []float64, limit int, p float64) (points []float64, size int) {
	size = max(1, (len(ys)+limit-1)/limit)
	for from := 0; from < len(ys); from += size {
		points = append(points, estimate.Quantile(ys[from:min(from+size, len(ys))], p))
	}
	return points, size
}
