package changepoints

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// Series without a step show one in 5 % of all cases or not much more, however their noise
// is made; a step of five times the noise is found where it is, mostly.
func TestStepsBySimulation(t *testing.T) {
	const repetitions = 1000
	for _, c := range []struct {
		noise string
		draw  func(*rand.Rand) float64
		found float64 // least share
	}{
		{"normal", (*rand.Rand).NormFloat64, 0.9},
		{"heavy tails", studentT3, 0.65},
		{"skewed", (*rand.Rand).ExpFloat64, 0.87},
	} {
		for _, n := range []int{6, 12, 40} {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			alarms, found := 0, 0
			for range repetitions {
				if len(Steps(noisy(rng, c.draw, n, n, 0))) > 0 {
					alarms++
				}
				for _, s := range Steps(noisy(rng, c.draw, n, n/2, 0.1)) {
					if s.At == n/2 {
						found++
					}
				}
			}
			t.Logf("%s, %d runs: %d false, %d found of %d", c.noise, n, alarms, found, repetitions)
			if alarms > repetitions*10/100 {
				t.Errorf("%s, %d runs: %d of %d series without a step have one", c.noise, n, alarms, repetitions)
			}
			if float64(found) < c.found*repetitions {
				t.Errorf("%s, %d runs: %d of %d steps found", c.noise, n, found, repetitions)
			}
		}
	}
}

func studentT3(rng *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		x := rng.NormFloat64()
		chi += x * x
	}
	return rng.NormFloat64() / math.Sqrt(chi/3)
}

// noisy is a series with a step at a place and intervals narrower than its noise.
func noisy(rng *rand.Rand, draw func(*rand.Rand) float64, n, at int, step float64) []Figure {
	s := make([]Figure, n)
	for i := range s {
		y := 0.02 * draw(rng)
		if i >= at {
			y += step
		}
		s[i].Interval = record.Interval{Estimate: math.Exp(y), Low: math.Exp(y - 0.01), High: math.Exp(y + 0.01)}
	}
	return s
}

// A neighbour who comes for some runs, or for all from one on, slows them by up to 40 %, evenly as those do who stay. What yardsticks
// say of it, by how much at most, is enough for no more false steps than without one; a real step of 10 % is found all the same.
func TestStepsBesideANeighbourBySimulation(t *testing.T) {
	const repetitions = 1000
	for _, c := range []struct {
		when string
		runs func(rng *rand.Rand, n int) (from, to int)
	}{
		{"from a run on", func(rng *rand.Rand, n int) (int, int) { return n/2 + rng.IntN(n/2), n }},
		{"for some runs", func(rng *rand.Rand, n int) (int, int) { from := rng.IntN(n - 4); return from, from + 4 }},
	} {
		for _, n := range []int{12, 40} {
			rng := rand.New(rand.NewPCG(2, uint64(n)))
			alarms, before, found := 0, 0, 0
			for range repetitions {
				from, to := c.runs(rng, n)
				by := 0.4 * rng.Float64()
				s := neighbour(noisy(rng, (*rand.Rand).NormFloat64, n, n, 0), by, from, to)
				alarms += len(Steps(s))
				before += len(Steps(slowed(s, 0, seq(from, to)...)))
				s = noisy(rng, (*rand.Rand).NormFloat64, n, n/4, 0.1)
				for _, step := range Steps(neighbour(s, by, from, to)) {
					if step.At == n/4 {
						found++
					}
				}
			}
			t.Logf("%s of %d: %.1f %% false steps, %.1f %% where nothing is known of it, %.1f %% found",
				c.when, n, float64(alarms)/repetitions*100, float64(before)/repetitions*100, float64(found)/repetitions*100)
			if alarms > repetitions*10/100 || alarms > before {
				t.Errorf("%s of %d: %d false steps of %d", c.when, n, alarms, repetitions)
			}
		}
	}
}

// neighbour slows runs, and widens their intervals as a report does.
func neighbour(s []Figure, by float64, from, to int) []Figure {
	for i := from; i < to; i++ {
		s[i].Estimate, s[i].High = s[i].Estimate*(1+by), s[i].High*(1+by)
		s[i].Slowed = by * 1.2 // as yardsticks may suffer more than a case does
	}
	return s
}

func seq(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
