package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// A disturbance slows batches of 20 ns a call by half, in half of the time. How the yardsticks share it decides what their
// choice is worth.
type disturbance struct {
	name  string
	looks func(rng *rand.Rand, before, now, after bool) (from, to float64) // of the two looks beside a batch, by its neighbours
	long  float64                                                          // batches that it stays, on average
	sound bool                                                             // whether the choice gives the figure of a quiet machine
}

var disturbances = []disturbance{
	{"shared", func(_ *rand.Rand, before, now, after bool) (float64, float64) {
		return slowed(before || now), slowed(now || after)
	}, 30, true},
	{"shared by one look in two", func(rng *rand.Rand, _, now, _ bool) (float64, float64) {
		return slowed(now && rng.Float64() < 0.5), slowed(now && rng.Float64() < 0.5)
	}, 30, true},
	{"within batches", func(rng *rand.Rand, _, now, _ bool) (float64, float64) {
		return slowed(now && rng.Float64() < 0.05), slowed(now && rng.Float64() < 0.05)
	}, 1, false},
	{"of the shared cache alone", func(*rand.Rand, bool, bool, bool) (float64, float64) { return 1, 1 }, 1000, false},
}

func slowed(yes bool) float64 {
	if yes {
		return 1.5
	}
	return 1
}

func (d disturbance) run(seed uint64) record.CaseResult {
	rng := rand.New(rand.NewPCG(seed, 3))
	rec := newRecord()
	rec.Run.Yardsticks = map[string]float64{"core": 1430}
	for range 17 {
		here := []bool{rng.Float64() < 0.5}
		for range 200 {
			next := here[len(here)-1]
			if rng.Float64() < 1/d.long {
				next = rng.Float64() < 0.5
			}
			here = append(here, next)
		}
		var ns []float64
		core := []float64{1430}
		for i := range 200 {
			from, to := d.looks(rng, i > 0 && here[i-1], here[i], here[i+1])
			core[i] = max(core[i], 1430*from)
			core = append(core, 1430*to*(1+0.003*rng.NormFloat64()))
			ns = append(ns, 1+20*slowed(here[i])*(1+0.005*rng.NormFloat64()))
		}
		measured := batches(record.Measure, ns...)
		measured.Yardsticks = map[string][]float64{"core": core}
		add(rec, measured, batches(record.Empty, stattest.Around(20, 1)...))
	}
	return Summarize(rec).Cases[0]
}

// TestWhereSelectionIsSound: a choice by yardsticks gives the figure of a quiet machine where these share the disturbance, be
// it in part. Where they do not, it stays in the figure, and nothing tells: docs/explanation/statistics.md says so.
func TestWhereSelectionIsSound(t *testing.T) {
	t.Parallel()
	const runs = 10
	for _, d := range disturbances {
		off, none, told := []float64{0}, 0, 0
		for seed := range uint64(runs) {
			r := d.run(seed)
			if r.NSPerCall == nil { // never steady
				none++
				continue
			}
			off = append(off, math.Abs(r.NSPerCall.Estimate/20-1))
			if slices.Contains(stattest.Codes(r.Warnings), "disturbed") {
				told++
			}
		}
		worst := slices.Max(off)
		t.Logf("%-26s off by %.1f %% at most, no figure in %d of %d, disturbed in %d", d.name, 100*worst, none, runs, told)
		if d.sound && (worst > 0.01 || none > 0) || !d.sound && (worst < 0.1 && none == 0 || told > 0) {
			t.Errorf("%s: that is not what the page says", d.name)
		}
	}
}

// TestABestThatIsTooGood: one that was measured wrong, or of the days before the machine became slower for good, makes all
// moments disturbed. That is told with its remedy, and the interval holds what a quiet machine would have said.
func TestABestThatIsTooGood(t *testing.T) {
	r := neighbour{30, 0, 1}.run(1, 1430/1.3)
	if r.Quiet == nil || !r.Quiet.Disturbed || math.Abs(r.Quiet.SlowerLow-0.3) > 0.02 || math.Abs(r.Quiet.SlowerHigh-0.3) > 0.02 {
		t.Fatalf("%+v", r.Quiet)
	}
	if iv := r.NSPerCall.Interval; !stattest.Near(iv.Estimate, 20, 0.01) || iv.Low > 20/1.3 || iv.High < 20 {
		t.Errorf("%+v", iv)
	}
	at := slices.IndexFunc(r.Warnings, func(w record.Warning) bool { return w.Code == "disturbed" })
	if at < 0 || !strings.Contains(r.Warnings[at].Text, "evenly") || !strings.Contains(r.Warnings[at].Advice, "yardsticks-") {
		t.Errorf("%+v", r.Warnings)
	}
	// A neighbour who comes and goes is another thing.
	r = neighbour{30, 1, 0.8}.run(1, 1200)
	for _, w := range r.Warnings {
		if w.Code == "disturbed" && strings.Contains(w.Text, "evenly") && r.Quiet.SlowerHigh-r.Quiet.SlowerLow > evenly {
			t.Errorf("%+v of %+v", w, r.Quiet)
		}
	}
}
