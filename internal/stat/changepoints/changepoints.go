// Package changepoints finds where a series changes its level: of batches, and of runs over time.
package changepoints

import (
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// Changepoints returns the indices at which the distribution of xs changes,
// ascending, without 0 and len(xs): the optimal partition into segments of at least
// least values (2 or more), where each change must gain penalty.
//
// The search is PELT (Killick, Fearnhead & Eckley, JASA 107, 2012); the cost of a
// segment is the empirical one of Haynes, Fearnhead & Eckley (Statistics and
// Computing 27, 2017): -2 log likelihood of lying below or above a threshold, as a
// mean over thresholds at even quantiles of xs. A change of level, spread or shape
// shows in it, and as it sees only ranks, one far value weighs no more than a near
// one. That is why it stands here instead of the normal cost of mean and variance,
// which a busy machine's long right tail blinds.
//
// The time is about linear in len(xs) when there are changes, and quadratic, some
// 30 ns a pair, when there are none.
func Changepoints(xs []float64, penalty float64, least int) []int {
	return pelt(len(xs), empiricalCost(xs), penalty, max(least, 2))
}

// pelt finds the partition of 0…n into segments of at least least that minimises the
// sum of cost and penalty.
func pelt(n int, cost func(from, to int) float64, penalty float64, least int) []int {
	if n < 2*least {
		return nil
	}
	best := make([]float64, n+1) // best[t]: least cost of xs[:t]
	last := make([]int, n+1)     // start of the last segment of that partition
	best[0] = -penalty
	type start struct{ at, until int }
	starts := []start{{0, math.MaxInt}}
	for t := least; t <= n; t++ {
		best[t] = math.Inf(1)
		for _, s := range starts {
			if c := best[s.at] + cost(s.at, t) + penalty; c < best[t] {
				best[t], last[t] = c, s.at
			}
		}
		// What is more expensive than ending a segment at t can never win again, once a
		// segment that begins at t is long enough to take its place.
		kept := starts[:0]
		for _, s := range starts {
			if s.until == math.MaxInt && best[s.at]+cost(s.at, t) >= best[t] {
				s.until = t + least
			}
			if s.until > t+1 {
				kept = append(kept, s)
			}
		}
		starts = kept
		if next := t + 1 - least; next >= least {
			starts = append(starts, start{next, math.MaxInt})
		}
	}

	var changes []int
	for t := last[n]; t > 0; t = last[t] {
		changes = append(changes, t)
	}
	slices.Reverse(changes)
	return changes
}

// thresholds is how many quantiles of the whole the empirical cost looks at.
const thresholds = 16

// empiricalCost returns the cost of xs[from:to] described above, in time
// O(thresholds).
func empiricalCost(xs []float64) func(from, to int) float64 {
	n := len(xs)
	s := estimate.Sorted(xs)
	// below[i][k] counts the values of xs[:i] below threshold k, a tie as a half, so
	// it is held doubled.
	below := make([][thresholds]int32, n+1)
	for i, x := range xs {
		below[i+1] = below[i]
		for k := range thresholds {
			switch q := estimate.QuantileSorted(s, (float64(k)+0.5)/thresholds); {
			case x < q:
				below[i+1][k] += 2
			case x == q:
				below[i+1][k]++
			}
		}
	}
	xlogx := make([]float64, 2*n+1) // of doubled counts: x/2 log(x/2)
	for i := 1; i <= 2*n; i++ {
		xlogx[i] = float64(i) / 2 * math.Log(float64(i)/2)
	}
	return func(from, to int) float64 {
		size := int32(2 * (to - from))
		sum := 0.0
		low, high := &below[from], &below[to]
		for k := range thresholds {
			c := high[k] - low[k]
			sum += xlogx[c] + xlogx[size-c]
		}
		return -2 * (sum/thresholds - xlogx[size])
	}
}
