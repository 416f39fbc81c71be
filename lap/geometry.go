package lap

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// maxCounters (8 MiB of them) bounds what a corrupt encoding can claim; enough for
// 4 digits over the whole range of 63 bits.
const maxCounters = 1 << 20

// geometry is how HdrHistogram cuts a range into buckets: linearly below 2<<half
// units, then each power of two into 1<<half buckets. The Lua module
// moonlap.histogram has the same.
type geometry struct {
	lowest, highest int64 // as asked for, ns
	digits          int
	unit            uint // log2 of the width of the finest bucket
	half            uint // log2 of the buckets in a power of two
	counters        int
}

func newGeometry(lowest, highest int64, digits int) (geometry, error) {
	g := geometry{lowest: lowest, highest: highest, digits: digits}
	if digits < 0 || digits > 5 {
		return g, fmt.Errorf("digits must be from 0 to 5, not %d", digits)
	}
	if lowest < 1 || highest/2 < lowest {
		return g, errors.New("needs 1 ns <= lowest <= highest/2")
	}
	g.half = uint(math.Ceil(math.Log2(2*math.Pow10(digits)))) - 1
	g.unit = uint(bits.Len64(uint64(lowest)) - 1)
	if g.unit+g.half > 61 {
		return g, errors.New("lowest is too large for so many digits")
	}
	powers := 1
	for untrackable := int64(2) << (g.half + g.unit); untrackable <= highest; untrackable <<= 1 {
		powers++
		if untrackable > math.MaxInt64/2 {
			break
		}
	}
	g.counters = (powers + 1) << g.half
	if g.counters > maxCounters {
		return g, fmt.Errorf("needs %d counters, more than %d: use fewer digits", g.counters, maxCounters)
	}
	return g, nil
}

// index is the bucket of a value >= 0; it may lie beyond the last counter.
func (g *geometry) index(v int64) int {
	power := uint(bits.Len64(uint64(v)>>g.unit|1<<g.half)) - g.half - 1
	return int(power<<g.half) + int(v>>((power+g.unit)&63))
}

// bucket is the lowest value of the i-th bucket and its width, in ns.
func (g *geometry) bucket(i int) (low, width int64) {
	size := 1 << g.half
	power, position := i>>g.half-1, i&(size-1)+size
	if power < 0 {
		power, position = 0, position-size
	}
	shift := uint(power) + g.unit
	return int64(position) << shift, 1 << shift
}
