package sequential

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// A noise makes the logarithms of what two equal sides take in the next round.
type noise func(rng *rand.Rand) func() (a, b float64)

func independent(of func(rng *rand.Rand) float64) noise {
	return func(rng *rand.Rand) func() (float64, float64) {
		return func() (float64, float64) { return of(rng), of(rng) }
	}
}

// settled is the level of a process that settles on one of two, as LuaJIT's side traces have it: 83 %
// at 6.3 ns, 17 % at 8.8 ns.
func settled(rng *rand.Rand) float64 {
	if rng.Float64() < 0.17 {
		return math.Log(8.8 / 6.3)
	}
	return 0
}

var noises = []struct {
	name string
	of   noise
}{
	{"normal 1 %", independent(func(rng *rand.Rand) float64 { return 0.01 * rng.NormFloat64() })},
	{"normal 3 %", independent(func(rng *rand.Rand) float64 { return 0.03 * rng.NormFloat64() })},
	{"lognormal", independent(func(rng *rand.Rand) float64 { return 0.03 * math.Exp(0.8*rng.NormFloat64()) })},
	{"heavy tail", independent(func(rng *rand.Rand) float64 { // t with 2 degrees
		return 0.01 * rng.NormFloat64() / math.Sqrt(rng.ExpFloat64())
	})},
	{"interference", independent(func(rng *rand.Rand) float64 {
		x := 0.02 * rng.NormFloat64()
		if rng.Float64() < 0.1 {
			x += math.Log(1.5 + 1.5*rng.Float64())
		}
		return x
	})},
	{"modes", independent(func(rng *rand.Rand) float64 { return settled(rng) + 0.016*rng.NormFloat64() })},
	// Both sides get the seed of their round; in one of ten the dice fall anew.
	{"modes by seed", func(rng *rand.Rand) func() (float64, float64) {
		return func() (float64, float64) {
			a := settled(rng)
			b := a
			if rng.Float64() < 0.1 {
				b = settled(rng)
			}
			return a + 0.016*rng.NormFloat64(), b + 0.016*rng.NormFloat64()
		}
	}},
	{"drift", func(rng *rand.Rand) func() (float64, float64) {
		machine := 0.0
		return func() (float64, float64) {
			machine += 0.05 * rng.NormFloat64()
			return machine + 0.02*rng.NormFloat64(), machine + 0.02*rng.NormFloat64()
		}
	}},
}

// differs runs one comparison that looks after every round, and reports whether it calls a
// difference and after how many. Only the test of no difference is made, not the interval.
func differs(next func() (float64, float64), effect float64, l looks, most int) (bool, int) {
	var pairs []pair
	for n := 1; n <= most; n++ {
		a, b := next()
		pairs = append(pairs, pairAt(a, b+math.Log1p(effect)))
		if n < most && !isLook(n) {
			continue
		}
		tail := l.tail(n, n == most)
		if math.Ldexp(1, -n) > tail {
			continue
		}
		if chanceOf(pairs, 0, 1) <= tail || chanceOf(pairs, 0, -1) <= tail {
			return true, n
		}
	}
	return false, most
}

// Looking after every round calls a difference between equal sides in 5 % of runs at most,
// whatever the noise and whenever the clock ends the run.
func TestLookingEveryRoundKeepsTheErrorRate(t *testing.T) {
	t.Parallel()
	for i, noise := range noises {
		for _, most := range []int{8, 12, 25, 60, 400} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(most)))
			runs, alarms, l := 2000, 0, looksFor(0.05)
			if most > 25 {
				runs = 500
			}
			for range runs {
				if called, _ := differs(noise.of(rng), 0, l, most); called {
					alarms++
				}
			}
			rate := float64(alarms) / float64(runs)
			t.Logf("%-14s at most %3d pairs: %.1f %% false alarms", noise.name, most, 100*rate)
			if rate > 0.05+3*math.Sqrt(0.05*0.95/float64(runs)) { // three standard errors of the simulation
				t.Errorf("%s, at most %d pairs: %.1f %% false alarms", noise.name, most, 100*rate)
			}
		}
	}
}

