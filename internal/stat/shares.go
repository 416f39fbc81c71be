package stat

import (
	"math"

	"github.com/aclements/go-moremath/stats"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// Seen is how often something was seen among the samples of a profile, by slice: runs of samples that
// followed one another, Of of them in each. Without slices there is one, of all samples.
type Seen struct {
	Count, Of []int64
}

func (s Seen) sums() (count, of float64) {
	for i, c := range s.Count {
		count, of = count+float64(c), of+float64(s.Of[i])
	}
	return count, of
}

// A ShareChange is how a share of the samples differs between two profiles.
type ShareChange struct {
	Before, After float64         // shares
	Change        record.Interval // after - before, at Level, of this one alone
	P             float64         // that chance alone makes such a change in any of the tested ones
	Distinct      bool            // P is below 1 - Level: more than sampling error
}

// CompareShares compares shares pairwise, before[i] with after[i], and corrects for their number.
//
// Samples that follow one another are not independent: one long request holds several of them. So a
// change counts only where two tests find it: Fisher's exact one, which is right for rare things,
// and a t test whose error comes from how the share varies from slice to slice (the linearised
// variance of a ratio, Cochran, Sampling Techniques, 1977, § 6.4), and is never below that of
// independent samples. With one slice, samples count as independent.
//
// The number corrected for is Tarone's (Biometrics 46, 1990): what is so rare that no outcome could
// have been distinct is not counted.
func CompareShares(before, after []Seen) []ShareChange {
	all := make([]ShareChange, len(before))
	reaches := map[float64]float64{} // of the t distributions, by their degrees of freedom
	reach := func(freedom float64) float64 {
		if _, known := reaches[freedom]; !known {
			reaches[freedom] = stats.InvCDF(stats.TDist{V: freedom})(1 - (1-estimate.Level)/2)
		}
		return reaches[freedom]
	}
	least := make([]float64, len(before)) // P-values that can be reached
	for i := range before {
		all[i] = compareShare(before[i], after[i], reach)
		a, n := before[i].sums()
		b, m := after[i].sums()
		least[i] = min(fisher(a+b, 0, n, m), fisher(0, a+b, n, m))
	}
	tested := tarone(least, 1-estimate.Level)
	for i := range all {
		all[i].P = min(1, all[i].P*float64(tested))
		if least[i]*float64(tested) > 1-estimate.Level {
			all[i].P = 1
		}
		all[i].Distinct = all[i].P < 1-estimate.Level
	}
	return all
}

// tarone is the least number K such that no more than K of the tests can reach alpha / K.
func tarone(least []float64, alpha float64) int {
	for k := 1; ; k++ {
		testable := 0
		for _, p := range least {
			if p*float64(k) <= alpha {
				testable++
			}
		}
		if testable <= k {
			return k
		}
	}
}

// compareShare compares one share, not corrected for others; reach is the quantile of the t
// distribution for an interval at Level.
func compareShare(before, after Seen, reach func(freedom float64) float64) ShareChange {
	a, n := before.sums()
	b, m := after.sums()
	c := ShareChange{P: 1, Change: record.Interval{Low: -1, High: 1}}
	if n == 0 || m == 0 {
		return c
	}
	c.Before, c.After = a/n, b/m
	c.Change.Estimate = c.After - c.Before
	variance, freedom := 0.0, 0.0
	for _, s := range []Seen{before, after} {
		v, f := shareVariance(s)
		variance, freedom = variance+v, freedom+f
	}
	freedom = max(1, freedom)
	off := math.Sqrt(variance) // never 0
	c.Change.Low = max(-1, c.Change.Estimate-off*reach(freedom))
	c.Change.High = min(1, c.Change.Estimate+off*reach(freedom))
	c.P = max(fisher(a, b, n, m), 2*stats.TDist{V: freedom}.CDF(-math.Abs(c.Change.Estimate)/off))
	return c
}

// shareVariance is the variance of a share, and its degrees of freedom. Independent samples give the
// lower bound, with one sample more of each kind (Agresti & Caffo, The American Statistician 54, 2000),
// so that what was never seen has an error too.
func shareVariance(s Seen) (variance, freedom float64) {
	count, of := s.sums()
	p := (count + 1) / (of + 2)
	variance = p * (1 - p) / (of + 2)
	slices := float64(len(s.Count))
	if slices < 2 {
		return variance, of
	}
	var squares float64
	for i, c := range s.Count {
		d := float64(c) - count/of*float64(s.Of[i])
		squares += d * d
	}
	return max(variance, slices/(slices-1)*squares/(of*of)), slices - 1
}

// fisher is the two-sided P-value of Fisher's exact test that a of n and b of m have one share: twice
// the smaller tail.
func fisher(a, b, n, m float64) float64 {
	return min(1, 2*min(hypergeometricTail(a, b, n, m), hypergeometricTail(b, a, m, n)))
}

// hypergeometricTail is the probability that, of a+b marked ones among n+m, a or more are among the n.
func hypergeometricTail(a, b, n, m float64) float64 {
	choose := func(n, k float64) float64 {
		x, _ := math.Lgamma(n + 1)
		y, _ := math.Lgamma(k + 1)
		z, _ := math.Lgamma(n - k + 1)
		return x - y - z
	}
	marked := a + b
	if a > n || b > m {
		return 0
	}
	term := math.Exp(choose(n, a) + choose(m, b) - choose(n+m, marked))
	sum := term
	for x := a; x < n && x < marked; x++ {
		// P(x+1) / P(x)
		term *= (n - x) * (marked - x) / ((x + 1) * (m - marked + x + 1))
		sum += term
		if term < 1e-17*sum && x > marked*n/(n+m) {
			break
		}
	}
	return min(1, sum)
}
