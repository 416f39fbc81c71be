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
func noisy(rng *rand.Rand, draw func(*rand.Rand) float64, n, at int, step float64) []record.Interval {
	s := make([]record.Interval, n)
	for i := range s {
		y := 0.02 * draw(rng)
		if i >= at {
			y += step
		}
		s[i] = record.Interval{Estimate: math.Exp(y), Low: math.Exp(y - 0.01), High: math.Exp(y + 0.01)}
	}
	return s
}
