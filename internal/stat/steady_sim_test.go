package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// A machine makes the noise of one batch: factors of at least about 1.
type machine struct {
	name  string
	noise func(rng *rand.Rand, n int) []float64
}

// machines are what a process may run on. All but the first two are busy ones:
// what disturbs a batch only adds to it.
var machines = []machine{
	{"quiet", func(rng *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return 1 + 0.01*rng.NormFloat64() })
	}},
	{"skewed", func(rng *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return 1 + 0.02*math.Exp(0.8*rng.NormFloat64()) })
	}},
	{"spikes", func(rng *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return 1 + 0.01*rng.NormFloat64() + disturbed(rng, 0.2, 0.5) })
	}},
	{"crowded", func(rng *rand.Rand, n int) []float64 {
		return each(n, func(int) float64 { return 1 + 0.015*rng.NormFloat64() + disturbed(rng, 0.6, 1) })
	}},
	{"bursts", func(rng *rand.Rand, n int) []float64 { // neighbours that come and go
		busy := false
		return each(n, func(int) float64 {
			if rng.Float64() < 8/float64(n) {
				busy = !busy
			}
			p := 0.05
			if busy {
				p = 0.7
			}
			return 1 + 0.01*rng.NormFloat64() + disturbed(rng, p, 0.6)
		})
	}},
	{"one hog", func(rng *rand.Rand, n int) []float64 { // one stretch in which no batch is free
		from := rng.IntN(n - n/10)
		return each(n, func(i int) float64 {
			f := 1 + 0.01*rng.NormFloat64() + disturbed(rng, 0.1, 0.3)
			if i >= from && i < from+n/10 {
				f += 0.3 + 0.2*rng.ExpFloat64()
			}
			return f
		})
	}},
	{"correlated", func(rng *rand.Rand, n int) []float64 {
		x := 0.0
		return each(n, func(int) float64 {
			x = 0.7*x + 0.007*rng.NormFloat64()
			return 1 + x + disturbed(rng, 0.1, 0.4)
		})
	}},
}

func each(n int, f func(i int) float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = f(i)
	}
	return xs
}

// disturbed is 0, or with probability p an exponential of that mean.
func disturbed(rng *rand.Rand, p, mean float64) float64 {
	if rng.Float64() < p {
		return mean * rng.ExpFloat64()
	}
	return 0
}

// A course is the true level of a process over its batches: u in 0…1.
type course struct {
	name  string
	level func(i, n int) float64
	class string
}

func u(i, n int) float64 { return float64(i) / float64(n) }

func stepAt(at, before, after float64) func(i, n int) float64 {
	return func(i, n int) float64 {
		if u(i, n) < at {
			return before
		}
		return after
	}
}

var courses = []course{
	{"flat", stepAt(0, 1, 1), record.SteadyFlat},
	{"warmup", stepAt(0.2, 1.5, 1), record.SteadyWarmup},
	{"slowdown", stepAt(0.3, 0.8, 1), record.SteadySlowdown},
	{"late rise", stepAt(0.8, 1, 1.2), record.SteadyNone},
	{"late fall", stepAt(0.75, 1.2, 1), record.SteadyNone},
	{"drift up", func(i, n int) float64 { return 1 + 0.25*u(i, n) }, record.SteadyNone},
	{"drift down", func(i, n int) float64 { return 1.25 - 0.25*u(i, n) }, record.SteadyNone},
	{"period 2", func(i, n int) float64 { return 1 + 0.15*float64(i%2) }, record.SteadyNone},
	{"levels of n/8", func(i, n int) float64 { return 1 + 0.25*float64(i*8/n%2) }, record.SteadyNone},
}

func simulate(rng *rand.Rand, c course, m machine, n int) []Batch {
	noise := m.noise(rng, n)
	batches := make([]Batch, n)
	for i := range batches {
		batches[i].NS = 10 * c.level(i, n) * noise[i]
	}
	return batches
}

// rates are shares of runs in which something came out, by what was simulated.
type rates map[string]float64

func steadyRates(t *testing.T, n, runs int, want func(c course, class string) bool) rates {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	r := rates{}
	for _, c := range courses {
		for _, m := range machines {
			hits := 0
			for range runs {
				if want(c, FindSteady(simulate(rng, c, m, n)).Class) {
					hits++
				}
			}
			r[c.name+" on "+m.name] = float64(hits) / float64(runs)
		}
	}
	return r
}

