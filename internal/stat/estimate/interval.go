package estimate

import (
	"fmt"
	"math"

	"github.com/aclements/go-moremath/stats"
	"github.com/moonlap/moonlap/internal/record"
)

// MedianInterval returns the median of xs with a distribution-free interval at the
// given level: between order statistics, whose coverage is exact for any continuous
// distribution, interpolated after Hettmansperger & Sheather (Statistics &
// Probability Letters 4, 1986) so that the coverage is close to the level instead
// of the next above it.
//
// Where even [min, max] covers less than the level (fewer than 6 values at 95 %),
// it returns [min, max] with the warning few_processes, which says what it covers.
// Without any value the interval is NaN.
func MedianInterval(xs []float64, level float64) (record.Interval, []record.Warning) {
	s := Sorted(xs)
	n := len(s)
	if n == 0 {
		nan := math.NaN()
		return record.Interval{Estimate: nan, Low: nan, High: nan},
			[]record.Warning{fewForMedian(0, level)}
	}
	iv := record.Interval{Estimate: QuantileSorted(s, 0.5), Low: s[0], High: s[n-1]}
	if signCoverage(n, 1) < level {
		return iv, []record.Warning{fewForMedian(n, level)}
	}
	k := 1 // the innermost pair of order statistics that covers at least level
	for 2*(k+1) <= n && signCoverage(n, k+1) >= level {
		k++
	}
	// Between the pair k and the pair k+1, or the median itself where there is none.
	outer, inner := signCoverage(n, k), 0.0
	low, high := iv.Estimate, iv.Estimate
	if 2*(k+1) <= n {
		inner = signCoverage(n, k+1)
		low, high = s[k], s[n-k-1]
	}
	part := (outer - level) / (outer - inner)
	lambda := float64(n-k) * part / (float64(k) + float64(n-2*k)*part)
	iv.Low = s[k-1] + lambda*(low-s[k-1])
	iv.High = s[n-k] + lambda*(high-s[n-k])
	return iv, nil
}

// MedianIfAny is the median with its interval at Level; nil where there is no value.
func MedianIfAny(xs []float64) *record.Interval {
	if len(xs) == 0 {
		return nil
	}
	iv, _ := MedianInterval(xs, Level)
	return &iv
}

// MeanInterval returns the mean of xs with Student's interval at [Level]. Without a second value it has no width.
func MeanInterval(xs []float64) record.Interval {
	mean := Mean(xs)
	if len(xs) < 2 {
		return record.Interval{Estimate: mean, Low: mean, High: mean}
	}
	t := stats.InvCDF(stats.TDist{V: float64(len(xs) - 1)})((1 + Level) / 2)
	arm := t * Deviation(xs) / math.Sqrt(float64(len(xs)))
	return record.Interval{Estimate: mean, Low: mean - arm, High: mean + arm}
}

// Share returns k of n with its exact interval at [Level] (Clopper & Pearson, Biometrika
// 26, 1934). Of nothing it is anything between 0 and 1. Where both k and n-k are in the tens of thousands it
// is Wilson's (JASA 22, 1927), which differs from it by less than a hundredth of its width there, because
// the exact one's series does not converge.
func Share(k, n int) record.Interval {
	if n == 0 {
		return record.Interval{High: 1}
	}
	const enough = 20_000
	if min(k, n-k) > enough {
		return wilson(float64(k), float64(n))
	}
	tail := (1 - Level) / 2
	below := func(k int, p float64) float64 { return stats.BinomialDist{N: n, P: p}.CDF(float64(k)) }
	root := func(over func(p float64) bool) float64 {
		low, high := 0.0, 1.0
		for range 50 {
			if p := (low + high) / 2; over(p) {
				high = p
			} else {
				low = p
			}
		}
		return low
	}
	iv := record.Interval{Estimate: float64(k) / float64(n), High: 1}
	if k > 0 {
		iv.Low = root(func(p float64) bool { return 1-below(k-1, p) > tail })
	}
	if k < n {
		iv.High = root(func(p float64) bool { return below(k, p) < tail })
	}
	return iv
}

// wilson returns k of n with the interval of those shares that a test would not reject.
func wilson(k, n float64) record.Interval {
	z := NormalQuantile((1 + Level) / 2)
	p := k / n
	center, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return record.Interval{Estimate: p, Low: (center - half) / (1 + z*z/n), High: (center + half) / (1 + z*z/n)}
}

// LeastForMedian returns the smallest number of values for which a median has an
// interval at the level: 6 at 95 %, 8 at 99 %.
func LeastForMedian(level float64) int {
	n := 2
	for signCoverage(n, 1) < level && n < 64 {
		n++
	}
	return n
}

// signCoverage is the probability that the median lies between the k-th smallest
// and the k-th largest of n values: P(k <= Binomial(n, 1/2) <= n-k).
func signCoverage(n, k int) float64 {
	return 1 - 2*stats.BinomialDist{N: n, P: 0.5}.CDF(float64(k-1))
}

func fewForMedian(n int, level float64) record.Warning {
	text := "nothing to estimate from"
	switch {
	case n == 1:
		text = "a single value does not show how values differ"
	case n > 1:
		text = fmt.Sprintf("an interval over %d values covers the median with %.3g %% at most, not %g %%",
			n, 100*signCoverage(n, 1), 100*level)
	}
	return record.Warning{
		Code:   "few_processes",
		Text:   text,
		Advice: fmt.Sprintf("use at least %d processes", LeastForMedian(level)),
	}
}

// NormalQuantile is the p-quantile of the standard normal distribution.
func NormalQuantile(p float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// NormalCDF is the distribution function of the standard normal distribution.
func NormalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// DefaultMargin is the smallest effect that matters when nobody says otherwise.
const DefaultMargin = 0.01

// Level is the confidence level of every interval that is not asked for at
// another one.
const Level = 0.95
