package sequential

import (
	"math"
	"slices"
	"sync"

	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// halfSpent is the number of pairs by which half of the allowed error is spent. Chosen
// by simulation (sequential_sim_test.go) for runs that end after 10 to 60 pairs.
const halfSpent = 15

// spending is the share of the allowed error that looks at up to n pairs may use. It
// needs no plan of how many pairs there will be: whatever is left goes to the last look,
// which the clock chooses and not the data.
func spending(n int) float64 { return float64(n) / float64(n+halfSpent) }

// schedule is after how many pairs a run looks: after each at first, then whenever there
// are a twentieth more. It does not depend on the data.
var schedule = func() (at []int) {
	for n := 1; len(at) == 0 || at[len(at)-1] <= MostPairs; n += 1 + n/60*3 {
		at = append(at, n)
	}
	return at
}()

// isLook reports whether a run looks at N pairs.
func isLook(pairs int) bool {
	_, found := slices.BinarySearch(schedule, pairs)
	return found
}

// Looks say how extreme a two-sided statistic must be at each look at growing data, so
// that looking often errs with the allowed probability over all looks together
// (Lan & DeMets, Biometrika 70, 1983; boundaries by Armitage, McPherson & Rowe's
// recursion, JRSS A 132, 1969, for sums of independent increments).
type looks struct {
	at      []int     // numbers of pairs
	running []float64 // the tail on each side at a look that others follow
	last    []float64 // the tail where no other look follows
}

const (
	MostPairs   = 2000 // that a run may have
	latticeStep = 0.1  // of the sum, whose increments have a deviation of 1
	kernelReach = 6.0  // deviations beyond which an increment is neglected
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
		for first < MostPairs && math.Ldexp(1, 1-first) > alpha*spending(first) {
			first++
		}
		l = newLooks(alpha, schedule, func(n int) float64 {
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
func newLooks(alpha float64, at []int, share func(n int) float64) looks {
	l := looks{at: at}
	half := int(kernelReach * math.Sqrt(float64(at[len(at)-1])) / latticeStep)
	mass := make([]float64, 2*half+1) // of each cell; the sum is 0 before the first pair
	mass[half] = 1
	spent, before := 0.0, 0
	for _, n := range at {
		mass = spread(mass, kernelOf(n-before))
		before = n
		root := math.Sqrt(float64(n))
		tail := func(allowed float64) (bound, nominal float64) {
			if allowed <= 0 {
				return math.Inf(1), 0
			}
			bound = boundOf(mass, half, allowed/2)
			return bound, estimate.NormalCDF(-bound / root)
		}
		_, last := tail(alpha - spent)
		bound, running := tail(alpha*share(n) - spent)
		l.last, l.running = append(l.last, last), append(l.running, running)
		spent = max(spent, alpha*share(n))
		cutBeyond(mass, half, bound)
	}
	return l
}

// kernelOf is one side of the density of the sum of N increments, times the step.
func kernelOf(increments int) []float64 {
	deviation := math.Sqrt(float64(increments))
	kernel := make([]float64, 1+int(kernelReach*deviation/latticeStep))
	for i := range kernel {
		x := float64(i) * latticeStep / deviation
		kernel[i] = latticeStep * math.Exp(-x*x/2) / (math.Sqrt(2*math.Pi) * deviation)
	}
	return kernel
}

// spread adds independent increments.
func spread(mass, kernel []float64) []float64 {
	next := make([]float64, len(mass))
	for i, m := range mass {
		if m < 1e-15 {
			continue
		}
		for j := max(0, i-len(kernel)+1); j < min(len(mass), i+len(kernel)); j++ {
			next[j] += m * kernel[max(i-j, j-i)]
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

// tail is what a look at n pairs may use on each side. Between two looks of the schedule a
// last one may use what it may at the second: no less, as it overlaps more with the first.
func (l looks) tail(n int, last bool) float64 {
	i, found := slices.BinarySearch(l.at, n)
	i = min(i, len(l.at)-1)
	switch {
	case last:
		return l.last[i]
	case found:
		return l.running[i]
	}
	return 0
}