// A busy machine must not make a process "never steady", and what is never steady
// must be found, on the machines where it can be seen at all. Where noise is larger
// than the change for most batches (crowded, bursts), the rates are only printed.
func TestFindSteadyRates(t *testing.T) {
	visible := []string{"quiet", "skewed", "spikes", "correlated"}
	for _, size := range []struct {
		batches, runs        int
		falseNone, foundNone float64
	}{
		{60, 60, 0.15, 0.55},
		{200, 50, 0.08, 0.90},
		{1000, 25, 0.08, 0.90},
		{5000, 4, 0.25, 0.75},
	} {
		n := size.batches
		r := steadyRates(t, n, size.runs, func(_ course, class string) bool { return class == record.SteadyNone })
		for _, c := range courses {
			if n == 60 && c.name == "levels of n/8" {
				continue // runs of seven in sixty batches: too few for changepoints
			}
			for _, m := range machines {
				rate := r[c.name+" on "+m.name]
				t.Logf("%4d batches, %-13s on %-10s: never steady %3.0f %%", n, c.name, m.name, 100*rate)
				switch {
				case c.name == "slowdown" && m.name == "crowded" && n == 60:
					// 60 % of 60 batches disturbed by 100 %: a drift cannot be told from a step
				case c.class != record.SteadyNone && rate > size.falseNone:
					t.Errorf("%s on a %s machine, %d batches: %.0f %% called never steady", c.name, m.name, n, 100*rate)
				case c.class == record.SteadyNone && slices.Contains(visible, m.name) && rate < size.foundNone:
					t.Errorf("%s on a %s machine, %d batches: only %.0f %% called never steady", c.name, m.name, n, 100*rate)
				}
			}
		}
	}
}

// The class and the place of the change are right where both can be seen.
func TestFindSteadyClasses(t *testing.T) {
	r := steadyRates(t, 400, 25, func(c course, class string) bool { return class == c.class })
	for _, c := range courses {
		for _, m := range machines[:3] {
			if rate := r[c.name+" on "+m.name]; rate < 0.9 {
				t.Errorf("%s on a %s machine: only %.0f %% called %s", c.name, m.name, 100*rate, c.class)
			}
		}
	}
}

func TestFindSteadyPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{100, 400, 2000} {
		for _, m := range machines[:3] {
			s := FindSteady(simulate(rng, courses[1], m, n))
			if at := float64(s.From) / float64(n); at < 0.18 || at > 0.24 {
				t.Errorf("%d batches on a %s machine: steady from %.2f of them on, want 0.20", n, m.name, at)
			}
		}
	}
}

// With five series whose levels are drawn anew, and slow beginnings, a busy machine must
// not make a process never steady either; a drift through all of them must.
func TestFindSteadyRatesOverSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	const runs = 40
	for _, n := range []int{200, 1000} {
		for _, m := range machines {
			none, drift := 0, 0
			for range runs {
				redrawn := inSeries(simulate(rng, courses[0], m, n))
				drawn := [6]float64{}
				for i := range drawn {
					drawn[i] = 1 + 0.04*rng.NormFloat64()
				}
				for i := range redrawn {
					redrawn[i].NS *= drawn[redrawn[i].Series]
					if 5*i%n < n/4 { // the first quarter of each series
						redrawn[i].NS *= 1.06
					}
				}
				if FindSteady(redrawn).Class == record.SteadyNone {
					none++
				}
				if FindSteady(inSeries(simulate(rng, courses[5], m, n))).Class == record.SteadyNone {
					drift++
				}
			}
			t.Logf("%4d batches on a %-10s machine: redrawn levels never steady %3d %%, drift never steady %3d %%",
				n, m.name, 100*none/runs, 100*drift/runs)
			if none > 15*runs/100 {
				t.Errorf("%d batches on a %s machine: %d of %d processes with redrawn levels are never steady", n, m.name, none, runs)
			}
			if (m.name == "quiet" || m.name == "skewed" || m.name == "spikes") && drift < 9*runs/10 {
				t.Errorf("%d batches on a %s machine: only %d of %d drifting processes are never steady", n, m.name, drift, runs)
			}
		}
	}
}
