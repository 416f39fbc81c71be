package steady

import (
	"math"

	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// A stretch is what ran without a collection forced in between: the warm-up, or one
// series.
type stretch struct {
	segments []segment
	first    int       // from this segment on it is at its own steady level
	last     int       // the segment that says which
	passed   []segment // slower ones between these
}

func (t stretch) from() int       { return t.segments[0].from }
func (t stretch) to() int         { return t.segments[len(t.segments)-1].to }
func (t stretch) steady() segment { return t.segments[t.last] }

// tail is the range of values at the stretch's own level.
func (t stretch) tail() (from, to int) { return t.segments[t.first].from, t.steady().to }

// stretchesOf cuts the usable batches where the harness collected.
func stretchesOf(batches []Batch, at []int, ys []float64) []stretch {
	var stretches []stretch
	from := 0
	for k := 1; k <= len(at); k++ {
		if k < len(at) {
			a, b := batches[at[k]], batches[at[k-1]]
			if a.Warmup == b.Warmup && a.Series == b.Series {
				continue
			}
		}
		segments := segmentsOf(ys, from, k)
		stretches = append(stretches, stretch{segments: segments, last: len(segments) - 1})
		from = k
	}
	return stretches
}

// settle finds the stretch's own steady level and where it begins. It draws on the
// allowance of batches that excursions may take. An excursion at the end is returned:
// one that the next stretch shows to have passed, or one of at most endAllowance.
func (t *stretch) settle(next *stretch, allowance *int, endAllowance int) (end *segment) {
	if n := t.last; n > 0 && t.segments[n].slowerThan(t.segments[n-1]) {
		size := t.segments[n].size()
		passed := next != nil && size <= *allowance && !next.steady().slowerThan(t.segments[n-1])
		if passed || size <= endAllowance {
			end = &t.segments[n]
			t.last--
			*allowance -= size
		}
	}
	t.first, t.passed = walkBack(t.segments[:t.last], t.steady(), allowance)
	return end
}

// startsAnew reports whether what comes before the stretch's own level is its beginning
// after a collection: the first third, or, slower than the rest, up to two thirds, where
// the stretch before had no such level either.
func (t stretch) startsAnew(before stretch) bool {
	start, _ := t.tail()
	lead, size := start-t.from(), t.to()-t.from()
	if 3*lead <= size {
		return true
	}
	begin, own, other := t.segments[t.first-1], t.steady(), before.steady()
	return 3*lead <= 2*size && begin.slowerThan(own) && (begin.slowerThan(other) || !other.slowerThan(own))
}

// A step between series is a change of course, not a new draw, when it is this large
// and all series on each side agree.
const largeStep = 0.2

// stepsBefore reports whether a large step divides the series before i from those from
// i on.
func stepsBefore(series []stretch, i int) bool {
	agree := func(part []stretch) bool {
		low, high := part[0].steady().floor, part[0].steady().floor
		for _, t := range part {
			low, high = min(low, t.steady().floor), max(high, t.steady().floor)
		}
		return high-low <= levelTolerance
	}
	step := math.Abs(series[i].steady().floor - series[i-1].steady().floor)
	return step > largeStep && agree(series[:i]) && agree(series[i:])
}

// walkBack goes through segments from the end as long as they are at the level. It
// passes over slower ones while they fit into the allowance, a number of batches, and
// the level is found again before them. first is the earliest segment at the level,
// len(segments) when none is.
func walkBack(segments []segment, level segment, allowance *int) (first int, passed []segment) {
	first = len(segments)
	var pending []segment
	left := *allowance
	for i := len(segments) - 1; i >= 0; i-- {
		s := segments[i]
		switch {
		case s.sameLevel(level):
			first = i
			passed = append(passed, pending...)
			pending, *allowance = nil, left
		case s.slowerThan(level) && s.size() <= left:
			left -= s.size()
			pending = append(pending, s)
		default:
			return first, passed
		}
	}
	return first, passed
}

// commonLevel is the level of all series together: the median of theirs, in a band
// that holds them all.
func commonLevel(series []stretch) segment {
	var floors, spreads, highs []float64
	for _, t := range series {
		s := t.steady()
		floors, spreads, highs = append(floors, s.floor), append(spreads, s.spread), append(highs, s.high)
	}
	level := segment{floor: estimate.Median(floors), spread: estimate.Median(spreads), high: estimate.Median(highs)}
	for _, f := range floors {
		level.spread = max(level.spread, math.Abs(f-level.floor))
	}
	return level
}

func joined(stretches []stretch) []segment {
	var all []segment
	for _, t := range stretches {
		all = append(all, t.segments...)
	}
	return all
}
