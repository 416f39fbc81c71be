package estimate

import (
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// A histogram's bins end, and its overflow begins, at the first of these: one far value,
// or a long thin tail, must not squeeze all others into one bar.
const (
	BinQuantile = 0.999
	binTail     = 3 // times the 90 % quantile
)

// BinsOf counts values into some ten to twenty bins of a nice width (1, 2 or 5 times a
// power of ten), aligned to multiples of it, up to the 99.9 % quantile or three times the 90 % quantile. A last bin, if
// there are values beyond, holds them all: from there to the maximum. Empty for no values.
func BinsOf(values []float64) []record.Bin {
	if len(values) == 0 {
		return nil
	}
	s := Sorted(values)
	counts := make([]int64, len(s))
	for i := range counts {
		counts[i] = 1
	}
	return BinsOfCounts(s, counts, BinsEnd(QuantileSorted(s, 0.90), QuantileSorted(s, BinQuantile)))
}

func BinsEnd(p90, p999 float64) float64 {
	if p90 <= 0 {
		return p999
	}
	return min(p999, binTail*p90)
}

// BinsOfCounts does the same for ascending values that occur counts times each, with bins
// up to high.
func BinsOfCounts(s []float64, counts []int64, high float64) []record.Bin {
	top := s[len(s)-1]
	low := s[0]
	width := niceWidth(high - low)
	if high-low <= 1e-9*math.Abs(high) { // all equal, or nearly
		width = niceWidth(max(math.Abs(low)/10, 1e-3))
	}
	first, last := math.Floor(low/width), math.Floor(high/width)
	if top < (last+3)*width { // a short way to the end: rather bins than an overflow
		last = math.Floor(top / width)
	}
	bins := make([]record.Bin, 0, int(last-first)+2)
	for k := first; k <= last; k++ {
		bins = append(bins, record.Bin{Low: k * width, High: (k + 1) * width})
	}
	edge := bins[len(bins)-1].High
	if top >= edge {
		bins = append(bins, record.Bin{Low: edge, High: top})
	}
	for j, v := range s {
		i := int(math.Floor(v/width) - first)
		bins[min(max(i, 0), len(bins)-1)].Count += counts[j]
	}
	return bins
}

// niceWidth is the width of 1, 2 or 5 times a power of ten that cuts span into ten to
// twenty-five parts.
func niceWidth(span float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/10)))
	widths := []float64{5 * power, 2 * power, power}
	i := slices.IndexFunc(widths, func(w float64) bool { return span/w >= 10 })
	if i < 0 {
		return power
	}
	return widths[i]
}
