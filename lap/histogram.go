package lap

import (
	"errors"
	"math"
	"math/bits"
	"time"
)

// A Histogram counts durations in HdrHistogram's buckets: constant memory, any
// number of values, percentiles within 10^-digits of the truth; count, minimum,
// maximum and mean are exact. It is not safe for concurrent use: give each
// goroutine its own and [Histogram.Merge] them.
type Histogram struct {
	geometry
	counts   []uint64
	count    int64
	min, max int64
	sumHigh  int64 // 128 bits of sum, so that no run is long enough to overflow
	sumLow   uint64
}

// NewHistogram makes an empty histogram from 1 ns to 1 h with 3 significant digits,
// which takes 270 kB.
func NewHistogram() *Histogram {
	h, err := NewHistogramRange(1, time.Hour, 3)
	if err != nil {
		panic(err) // constants
	}
	return h
}

// NewHistogramRange makes an empty histogram that keeps digits (0 to 5) significant
// decimal digits from lowest to highest. It fails when lowest is below 1 ns or above
// highest/2, and when it would need more than 8 MiB.
func NewHistogramRange(lowest, highest time.Duration, digits int) (*Histogram, error) {
	g, err := newGeometry(int64(lowest), int64(highest), digits)
	if err != nil {
		return nil, errors.New("lap: histogram " + err.Error())
	}
	h := &Histogram{geometry: g, counts: make([]uint64, g.counters)}
	h.Reset()
	return h, nil
}

// Record counts one value. A negative value goes to the lowest bucket, one beyond
// the range to the highest; Min, Max and Mean stay exact, so they tell.
func (h *Histogram) Record(d time.Duration) {
	v := int64(d)
	h.count++
	low, carry := bits.Add64(h.sumLow, uint64(v), 0)
	h.sumLow = low
	h.sumHigh += v>>63 + int64(carry)
	h.min = min(h.min, v)
	h.max = max(h.max, v)
	i := h.index(max(v, 0))
	if i >= len(h.counts) {
		i = len(h.counts) - 1
	}
	h.counts[i]++
}

// setSum replaces the sum, which is below 2^63 in magnitude.
func (h *Histogram) setSum(sum float64) {
	v := int64(math.Round(sum))
	h.sumHigh, h.sumLow = v>>63, uint64(v)
}

// Reset forgets all values.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.count, h.sumHigh, h.sumLow = 0, 0, 0
	h.min, h.max = math.MaxInt64, math.MinInt64
}

// Merge adds the values of other, which must have the same lowest, highest and digits.
func (h *Histogram) Merge(other *Histogram) error {
	if h.geometry != other.geometry {
		return errors.New("lap: histograms of different lowest, highest or digits cannot be merged")
	}
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.count += other.count
	low, carry := bits.Add64(h.sumLow, other.sumLow, 0)
	h.sumLow = low
	h.sumHigh += other.sumHigh + int64(carry)
	h.min = min(h.min, other.min)
	h.max = max(h.max, other.max)
	return nil
}

// Count is the number of values.
func (h *Histogram) Count() int64 { return h.count }

// Min is the smallest value, exact (after [Decode] a bucket's lower edge); 0 when empty.
func (h *Histogram) Min() time.Duration {
	if h.count == 0 {
		return 0
	}
	return time.Duration(h.min)
}

// Max is the largest value, exact (after [Decode] a bucket's largest value); 0 when empty.
func (h *Histogram) Max() time.Duration {
	if h.count == 0 {
		return 0
	}
	return time.Duration(h.max)
}

// Mean is the arithmetic mean in ns, exact (after [Decode] from the buckets' middles);
// 0 when empty.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	high, low, sign := h.sumHigh, h.sumLow, 1.0
	if high < 0 { // negate both words, lest large floats cancel out
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, sign = -high-int64(borrow), -1
	}
	return sign * (math.Ldexp(float64(high), 64) + float64(low)) / float64(h.count)
}

// Percentile is the nearest-rank percentile: the smallest value that p percent of all
// values don't exceed, as the middle of its bucket. 0 gives the exact minimum, 100
// the exact maximum; p outside 0…100 counts as the nearer of them. 0 when empty.
func (h *Histogram) Percentile(p float64) time.Duration {
	switch {
	case h.count == 0:
		return 0
	case !(p > 0):
		return time.Duration(h.min)
	case p >= 100:
		return time.Duration(h.max)
	}
	// The last factor undoes rounding of p: 99.9 % of 1000 is the 999th value.
	rank := max(1, int64(math.Ceil(p*float64(h.count)/100*(1-0x1p-50))))
	var seen int64
	for i, n := range h.counts {
		seen += int64(n)
		if seen >= rank {
			low, width := h.bucket(i)
			return time.Duration(max(h.min, min(h.max, low+width/2)))
		}
	}
	return time.Duration(h.max)
}

// A Bucket is one counter of a histogram: Count values in [Low, High).
type Bucket struct {
	Low, High time.Duration
	Count     int64
}

// Buckets yields the buckets that hold values, in ascending order.
func (h *Histogram) Buckets(yield func(Bucket) bool) {
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		low, width := h.bucket(i)
		// The topmost bucket of 63 bits ends at 2^63.
		high := low + min(width, math.MaxInt64-low)
		if !yield(Bucket{Low: time.Duration(low), High: time.Duration(high), Count: int64(n)}) {
			return
		}
	}
}

// String draws the histogram with ten bars.
func (h *Histogram) String() string { return h.Summary(10).String() }
