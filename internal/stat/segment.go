package stat

import "math"

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

// segmentsOf cuts the logarithms of batch times at their changepoints.
func segmentsOf(ys []float64) []segment {
	points, size := blockFloors(ys, steadyPoints, 0.25)
	changes := Changepoints(points, changepointPenalty(len(points)), leastSegment)
	var segments []segment
	from := 0
	for _, c := range append(changes, len(points)) {
		to := min(c*size, len(ys))
		s := sorted(ys[from:to])
		segments = append(segments, segment{
			from: from, to: to,
			floor:  quantileSorted(s, 0.10),
			spread: quantileSorted(s, 0.25) - quantileSorted(s, 0.05),
			high:   quantileSorted(s, 0.90),
		})
		from = to
	}
	return segments
}

// blockFloors gives a low quantile of each block of consecutive values, at most
// limit blocks of equal size, so that a search is quick and sees what the batches
// do when nothing disturbs them. Single values stand for themselves.
func blockFloors(ys []float64, limit int, p float64) (points []float64, size int) {
	size = max(1, (len(ys)+limit-1)/limit)
	for from := 0; from < len(ys); from += size {
		points = append(points, Quantile(ys[from:min(from+size, len(ys))], p))
	}
	return points, size
}

// changepointPenalty is what a change must gain among n points. Together with the
// cost of [Changepoints] it finds no change in 98 of 100 sequences without one.
func changepointPenalty(n int) float64 { return 2 * math.Log(float64(n)) }
