package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// LeastForBootstrap is the smallest sample that Bootstrap resamples without a
// warning: below it the intervals are known to be too narrow.
const LeastForBootstrap = 8

// Bootstrap returns statistic(samples) with a bias-corrected and accelerated
// bootstrap interval (BCa: Efron, JASA 82, 1987; several samples after Efron &
// Tibshirani, An Introduction to the Bootstrap, 1993, ch. 14 and 15). Each sample
// is resampled by itself, resamples times, with rng: the same rng state gives the
// same interval. The samples must not be empty.
//
// It serves means and ratios of means, where order statistics give no interval;
// for medians [MedianInterval] is exact and cheaper.
func Bootstrap(
	rng *rand.Rand, resamples int, level float64, statistic func(...[]float64) float64, samples ...[]float64,
) (record.Interval, []record.Warning) {
	estimate := statistic(samples...)
	iv := record.Interval{Estimate: estimate, Low: estimate, High: estimate}

	drawn := make([][]float64, len(samples))
	for i, s := range samples {
		drawn[i] = make([]float64, len(s))
	}
	replicates := make([]float64, resamples)
	for r := range replicates {
		for i, s := range samples {
			for j := range drawn[i] {
				drawn[i][j] = s[rng.IntN(len(s))]
			}
		}
		replicates[r] = statistic(drawn...)
	}
	slices.Sort(replicates)

	var warnings []record.Warning
	if n := smallest(samples); n < LeastForBootstrap {
		warnings = append(warnings, record.Warning{
			Code:   "few_processes",
			Text:   fmt.Sprintf("a bootstrap over %d values is narrower than it should be", n),
			Advice: fmt.Sprintf("use at least %d processes", LeastForBootstrap),
		})
	}
	if replicates[0] == replicates[resamples-1] {
		return iv, warnings // all samples equal: nothing varies
	}
	bias := biasCorrection(replicates, estimate)
	acceleration := jackknifeAcceleration(statistic, samples)
	at := func(p float64) float64 {
		z := bias + normalQuantile(p)
		return quantileSorted(replicates, normalCDF(bias+z/(1-acceleration*z)))
	}
	iv.Low, iv.High = at((1-level)/2), at((1+level)/2)
	return iv, warnings
}

// MeanRatio is a statistic for [Bootstrap]: mean of the second over mean of the first.
func MeanRatio(samples ...[]float64) float64 { return Mean(samples[1]) / Mean(samples[0]) }

// biasCorrection is z0: how far the estimate is from the replicates' median, in
// standard normal units; ties count half.
func biasCorrection(replicates []float64, estimate float64) float64 {
	below, _ := slices.BinarySearch(replicates, estimate)
	upTo, _ := slices.BinarySearch(replicates, math.Nextafter(estimate, math.Inf(1)))
	n := float64(len(replicates))
	p := (float64(below) + float64(upTo)) / 2 / n
	return normalQuantile(min(max(p, 0.5/n), 1-0.5/n))
}

// jackknifeAcceleration is the skewness of the statistic's influence, each sample's
// share weighted by its size.
func jackknifeAcceleration(statistic func(...[]float64) float64, samples [][]float64) float64 {
	squares, cubes := 0.0, 0.0
	rest := slices.Clone(samples)
	for i, s := range samples {
		without := make([]float64, len(s))
		if len(s) < 2 {
			continue
		}
		for j := range s {
			rest[i] = slices.Delete(slices.Clone(s), j, j+1)
			without[j] = statistic(rest...)
		}
		rest[i] = s
		m, n := Mean(without), float64(len(s))
		for _, w := range without {
			u := (n - 1) * (m - w) / n
			squares += u * u
			cubes += u * u * u
		}
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

func smallest(samples [][]float64) int {
	n := math.MaxInt
	for _, s := range samples {
		n = min(n, len(s))
	}
	return n
}
