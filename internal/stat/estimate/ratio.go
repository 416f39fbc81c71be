package estimate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"github.com/moonlap/moonlap/internal/record"
)

// ErrNotPositive says that a ratio was asked of locations at or below zero: a case
// that cannot be told from its empty twin has no ratio to another.
var ErrNotPositive = errors.New("a ratio needs locations above zero")

// Up to this size of both samples together the Mann–Whitney distribution is
// computed exactly; beyond it the normal approximation errs by far less than a rank.
const exactMannWhitney = 100

// RatioInterval returns the typical ratio b/a of two sets of process locations:
// the Hodges–Lehmann estimate on logarithms (the median of all ratios b_j/a_i),
// with the interval that inverts the Mann–Whitney test (Hodges & Lehmann, Annals of
// Mathematical Statistics 34, 1963; Hollander & Wolfe, Nonparametric Statistical
// Methods, ch. 4.3). It is exact for small samples, needs no normality, and is
// conservative with ties.
//
// When the samples are too small for the level it returns the widest interval there
// is, with the warning few_processes. Values at or below zero give ErrNotPositive,
// no values [ErrNoSamples].
func RatioInterval(a, b []float64, level float64) (record.Interval, []record.Warning, error) {
	if len(a) == 0 || len(b) == 0 {
		return record.Interval{}, nil, ErrNoSamples
	}
	ratios := make([]float64, 0, len(a)*len(b)) // of logarithms: differences
	for _, x := range a {
		for _, y := range b {
			if x <= 0 || y <= 0 {
				return record.Interval{}, nil, ErrNotPositive
			}
			ratios = append(ratios, math.Log(y)-math.Log(x))
		}
	}
	slices.Sort(ratios)
	k := mannWhitneyRank(len(a), len(b), level)
	var warnings []record.Warning
	if k == 0 {
		k = 1
		warnings = append(warnings, record.Warning{
			Code: "few_processes",
			Text: fmt.Sprintf("%d and %d processes are too few for an interval of the ratio at %.4g %%",
				len(a), len(b), 100*level),
			Advice: fmt.Sprintf("use at least %d processes a side", leastForRatio(level)),
		})
	}
	return record.Interval{
		Estimate: math.Exp(QuantileSorted(ratios, 0.5)),
		Low:      math.Exp(ratios[k-1]),
		High:     math.Exp(ratios[len(ratios)-k]),
	}, warnings, nil
}

// ErrNoSamples says that a side of a comparison has no process that counts.
var ErrNoSamples = errors.New("no process to compare")

// mannWhitneyRank returns the largest k with P(U <= k-1) <= (1-level)/2, so that the
// k-th smallest and the k-th largest difference bound the shift; 0 when there is none.
func mannWhitneyRank(n, m int, level float64) int {
	tail := (1 - level) / 2
	if n+m > exactMannWhitney {
		mean := float64(n*m) / 2
		sd := math.Sqrt(float64(n*m) * float64(n+m+1) / 12)
		return int(max(0, math.Floor(mean+0.5+sd*NormalQuantile(tail))))
	}
	u := stats.UDist{N1: n, N2: m}
	low, high := 0, n*m/2+1 // P(U <= low-1) <= tail < P(U <= high-1)
	for high-low > 1 {
		k := (low + high) / 2
		if u.CDF(float64(k-1)) <= tail {
			low = k
		} else {
			high = k
		}
	}
	return low
}

// leastForRatio is the smallest size of two equal samples with an interval.
func leastForRatio(level float64) int {
	n := 2
	for n < 50 && mannWhitneyRank(n, n, level) == 0 {
		n++
	}
	return n
}
