// Package estimate has quantiles, means, ratios and histograms' bins, and intervals of them.
package estimate

import (
	"math"
	"slices"
)

// Quantile returns the p-quantile of xs by linear interpolation between order
// statistics, h = (n-1)p+1: type 7 of Hyndman & Fan (The American Statistician
// 50, 1996), which is also R's and numpy's default. xs need not be sorted and is
// not changed. It is NaN when xs is empty; p outside 0…1 is clamped.
func Quantile(xs []float64, p float64) float64 {
	return QuantileSorted(Sorted(xs), p)
}

// Median returns the 0.5-quantile of xs; NaN when xs is empty.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// Sum adds up values.
func Sum(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// Mean returns the arithmetic mean; NaN when xs is empty.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return Sum(xs) / float64(len(xs))
}

// Deviation returns the sample standard deviation, 0 for fewer than two values.
func Deviation(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	m, sum := Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

// Sorted returns a sorted copy of xs.
func Sorted(xs []float64) []float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s
}

func QuantileSorted(s []float64, p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	h := float64(len(s)-1) * min(max(p, 0), 1)
	i := int(h)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}
