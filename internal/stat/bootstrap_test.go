package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mean(samples ...[]float64) float64 { return Mean(samples[0]) }

// Resampling is random: 20 000 resamples come within a fortieth of the interval's
// width of scipy's 200 000.
func TestBootstrapVectors(t *testing.T) {
	var cases []struct {
		A, B        []float64
		Mean, Ratio [2]float64
	}
	vector(t, "bootstrap.json", &cases)
	rng := rand.New(rand.NewPCG(1, 1))
	for i, c := range cases {
		check := func(what string, want [2]float64, low, high float64) {
			t.Helper()
			if near := (want[1] - want[0]) / 40; math.Abs(low-want[0]) > near || math.Abs(high-want[1]) > near {
				t.Errorf("%d, %s: %v…%v, want %v within %.2g", i, what, low, high, want, near)
			}
		}
		m, _ := Bootstrap(rng, 20000, 0.95, mean, c.A)
		check("mean", c.Mean, m.Low, m.High)
		r, _ := Bootstrap(rng, 20000, 0.95, MeanRatio, c.A, c.B)
		check("ratio", c.Ratio, r.Low, r.High)
	}
}

func TestBootstrapRepeats(t *testing.T) {
	xs := []float64{1, 2, 3, 5, 8, 13, 21, 34}
	first, _ := Bootstrap(rand.New(rand.NewPCG(1, 1)), 500, 0.95, mean, xs)
	again, _ := Bootstrap(rand.New(rand.NewPCG(1, 1)), 500, 0.95, mean, xs)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
}

func TestBootstrapEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	equal, warnings := Bootstrap(rng, 100, 0.95, mean, []float64{2, 2, 2, 2, 2, 2, 2, 2})
	if equal.Low != 2 || equal.High != 2 || len(warnings) > 0 {
		t.Errorf("equal values: %+v %v", equal, warnings)
	}
	_, warnings = Bootstrap(rng, 100, 0.95, mean, []float64{1, 2, 3})
	if len(warnings) != 1 || warnings[0].Code != "few_processes" {
		t.Errorf("three values: %v, want few_processes", warnings)
	}
}
