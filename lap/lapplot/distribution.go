package lapplot

import (
	"math"
	"slices"
	"sort"

	"github.com/moonlap/moonlap/lap"
)

// A distribution is ascending values with their counts.
type distribution struct {
	buckets  []bucket
	upTo     []int64 // how many values there are up to and with each bucket
	count    int64
	min, max float64
}

// A bucket is N values from low up to high; equal: all the same value.
type bucket struct {
	low, high float64
	count     int64
}

func ofHistogram(h *lap.Histogram) distribution {
	d := distribution{count: h.Count(), min: float64(h.Min()), max: float64(h.Max())}
	for b := range h.Buckets {
		d.append(bucket{float64(b.Low), float64(b.High), b.Count})
	}
	return d
}

// ofSamples takes finite values.
func ofSamples(values []float64) distribution {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return distribution{}
	}
	d := distribution{count: int64(len(s)), min: s[0], max: s[len(s)-1]}
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && s[end] == s[i] {
			end++
		}
		d.append(bucket{s[i], s[i], int64(end - i)})
		i = end
	}
	return d
}

func (d *distribution) append(b bucket) {
	var before int64
	if n := len(d.upTo); n > 0 {
		before = d.upTo[n-1]
	}
	d.buckets = append(d.buckets, b)
	d.upTo = append(d.upTo, before+b.count)
}

// quantile is the nearest-rank quantile: the smallest value that a share p of all values
// don't exceed, as the middle of its bucket; the exact extremes at the ends.
func (d *distribution) quantile(p float64) float64 {
	rank := int64(math.Ceil(p * float64(d.count) * (1 - 0x1p-50)))
	switch {
	case rank <= 1:
		return d.min
	case rank >= d.count:
		return d.max
	}
	i := sort.Search(len(d.upTo), func(i int) bool { return d.upTo[i] >= rank })
	b := d.buckets[min(i, len(d.buckets)-1)]
	return math.Max(d.min, math.Min(d.max, b.low+(b.high-b.low)/2))
}

// above is the share of values in buckets that begin at or above x.
func (d *distribution) above(x float64) float64 {
	i := sort.Search(len(d.buckets), func(i int) bool { return d.buckets[i].low >= x })
	if i == 0 {
		return 1
	}
	return float64(d.count-d.upTo[i-1]) / float64(d.count)
}