// What is to be had: how often a slow-down is found, and after how many pairs.
func TestSlowdownsAreFound(t *testing.T) {
	t.Parallel()
	least := map[string]map[float64]float64{ // of 25 pairs at most
		"normal 1 %": {0.02: 0.95, 0.05: 0.99}, "normal 3 %": {0.05: 0.95, 0.1: 0.99},
		"lognormal": {0.05: 0.95, 0.1: 0.99}, "heavy tail": {0.05: 0.95, 0.1: 0.99},
		"interference": {0.05: 0.9, 0.1: 0.95}, "modes": {0.05: 0.9, 0.1: 0.9},
		"modes by seed": {0.02: 0.8, 0.05: 0.95}, "drift": {0.05: 0.95, 0.1: 0.99},
	}
	for i, noise := range noises {
		for _, most := range []int{12, 25, 60} {
			for _, effect := range []float64{0.01, 0.02, 0.05, 0.1} {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(1000*effect)))
				runs := 200
				if most > 25 {
					runs = 60
				}
				found, pairs, l := 0, 0, looksFor(0.05)
				for range runs {
					called, n := differs(noise.of(rng), effect, l, most)
					pairs += n
					if called {
						found++
					}
				}
				rate := float64(found) / float64(runs)
				t.Logf("%-14s at most %2d pairs, %4.1f %% slower: found in %5.1f %%, after %4.1f pairs on average",
					noise.name, most, 100*effect, 100*rate, float64(pairs)/float64(runs))
				if most == 25 && rate < least[noise.name][effect] {
					t.Errorf("%s: %g %% slower is found in %.1f %% only", noise.name, 100*effect, 100*rate)
				}
			}
		}
	}
}

// The interval that the run reports, whenever it stopped, holds the truth; so do those of
// five rows at once.
func TestReportedIntervalsCover(t *testing.T) {
	t.Parallel()
	for i, noise := range noises {
		for _, rows := range []int{1, 5} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(rows)))
			const runs = 400
			missed, j := 0, Judge{Comparing: DefaultComparing(), Rows: rows}
			for range runs {
				all := true
				for range rows {
					next, effect := noise.of(rng), 0.05*rng.Float64()
					var pairs []pair
					for range 14 {
						a, b := next()
						pairs = append(pairs, pairAt(a, b+math.Log1p(effect)))
					}
					c := j.follow(pairs, true)
					all = all && c.Ratio.Low <= 1+effect && 1+effect <= c.Ratio.High
				}
				if !all {
					missed++
				}
			}
			rate := 1 - float64(missed)/runs
			t.Logf("%-14s %d rows: %.1f %% covered", noise.name, rows, 100*rate)
			if rate < 0.93 {
				t.Errorf("%s, %d rows: only %.1f %% covered", noise.name, rows, 100*rate)
			}
		}
	}
}

// Equal within the margin is said of what is not in 5 % of runs at most.
func TestEquivalenceIsNotClaimedOfADifference(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(77, 78))
	j := Judge{Comparing: DefaultComparing()}
	const runs = 300
	wrong, right := 0, 0
	for range runs {
		pairs := func(effect float64) []pair {
			return pairsOf(24, func(int) (float64, float64) {
				return math.Exp(0.008 * rng.NormFloat64()), (1 + effect) * math.Exp(0.008*rng.NormFloat64())
			})
		}
		if j.follow(pairs(0.0101), true).Verdict == record.NoDifference {
			wrong++
		}
		if j.follow(pairs(0), true).Verdict == record.NoDifference {
			right++
		}
	}
	t.Logf("of a difference just beyond the margin: %d of %d; of none: %d", wrong, runs, right)
	if wrong > runs/20 || right < runs/2 {
		t.Errorf("claimed of a difference in %d, of none in %d of %d runs", wrong, right, runs)
	}
}
