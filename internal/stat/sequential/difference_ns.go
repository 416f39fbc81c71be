package sequential

import (
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// leastDifference is the difference in ns that never matters: less than a processor's cycle or two.
const leastDifference = 0.5

// byDifference judges times by their difference in ns, as there is no ratio to a time that cannot be told from none. The interval
// is made as that of the ratio, by the same test of shifts ([turnsInterval]), and its margin is MinEffect of the slower side.
func (j Judge) byDifference(times []pair, last bool) (c record.Comparison, decided bool) {
	c = record.Comparison{Verdict: record.Undecided, Pairs: len(times)}
	iv, ok := turnsInterval(times, j.tail(len(times), last))
	if !ok {
		c.Needs = 2 * (j.least(len(times), last) - len(times))
		return c, false
	}
	c.DifferenceNS = &iv
	margin := max(leastDifference, j.MinEffect*max(typical(times, func(p pair) float64 { return p.a }), typical(times, func(p pair) float64 { return p.b })))
	switch {
	case iv.Low > -margin && iv.High < margin:
		c.Verdict = record.NoDifference
		return c, true
	case iv.Low > 0:
		c.Verdict = record.Slower
	case iv.High < 0:
		c.Verdict = record.Faster
	default:
		wide := max(iv.High-iv.Estimate, iv.Estimate-iv.Low)
		arm := max(math.Abs(iv.Estimate), margin-math.Abs(iv.Estimate))
		c.Needs = 2 * int(min(max(math.Ceil(float64(len(times))*math.Pow(wide/arm, 2)), float64(len(times)+1))-float64(len(times)), 1e6))
		return c, false
	}
	return c, math.Abs(iv.Estimate) >= margin
}

// addDifference gives a comparison by ratio its difference in ns, and judges by that alone where there is no ratio.
func (j Judge) addDifference(c *record.Comparison, times []pair, ended bool) {
	if !slices.ContainsFunc(c.Warnings, func(w record.Warning) bool { return w.Code == atZero }) {
		used := times[:min(c.Pairs, len(times))]
		if iv, ok := turnsInterval(used, j.tail(len(used), ended && len(used) == len(times))); ok {
			c.DifferenceNS = &iv
		}
		return
	}
	d := j.followDifference(times, ended)
	c.Verdict, c.DifferenceNS, c.Pairs, c.Needs = d.Verdict, d.DifferenceNS, d.Pairs, d.Needs
}

// followDifference is [Judge.follow] of differences.
func (j Judge) followDifference(times []pair, ended bool) record.Comparison {
	if j.Processes > 0 {
		c, _ := j.byDifference(times, true)
		return c
	}
	c, _ := j.byDifference(nil, false)
	for _, n := range schedule {
		if n > len(times) {
			break
		}
		var decided bool
		if c, decided = j.byDifference(times[:n], false); decided {
			return c
		}
	}
	if ended {
		c, _ = j.byDifference(times, true)
	}
	return c
}

// typical is the median of one side.
func typical(times []pair, side func(pair) float64) float64 {
	values := make([]float64, len(times))
	for i, p := range times {
		values[i] = side(p)
	}
	slices.Sort(values)
	return estimate.QuantileSorted(values, 0.5)
}
