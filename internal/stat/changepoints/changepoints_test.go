package changepoints

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestChangepointsVectors(t *testing.T) {
	var cases []struct {
		Name    string
		Xs      []float64
		Penalty float64
		Least   int
		Changes []int
	}
	stattest.Vector(t, "changepoints.json", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			got := append([]int{}, Changepoints(c.Xs, c.Penalty, c.Least)...)
			if diff := cmp.Diff(c.Changes, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// PELT prunes; its partition must cost what the unpruned search's costs.
func TestPeltIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(0, 10), 4, 40).Draw(t, "xs")
		least := rapid.IntRange(2, 6).Draw(t, "least")
		penalty := rapid.Float64Range(0, 8).Draw(t, "penalty")
		cost := empiricalCost(xs)

		total, from := 0.0, 0
		changes := pelt(len(xs), cost, penalty, least)
		for _, c := range append(changes, len(xs)) {
			if c-from < least && len(changes) > 0 {
				t.Fatalf("a segment of %d, least is %d: %v", c-from, least, changes)
			}
			total += cost(from, c) + penalty
			from = c
		}
		if best := optimalCost(len(xs), cost, penalty, least); math.Abs(total-best) > 1e-9 {
			t.Fatalf("the partition %v costs %g, the best %g", changes, total, best)
		}
	})
}

// optimalCost is the plain dynamic programme.
func optimalCost(n int, cost func(from, to int) float64, penalty float64, least int) float64 {
	if n < 2*least {
		return cost(0, n) + penalty
	}
	best := make([]float64, n+1)
	for t := 1; t <= n; t++ {
		best[t] = math.Inf(1)
		for s := 0; s <= t-least; s++ {
			best[t] = min(best[t], best[s]+cost(s, t)+penalty)
		}
	}
	return best[n]
}
