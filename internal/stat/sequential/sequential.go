// Package sequential compares sides pair by pair, while a run goes on and afterwards, without raising
// the rate of false alarms by looking often.
package sequential

import (
	"fmt"
	"math"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// DefaultComparing is how runs are judged when nobody says otherwise.
func DefaultComparing() record.Comparing {
	return record.Comparing{Level: estimate.Level, MinEffect: estimate.DefaultMargin}
}

// A Judge compares two sides that took turns, pair by pair of processes, and looks again and
// again (see [schedule]): over all looks together its interval misses the truth with
// probability 1-Level at most. With Rows comparisons in one run each gets its share of
// that (Bonferroni), so that all hold together.
type Judge struct {
	record.Comparing
	Rows int
}

// atZero is the warning that there is no ratio.
const atZero = "at_zero"

// tail is what a look may use on each side.
func (j Judge) tail(pairs int, last bool) float64 {
	alpha := (1 - j.Level) / float64(max(1, j.Rows))
	if j.Processes == 0 {
		return looksFor(alpha).tail(pairs, last)
	}
	return alpha / 2
}

// look judges the pairs so far. The last look (of a run that ended by its plan: its time
// or its number of processes) may use all of the error that is left; it is the only one
// where a fixed number of processes was asked for.
func (j Judge) look(pairs []pair, last bool) record.Comparison {
	c := record.Comparison{Verdict: record.Undecided, Pairs: len(pairs)}
	alpha := (1 - j.Level) / float64(max(1, j.Rows))
	iv, ok := turnsInterval(pairs, j.tail(len(pairs), last))
	if tooManyAtZero(pairs) {
		c.Warnings = append(c.Warnings, record.Warning{
			Code: atZero, Text: "too many processes took no more time than their empty twin: there is no ratio, and the verdict is of the difference",
			Advice: "where that is no wonder, nothing; else see that the work is not removed by the compiler, with moonlap.keep(x)",
		})
		return c
	}
	if !ok {
		least := j.least(len(pairs), last)
		c.Needs = 2 * (least - len(pairs))
		c.Warnings = append(c.Warnings, record.Warning{
			Code:   "few_processes",
			Text:   fmt.Sprintf("too few pairs of processes count, %d, for an interval of the ratio at %.4g %%", len(pairs), 100*(1-alpha)),
			Advice: fmt.Sprintf("at least %d pairs have to count: give it more --time, or more --processes", least),
		})
		if ratio, finite := ratioOf(iv); finite {
			c.Ratio = record.WithoutInterval(ratio.Estimate)
		}
		return c
	}
	return j.conclude(c, iv, len(pairs))
}

// conclude says what an interval of the shift over n pairs means.
func (j Judge) conclude(c record.Comparison, iv record.Interval, n int) record.Comparison {
	ratio, finite := ratioOf(iv)
	if !finite { // of a few processes there is none, which more will outweigh
		c.Needs = 2 * n
		return c
	}
	c.Ratio, c.Smallest = ratio, SmallestSeen(ratio)
	switch {
	case j.equal(iv):
		c.Verdict = record.NoDifference
	case iv.Low > 0:
		c.Verdict = record.Slower
	case iv.High < 0:
		c.Verdict = record.Faster
	default:
		c.Needs = 2 * (j.needed(iv, n) - n)
	}
	return c
}

// tooManyAtZero reports whether more than a quarter of the pairs hold a time not above zero.
func tooManyAtZero(pairs []pair) bool {
	n := 0
	for _, p := range pairs {
		if math.IsInf(p.a, -1) || math.IsInf(p.b, -1) {
			n++
		}
	}
	return 4*n > len(pairs)
}

// ratioOf is the ratio to a shift of logarithms, where there is one.
func ratioOf(shift record.Interval) (ratio record.Interval, finite bool) {
	ratio = record.Interval{Estimate: math.Exp(shift.Estimate), Low: math.Exp(shift.Low), High: math.Exp(shift.High)}
	for _, x := range []float64{ratio.Estimate, ratio.Low, ratio.High} {
		if math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
			return record.Interval{}, false
		}
	}
	return ratio, true
}

// decided reports whether more pairs have nothing to add: the interval lies inside the
// margin, or on one side of none with the estimate beyond the margin (a smaller
// difference may yet prove too small to matter); and with a gate it lies on one side of
// that too.
func (j Judge) decided(c record.Comparison) bool {
	if len(c.Warnings) > 0 || c.Verdict == record.Undecided {
		return false
	}
	if g := j.FailIfSlower; g > 0 && c.Ratio.Low <= 1+g && c.Ratio.High > 1+g {
		return false
	}
	return c.Verdict == record.NoDifference ||
		math.Abs(math.Log(c.Ratio.Estimate)) >= math.Log1p(j.MinEffect)
}

// follow judges pairs as they came: it looks as often as the run did until one look decides,
// and so comes to the verdict that the run came to. ended says that the run ended by its
// plan, so that the look at all pairs is the last.
func (j Judge) follow(pairs []pair, ended bool) record.Comparison {
	if j.Processes > 0 {
		return j.look(pairs, true)
	}
	c := j.look(nil, false)
	for _, n := range schedule {
		if n > len(pairs) {
			break
		}
		if c = j.look(pairs[:n], false); j.decided(c) {
			return c
		}
	}
	if ended {
		c = j.look(pairs, true)
	}
	return c
}

// TooSlow reports whether a comparison proves that B is slower than A by more than the gate
// allows. What takes longer than nothing does so by any share.
func TooSlow(c record.Comparison, allowed float64) bool {
	byDifference := c.Ratio.Estimate == 0 && c.DifferenceNS != nil
	return c.Verdict == record.Slower && (byDifference || c.Ratio.Low > 1+allowed)
}

func (j Judge) equal(shift record.Interval) bool {
	return shift.Low > -math.Log1p(j.MinEffect) && shift.High < math.Log1p(j.MinEffect)
}

// needed is how many pairs would decide, at the spread seen: the interval's half width
// shrinks with the root of their number, and must come below what separates the estimate
// from none or, where that is nearer to being shown, from the margin.
func (j Judge) needed(shift record.Interval, pairs int) int {
	effect := math.Abs(shift.Estimate)
	arm := max(effect, math.Log1p(j.MinEffect)-effect)
	wide := math.Max(shift.High-shift.Estimate, shift.Estimate-shift.Low)
	more := float64(pairs) * math.Pow(wide/arm, 2)
	return int(min(max(math.Ceil(more), float64(pairs+1)), 1e6))
}

// least is the smallest number of pairs, above n, that this look would have an interval of.
func (j Judge) least(n int, last bool) int {
	for m := n + 1; m < MostPairs; m++ {
		if math.Ldexp(1, -m) <= j.tail(m, last) { // as turnsInterval asks
			return m
		}
	}
	return MostPairs
}

// leastPairs is the smallest number of pairs whose most extreme outcome is rarer than
// tail on its side.
func leastPairs(tail float64) int {
	return int(math.Ceil(-math.Log2(tail)))
}

// SmallestSeen is the relative difference that four of five such runs would have told
// from none: half the interval's width on the logarithm, times (z_0.975+z_0.8)/z_0.975.
func SmallestSeen(iv record.Interval) float64 {
	half := (math.Log(iv.High) - math.Log(iv.Low)) / 2
	return math.Expm1(half * (1 + estimate.NormalQuantile(0.8)/estimate.NormalQuantile(0.975)))
}
