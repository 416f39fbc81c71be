package lap

import (
	"math"
	"math/bits"
)

// Laps are tallied in units of their clock, in buckets of 3 digits over 45 bits: 9
// hours of ns, 2 of the fastest counters. Constants keep this at about 1 ns; overhead
// and units are dealt with when the result is read.
const (
	tallyHalf     = 10
	tallyCounters = 36 << tallyHalf
)

var tallyGeometry = geometry{lowest: 1, highest: 1<<45 - 1, digits: 3, half: tallyHalf, counters: tallyCounters}

type tally struct {
	counts   [tallyCounters]uint64
	min, max int64
	count    int64
	sum      float64
}

func (t *tally) reset() {
	clear(t.counts[:])
	t.min, t.max = math.MaxInt64, math.MinInt64
	t.count, t.sum = 0, 0
}

// tallyIndex is the bucket of v; a negative v is in the first, one beyond the range
// in the last.
func tallyIndex(v int64) int {
	power := uint(bits.Len64(uint64(v)|1<<tallyHalf)) - tallyHalf - 1
	i := int(power<<tallyHalf) + int(uint64(v)>>power)
	if i >= tallyCounters {
		if v < 0 {
			return 0
		}
		return tallyCounters - 1
	}
	return i
}

// histogram converts to ns and takes the overhead (in the clock's units) off. A lap
// shorter than the overhead counts as 0, but the mean is not clamped.
func (t *tally) histogram(overhead, scale float64) *Histogram {
	h := NewHistogram()
	if t.count == 0 {
		return h
	}
	convert := func(v float64) int64 { return max(0, int64(math.Round((v-overhead)*scale))) }
	for i, n := range t.counts {
		if n == 0 {
			continue
		}
		low, width := tallyGeometry.bucket(i)
		middle := min(max(low+width/2, t.min), t.max)
		h.counts[min(h.index(convert(float64(middle))), len(h.counts)-1)] += n
	}
	h.count = t.count
	h.min, h.max = convert(float64(t.min)), convert(float64(t.max))
	h.setSum((t.sum - overhead*float64(t.count)) * scale)
	return h
}
