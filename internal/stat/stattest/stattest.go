// Package stattest has what the tests of statistics share: noise as machines make it, and inputs made by others.
package stattest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// A machine makes the noise of one batch: factors of at least about 1.
type Machine struct {
	Name  string
	Noise func(rng *rand.Rand, n int) []float64
}

// Machines are what a process may run on. All but the first two are busy ones:
// what disturbs a batch only adds to it.
var Machines = []Machine{
	{"quiet", func(rng *rand.Rand, n int) []float64 {
		return Each(n, func(int) float64 { return 1 + 0.01*rng.NormFloat64() })
	}},
	{"skewed", func(rng *rand.Rand, n int) []float64 {
		return Each(n, func(int) float64 { return 1 + 0.02*math.Exp(0.8*rng.NormFloat64()) })
	}},
	{"spikes", func(rng *rand.Rand, n int) []float64 {
		return Each(n, func(int) float64 { return 1 + 0.01*rng.NormFloat64() + Disturbed(rng, 0.2, 0.5) })
	}},
	{"crowded", func(rng *rand.Rand, n int) []float64 {
		return Each(n, func(int) float64 { return 1 + 0.015*rng.NormFloat64() + Disturbed(rng, 0.6, 1) })
	}},
	{"bursts", func(rng *rand.Rand, n int) []float64 { // neighbours that come and go
		busy := false
		return Each(n, func(int) float64 {
			if rng.Float64() < 8/float64(n) {
				busy = !busy
			}
			p := 0.05
			if busy {
				p = 0.7
			}
			return 1 + 0.01*rng.NormFloat64() + Disturbed(rng, p, 0.6)
		})
	}},
	{"one hog", func(rng *rand.Rand, n int) []float64 { // one stretch in which no batch is free
		from := rng.IntN(n - n/10)
		return Each(n, func(i int) float64 {
			f := 1 + 0.01*rng.NormFloat64() + Disturbed(rng, 0.1, 0.3)
			if i >= from && i < from+n/10 {
				f += 0.3 + 0.2*rng.ExpFloat64()
			}
			return f
		})
	}},
	{"correlated", func(rng *rand.Rand, n int) []float64 {
		x := 0.0
		return Each(n, func(int) float64 {
			x = 0.7*x + 0.007*rng.NormFloat64()
			return 1 + x + Disturbed(rng, 0.1, 0.4)
		})
	}},
}

// Each makes n values.
func Each(n int, f func(i int) float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = f(i)
	}
	return xs
}

// Disturbed is 0, or with probability p an exponential of that mean.
func Disturbed(rng *rand.Rand, p, mean float64) float64 {
	if rng.Float64() < p {
		return mean * rng.ExpFloat64()
	}
	return 0
}

// U is how far the i-th of n is, in 0…1.
func U(i, n int) float64 { return float64(i) / float64(n) }

// Near tells of numbers that are equal but for a relative tolerance.
func Near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// Vector reads vectors/stat/<name>; make.py beside it made it.
func Vector(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "vectors", "stat", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Around makes n values within 1 % of ns, always the same ones.
func Around(n int, ns float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = ns * (1 + 0.002*float64((i*7)%5-2))
	}
	return values
}

// Codes are those of warnings.
func Codes(ws []record.Warning) []string {
	var list []string
	for _, w := range ws {
		list = append(list, w.Code)
	}
	return list
}
