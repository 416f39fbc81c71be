package steady

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// A course is the true level of a process over its batches: u in 0…1.
type course struct {
	name  string
	level func(i, n int) float64
	class string
}

func stepAt(at, before, after float64) func(i, n int) float64 {
	return func(i, n int) float64 {
		if stattest.U(i, n) < at {
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
	{"drift up", func(i, n int) float64 { return 1 + 0.25*stattest.U(i, n) }, record.SteadyNone},
	{"drift down", func(i, n int) float64 { return 1.25 - 0.25*stattest.U(i, n) }, record.SteadyNone},
	{"period 2", func(i, n int) float64 { return 1 + 0.15*float64(i%2) }, record.SteadyNone},
	{"levels of n/8", func(i, n int) float64 { return 1 + 0.25*float64(i*8/n%2) }, record.SteadyNone},
}

func simulate(rng *rand.Rand, c course, m stattest.Machine, n int) []Batch {
	noise := m.Noise(rng, n)
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
		for _, m := range stattest.Machines {
			hits := 0
			for range runs {
				if want(c, FindSteady(simulate(rng, c, m, n)).Class) {
					hits++
				}
			}
			r[c.name+" on "+m.Name] = float64(hits) / float64(runs)
		}
	}
	return r
}

// A busy machine must not make a process "never steady", and what is never steady
// must be found, on the machines where it can be seen at all. Where noise is larger
// than the change for most batches (crowded, bursts), the rates are only printed.
func TestFindSteadyRates(t *testing.T) {
	t.Parallel()
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
			for _, m := range stattest.Machines {
				rate := r[c.name+" on "+m.Name]
				t.Logf("%4d batches, %-13s on %-10s: never steady %3.0f %%", n, c.name, m.Name, 100*rate)
				switch {
				case c.name == "slowdown" && m.Name == "crowded" && n == 60:
					// 60 % of 60 batches disturbed by 100 %: a drift cannot be told from a step
				case c.class != record.SteadyNone && rate > size.falseNone:
					t.Errorf("%s on a %s machine, %d batches: %.0f %% called never steady", c.name, m.Name, n, 100*rate)
				case c.class == record.SteadyNone && slices.Contains(visible, m.Name) && rate < size.foundNone:
					t.Errorf("%s on a %s machine, %d batches: only %.0f %% called never steady", c.name, m.Name, n, 100*rate)
				}
			}
		}
	}
}

// The class and the place of the change are right where both can be seen.
func TestFindSteadyClasses(t *testing.T) {
	t.Parallel()
	r := steadyRates(t, 400, 25, func(c course, class string) bool { return class == c.class })
	for _, c := range courses {
		for _, m := range stattest.Machines[:3] {
			if rate := r[c.name+" on "+m.Name]; rate < 0.9 {
				t.Errorf("%s on a %s machine: only %.0f %% called %s", c.name, m.Name, 100*rate, c.class)
			}
		}
	}
}

func TestFindSteadyPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{100, 400, 2000} {
		for _, m := range stattest.Machines[:3] {
			s := FindSteady(simulate(rng, courses[1], m, n))
			if at := float64(s.From) / float64(n); at < 0.18 || at > 0.24 {
				t.Errorf("%d batches on a %s machine: steady from %.2f of them on, want 0.20", n, m.Name, at)
			}
		}
	}
}

// With five series whose levels are drawn anew, and slow beginnings, a busy machine must
// not make a process never steady either; a drift through all of them must.
func TestFindSteadyRatesOverSeries(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 22))
	const runs = 40
	for _, n := range []int{200, 1000} {
		for _, m := range stattest.Machines {
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
				n, m.Name, 100*none/runs, 100*drift/runs)
			if none > 15*runs/100 {
				t.Errorf("%d batches on a %s machine: %d of %d processes with redrawn levels are never steady", n, m.Name, none, runs)
			}
			if (m.Name == "quiet" || m.Name == "skewed" || m.Name == "spikes") && drift < 9*runs/10 {
				t.Errorf("%d batches on a %s machine: only %d of %d drifting processes are never steady", n, m.Name, drift, runs)
			}
		}
	}
}
