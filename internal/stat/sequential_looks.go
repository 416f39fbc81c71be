package stat

import (
	"math"
	"sync"
)

// halfSpent is the number of pairs by which half of the allowed error is spent. Chosen
// by simulation (sequential_sim_test.go) for runs that end after 10 to 60 pairs.
const halfSpent = 15

// spending is the share of the allowed error that looks at up to n pairs may use. It
// needs no plan of how many pairs there will be: whatever is left goes to the last look,
// which the clock chooses and not the data.
func spending(n int) float64 { return float64(n) / float64(n+halfSpent) }

// Looks say how extreme a two-sided statistic must be at each look at growing data, so
// that looking every time errs with the allowed probability over all looks together
// (Lan & DeMets, Biometrika 70, 1983; boundaries by Armitage, McPherson & Rowe's
// recursion, JRSS A 132, 1969, for sums of independent increments).
type looks struct {
	running []float64 // by number of pairs: the tail on each side at a look that others follow
	last    []float64 // the tail where no other look follows
}

const (
	mostPairs   = 200 // beyond it nothing more is spent
	latticeStep = 0.1 // of the sum, whose increments have a deviation of 1
	kernelReach = 6.0 // deviations beyond which an increment is neglected
)

var looksOf = struct {
	sync.Mutex
	known map[float64]looks
}{known: map[float64]looks{}}

// looksFor returns the looks that err with probability alpha in all, the first of them
// where even the most extreme outcome of a sign test can be told from chance.
func looksFor(alpha float64) looks {
	looksOf.Lock()
	defer looksOf.Unlock()
	l, ok := looksOf.known[alpha]
	if !ok {
		first := 1
		for first < mostPairs && math.Ldexp(1, 1-first) > alpha*spending(first) {
			first++
		}
		l = newLooks(alpha, mostPairs, func(n int) float64 {
			if n < first {
				return 0
			}
			return spending(n)
		})
		looksOf.known[alpha] = l
	}
	return l
}

// newLooks follows the density of the sum over the looks that did not stop. It lives on
// a lattice around 0; at each look what lies beyond the bound is cut away.
func newLooks(alpha float64, most int, share func(n int) float64) looks {
	l := looks{running: make([]float64, most+1), last: make([]float64, most+1)}
	reach := int(kernelReach / latticeStep)
	kernel := make([]float64, reach+1)
	for i := range kernel {
		x := float64(i) * latticeStep
		kernel[i] = math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	}
	half := int(kernelReach * math.Sqrt(float64(most)) / latticeStep)
	mass := make([]float64, 2*half+1) // of each cell; the sum is 0 before the first pair
	mass[half] = 1
	spent := 0.0
	for n := 1; n <= most; n++ {
		mass = spread(mass, kernel)
		root := math.Sqrt(float64(n))
		tail := func(allowed float64) (bound, nominal float64) {
			if allowed <= 0 {
				return math.Inf(1), 0
			}
			bound = boundOf(mass, half, allowed/2)
			return bound, normalCDF(-bound / root)
		}
		_, l.last[n] = tail(alpha - spent)
		var bound float64
		bound, l.running[n] = tail(alpha*share(n) - spent)
		spent = max(spent, alpha*share(n))
		cutBeyond(mass, half, bound)
	}
	return l
}

// spread adds an independent increment.
func spread(mass, kernel []float64) []float64 {
	next := make([]float64, len(mass))
	for i, m := range mass {
		if m < 1e-15 {
			continue
		}
		for j := max(0, i-len(kernel)+1); j < min(len(mass), i+len(kernel)); j++ {
			next[j] += m * latticeStep * kernel[max(i-j, j-i)]
		}
	}
	return next
}

// boundOf is the sum beyond which a mass of tail lies on one side. A cell's mass is
// spread evenly over its width.
func boundOf(mass []float64, half int, tail float64) float64 {
	beyond := 0.0
	for i := len(mass) - 1; i > half; i-- {
		if beyond+mass[i] >= tail {
			return (float64(i-half) + 0.5 - (tail-beyond)/mass[i]) * latticeStep
		}
		beyond += mass[i]
	}
	return 0
}

func cutBeyond(mass []float64, half int, bound float64) {
	if math.IsInf(bound, 1) {
		return
	}
	for i := range mass {
		outside := (math.Abs(float64(i-half))+0.5)*latticeStep - bound
		mass[i] *= 1 - min(max(outside/latticeStep, 0), 1)
	}
}

// at is the tail on each side that a look at n pairs may use.
func (l looks) at(n int, last bool) float64 {
	n = min(n, len(l.running)-1)
	if last {
		return l.last[n]
	}
	return l.running[n]
}
