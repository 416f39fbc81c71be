package sequential

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// neighbours is how many rounds before and after its own a process is compared with.
// Near ones share the state of the machine; more of them tell levels that processes
// settle on, and stragglers, from a shift of all. Chosen by simulation.
const neighbours = 3

// A pair is what two sides took in one round: the logarithms of their times.
type pair struct {
	a, b float64
	// weight is how much it counts beside others; 0 is 1.
	weight int
}

func pairAt(a, b float64) pair { return pair{a: a, b: b} }

// quietWeight is how much more a pair of quiet moments weighs in a difference than one that was disturbed. The test is exact
// for any weights that do not look at the times. Other numbers: benchmarks/truth/quiet.
const quietWeight = 3

// weightsOf are the weights of pairs: 1 where all are alike.
func weightsOf(pairs []pair) []int {
	weights := slices.Repeat([]int{1}, len(pairs))
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.weight != pairs[0].weight }) {
		return weights
	}
	for i, p := range pairs {
		weights[i] = max(1, p.weight)
	}
	return weights
}

// pairOf is made of times. One that is not above zero, as the empty twin took longer, is
// below all that are: its logarithm is -Inf, and the test, which only orders, stands. The
// ratio of two such is anything: see [turnsInterval].
func pairOf(a, b float64) pair { return pairAt(logarithm(a), logarithm(b)) }

func logarithm(x float64) float64 {
	if x <= 0 {
		return math.Inf(-1)
	}
	return math.Log(x)
}

// turnsInterval returns the typical shift from a to b of two sides that took turns: the
// median of the differences between processes of the same or nearby rounds, with the
// interval that inverts a test of all shifts, at the given tail on each side. It is false
// when even the most extreme outcome is not that rare. Where too many times are not above
// zero it is not finite.
//
// The test's statistic is Mann and Whitney's, over those differences. Its distribution is
// not theirs but the one that the run's own random order makes: if b is a but for the
// shift, then exchanging the two of a round was as likely, round by round, whatever the
// machine did meanwhile (Fisher's randomisation test; Rosenbaum, Observational Studies,
// ch. 2). So it is exact under drift, modes and interference, for any number of pairs.
func turnsInterval(pairs []pair, tail float64) (record.Interval, bool) {
	var shifts []float64
	quiet := weightsOf(pairs)
	for i, p := range pairs {
		from := max(0, i-neighbours)
		for j, q := range roundsAround(pairs, i) {
			if shift := q.b - p.a; !math.IsNaN(shift) { // of two times not above zero
				shifts = append(shifts, slices.Repeat([]float64{shift}, quiet[i]*quiet[from+j])...)
			}
		}
	}
	if len(shifts) == 0 {
		return record.Interval{Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}, false
	}
	slices.Sort(shifts)
	iv := record.Interval{Estimate: estimate.QuantileSorted(shifts, 0.5), Low: shifts[0], High: shifts[len(shifts)-1]}
	if math.Ldexp(1, -len(pairs)) > tail {
		return iv, false
	}
	iv.Low = outermost(pairs, shifts, tail, 1)
	slices.Reverse(shifts)
	iv.High = outermost(pairs, shifts, tail, -1)
	return iv, true
}

// roundsAround are the pairs of the rounds around the i-th, with itself.
func roundsAround(pairs []pair, i int) []pair {
	return pairs[max(0, i-neighbours):min(len(pairs), i+neighbours+1)]
}

// outermost is the first of the differences, in the order given, beyond which the test does
// not refuse a shift for lying too far in the direction sign of it. Between two differences
// the test is the same for all shifts.
func outermost(pairs []pair, shifts []float64, tail float64, sign int) float64 {
	refuses := func(i int) bool {
		shift := between(shifts[i], shifts[i+1])
		return math.IsInf(shift, 0) || chanceOf(pairs, shift, sign) <= tail
	}
	most := len(shifts) - 1
	if len(pairs) > exactExchanges {
		// Of many pairs halving finds it: there the chance grows as good as steadily.
		return shifts[sort.Search(most, func(i int) bool { return !refuses(i) })]
	}
	for i := range most {
		if !refuses(i) {
			return shifts[i]
		}
	}
	return shifts[most]
}

// between is a shift between two; infinite where both are, on the same side.
func between(x, y float64) float64 {
	switch {
	case math.IsInf(x, 0) && math.IsInf(y, 0) && x != y:
		return 0
	case math.IsInf(x, 0) && !math.IsInf(y, 0):
		return y + math.Copysign(1, x)
	case math.IsInf(y, 0) && !math.IsInf(x, 0):
		return x + math.Copysign(1, y)
	}
	return x/2 + y/2
}

// chanceOf is the probability, over all exchanges within rounds, of a statistic at least
// as far in the direction sign as the one seen, if the true shift is the given one.
func chanceOf(pairs []pair, shift float64, sign int) float64 {
	weights := exchangeWeights(pairs, shift)
	seen, squares, total := 0, 0, 0
	for _, w := range weights {
		seen += w * sign
		squares += w * w
		total += max(w, -w)
	}
	if len(weights) > exactExchanges {
		return estimate.NormalCDF(-float64(seen-1) / math.Sqrt(float64(squares)))
	}
	return exceeds(weights, total, seen)
}

// exchangeWeights are what each round contributes to the statistic. The statistic counts
// differences above the shift as +1 and below as -1. Exchanging a round's two processes
// negates what the round adds by itself; of two rounds i and j, the two differences across
// them make an odd function of both exchanges, and an odd function of two signs is a
// weight for each. So the statistic is a sum of independent signs with known weights, all
// doubled here to stay whole. A difference counts more often where both its rounds were quiet.
func exchangeWeights(pairs []pair, shift float64) []int {
	weights, quiet := make([]int, len(pairs)), weightsOf(pairs)
	for i, p := range pairs {
		b := p.b - shift
		weights[i] += 2 * quiet[i] * quiet[i] * cmp.Compare(b, p.a)
		for j := i + 1; j < min(len(pairs), i+neighbours+1); j++ {
			q := pairs[j]
			qb := q.b - shift
			as, exchanged := cmp.Compare(qb, p.a)+cmp.Compare(b, q.a), cmp.Compare(q.a, p.a)+cmp.Compare(b, qb)
			both := quiet[i] * quiet[j]
			weights[i] += both * (as + exchanged)
			weights[j] += both * (as - exchanged)
		}
	}
	return weights
}

// Up to this many rounds the distribution is counted out; the normal one, beyond, has the
// heavier tails.
const exactExchanges = 40

// exceeds is the probability that a sum of the weights with random signs is seen or more.
func exceeds(weights []int, total, seen int) float64 {
	p := make([]float64, 2*total+1) // by sum + total
	next := make([]float64, len(p))
	p[total] = 1
	reach := 0
	for _, w := range weights {
		w = max(w, -w)
		clear(next)
		for s := total - reach; s <= total+reach; s++ {
			if p[s] != 0 {
				next[s-w] += p[s] / 2
				next[s+w] += p[s] / 2
			}
		}
		reach += w
		p, next = next, p
	}
	sum := 0.0
	for s := max(0, seen+total); s < len(p); s++ {
		sum += p[s]
	}
	return sum
}
