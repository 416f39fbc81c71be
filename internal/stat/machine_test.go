package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// A neighbour comes and goes while processes measure. In its stretches the yardstick takes 1.5 times as long, and a
// call of 20 ns, which suffers by share of that.
type neighbour struct {
	stretch float64 // batches, on average
	busy    float64 // share of the time
	share   float64
}

// process adds one process of 200 batches, from 0 to all of which the neighbour disturbed.
func (n neighbour) process(rng *rand.Rand, rec *record.Record) {
	here := rng.Float64() < n.busy
	core := []float64{}
	var ns []float64
	look := func() {
		level := 1430.0
		if here {
			level *= 1.5
		}
		core = append(core, level*(1+0.003*rng.NormFloat64()))
	}
	look()
	for range 200 {
		if rng.Float64() < 1/n.stretch {
			here = rng.Float64() < n.busy
		}
		x := 21 * (1 + 0.005*rng.NormFloat64())
		if here {
			x = 1 + (x-1)*(1+0.5*n.share*rng.Float64()*2)
		}
		ns = append(ns, x)
		look()
	}
	measured := batches(record.Measure, ns...)
	measured.Yardsticks = map[string][]float64{"core": core}
	add(rec, measured, batches(record.Empty, stattest.Around(20, 1)...))
}

func (n neighbour) run(seed uint64, known float64) record.CaseResult {
	rng := rand.New(rand.NewPCG(seed, 1))
	rec := newRecord()
	if known > 0 {
		rec.Run.Yardsticks = map[string]float64{"core": known}
	}
	for range 17 {
		n.process(rng, rec)
	}
	return Summarize(rec).Cases[0]
}

// What is chosen by yardsticks gives the figure of a quiet machine, whatever share of the time was quiet, and neither
// modes nor processes that were never steady. For a case that does not suffer the choice changes nothing.
func TestFigureOfQuietMoments(t *testing.T) {
	t.Parallel()
	const runs = 40
	for _, n := range []neighbour{{30, 0.3, 1}, {30, 0.7, 1}, {300, 0.5, 1}, {300, 0.7, 0.4}, {60, 0.5, 0}} {
		t.Run(fmt.Sprintf("%+v", n), func(t *testing.T) {
			held, modes, never, disturbed, off := 0, 0, 0, 0, []float64{}
			for seed := range uint64(runs) {
				r := n.run(seed, 1430)
				if r.NSPerCall == nil {
					never++
					continue
				}
				if r.Quiet == nil || r.Quiet.Share > 0.99 {
					t.Fatalf("%+v of the machine", r.Quiet)
				}
				if r.Quiet.Disturbed {
					disturbed++
				} else {
					off = append(off, math.Abs(r.NSPerCall.Estimate-20)/20)
				}
				if r.NSPerCall.Low <= 20 && 20 <= r.NSPerCall.High {
					held++
				}
				if len(r.Modes) > 1 {
					modes++
				}
				never += r.SteadyCounts[record.SteadyNone]
			}
			t.Logf("held %d of %d, modes %d, never steady %d, disturbed %d, else off by %.4f at most", held, runs, modes, never, disturbed, slices.Max(off))
			if held < runs*9/10-1 || modes > 0 || never > runs*17/50 || disturbed > runs/10 || slices.Max(off) > 0.01 {
				t.Error("that is not the figure of quiet moments")
			}
		})
	}
}

// A whole run without a quiet moment says so where the machine's best is known, and its interval holds the truth.
func TestDisturbedAllTheTime(t *testing.T) {
	r := neighbour{30, 1, 0.8}.run(1, 1430)
	if !r.Quiet.Disturbed || !slices.Contains(stattest.Codes(r.Warnings), "disturbed") {
		t.Errorf("%+v, warnings %v", r.Quiet, stattest.Codes(r.Warnings))
	}
	if iv := r.NSPerCall.Interval; iv.Low > 20 || iv.High < 20 || iv.Estimate < 24 {
		t.Errorf("%+v does not hold 20 ns", iv)
	}
	if q := r.Quiet; q.Share > 0.01 || math.Abs(q.SlowerLow-0.5) > 0.03 || math.Abs(q.SlowerHigh-0.5) > 0.03 {
		t.Errorf("%+v, and the neighbour slowed by half", q)
	}
	// Where nothing better was ever seen, nothing can be said.
	if r := (neighbour{30, 1, 0.8}).run(1, 0); r.Quiet.Disturbed {
		t.Errorf("%+v without anything to compare with", r.Quiet)
	}
}

// Levels of processes that had quiet moments are modes, though no trace sets them apart: memory may be laid out otherwise.
// Those of Go's processes, of which neither is known, stand.
func TestModesWithoutTraces(t *testing.T) {
	quietOnes, gos := twoLevels(), twoLevels()
	quietOnes.Run.Yardsticks = map[string]float64{"core": 1430}
	for i, p := range quietOnes.Processes {
		b := &p.Batches[0]
		b.Yardsticks = map[string][]float64{"core": slices.Repeat([]float64{1430}, len(b.NS)+1)}
		gos.Processes[i].Process.VM, gos.Processes[i].JIT = record.VM{Version: "go1.26", GOMAXPROCS: 2}, nil
	}
	for name, rec := range map[string]*record.Record{"quiet": quietOnes, "Go": gos} {
		if r := Summarize(rec).Cases[0]; len(r.Modes) != 2 {
			t.Errorf("%s: %d modes, warnings %v", name, len(r.Modes), stattest.Codes(r.Warnings))
		}
	}
	if r := Summarize(twoLevels()).Cases[0]; len(r.Modes) != 1 || !stattest.Near(r.NSPerCall.Estimate, 20, 0.01) {
		t.Errorf("%d modes at %+v of what nothing but time sets apart", len(r.Modes), r.NSPerCall.Interval)
	}
}

// A process of which every batch was interrupted is disturbed, and so is a run of such: its interval goes down to the
// fastest batch.
func TestInterruptedAllTheTime(t *testing.T) {
	rec := twoLevels()
	rec.Run.Yardsticks = map[string]float64{"core": 1430}
	for _, p := range rec.Processes {
		b := &p.Batches[0]
		b.Yardsticks = map[string][]float64{"core": slices.Repeat([]float64{2000}, len(b.NS)+1)}
		b.Switches = slices.Repeat([]int{1}, len(b.NS))
	}
	r := Summarize(rec).Cases[0]
	if !r.Quiet.Disturbed || r.Quiet.Share != 0 || r.NSPerCall.Low > r.NSPerCall.Min || math.IsNaN(r.Quiet.AllNS) {
		t.Errorf("%+v, %+v", r.Quiet, r.NSPerCall)
	}
}

// Too few quiet processes carry nothing: a figure of two could be compared with nothing.
func TestQuietOf(t *testing.T) {
	units := func(marks string) (all []unit) { // q: quiet, d: disturbed; capital: never steady
		for _, m := range marks {
			p := Process{Machine: Machine{Disturbed: m == 'd' || m == 'D'}}
			p.Steadiness.Class = record.SteadyFlat
			if m == 'Q' || m == 'D' {
				p.Steadiness.Class = record.SteadyNone
			}
			all = append(all, unit{vms: []vm{{own: p}}})
		}
		return all
	}
	for marks, want := range map[string]int{
		"": 0, "q": 1, "d": -1, "qqq": 3, "qqd": -3, "qqDD": 2, "qqqqdddd": 4, "qqQQdddd": -8, "qqqddddd": -8, "QQ": 2, "DD": -2,
	} {
		carrying, enough := quietOf(units(marks))
		if got := len(carrying); got != max(want, -want) || enough != (want >= 0) {
			t.Errorf("%q: %d carry the figure, enough %v", marks, got, enough)
		}
	}
}

// Levels that nothing but time sets apart are modes where their seeds bring them again, each time; and they are none where a
// seed lands on another level once, or was measured again too few times.
func TestModesOfSeeds(t *testing.T) {
	again := func(rec *record.Record, of int, ns ...float64) {
		for _, ns := range ns {
			p := add(rec, batches(record.Measure, stattest.Around(40, ns+1)...), batches(record.Empty, stattest.Around(20, 1)...))
			p.Process.Seed = rec.Processes[of].Process.Seed
		}
	}
	for _, c := range []struct {
		name       string
		fast, slow []float64 // what seeds of processes 0 and 9, at 20 and 28 ns, take again
		modes      int
	}{
		{"each time", []float64{20, 20, 20}, []float64{28, 28, 28}, 2},
		{"never again", []float64{20, 20, 20}, []float64{20, 20, 20}, 1},
		{"not each time", []float64{20, 20, 20}, []float64{28, 20, 28}, 1},
		{"too few times", []float64{20, 20}, []float64{28, 28}, 1},
		{"one of them", []float64{20, 20, 20}, nil, 1},
	} {
		rec := twoLevels()
		seeds := Unsettled(rec)[0]
		if want := []float64{rec.Processes[0].Process.Seed, rec.Processes[9].Process.Seed}; !slices.Equal(seeds, want) {
			t.Fatalf("seeds %v, want %v", seeds, want)
		}
		again(rec, 0, c.fast...)
		again(rec, 9, c.slow...)
		r := Summarize(rec).Cases[0]
		if len(r.Modes) != c.modes || r.Processes != 12 || len(r.PerProcess) != 12 {
			t.Errorf("%s: %d modes of %d processes, %d listed; want %d of 12", c.name, len(r.Modes), r.Processes, len(r.PerProcess), c.modes)
		}
		if c.modes == 2 && len(Unsettled(rec)) > 0 {
			t.Errorf("%s: unsettled", c.name)
		}
	}
}

// Levels are modes where another side that ran beside them shows none, and not where it goes along, or spreads as far.
func TestModesOnOneSide(t *testing.T) {
	levels := append(stattest.Around(9, 20), stattest.Around(5, 28)...)
	for _, c := range []struct {
		name  string
		other []float64
		modes int
	}{
		{"it shows none", stattest.Around(14, 50), 2},
		{"it goes along", append(stattest.Around(9, 50), stattest.Around(5, 70)...), 1},
		{"it has some of its own", append(stattest.Around(4, 70), stattest.Around(10, 50)...), 1},
		{"it is too short", stattest.Around(5, 50), 1},
	} {
		rec := healthy(levels...)
		rec.Run.Comparing = &record.Comparing{}
		rec.Cases = append(rec.Cases, record.Case{Case: 1, Name: "other", Benchmark: "other", GC: "natural"})
		for round, ns := range c.other {
			p := add(rec, batches(record.Measure, stattest.Around(40, ns+1)...), batches(record.Empty, stattest.Around(20, 1)...))
			p.Process.Case, p.Process.Round, p.Process.Seed = 1, round, rec.Processes[round].Process.Seed
		}
		if r := Summarize(rec).Cases[0]; len(r.Modes) != c.modes {
			t.Errorf("%s: %d modes, want %d", c.name, len(r.Modes), c.modes)
		}
	}
}

// What was disturbed is told without a range from 0 to 0 %, and without all but 0 %.
func TestDisturbedWords(t *testing.T) {
	for want, q := range map[string]record.Quiet{
		"something else slowed this machine by 20 to 40 %, for all but 5 % of the time; ": {Disturbed: true, SlowerLow: 0.2, SlowerHigh: 0.4, Share: 0.05},
		"something else slowed this machine by 20 to 40 %, all the time; ":                {Disturbed: true, SlowerLow: 0.2, SlowerHigh: 0.4},
		"something else kept interrupting what was measured, all the time; ":              {Disturbed: true, SlowerHigh: 0.001, Share: 0.001},
	} {
		if w := warnDisturbed(&facts{r: &record.CaseResult{Quiet: &q}}); !strings.HasPrefix(w.Text, want) {
			t.Errorf("%q, want %q", w.Text, want)
		}
	}
}

// Series of one process that differ by half, as where a cache is shared with other guests, make an interval of their range and a
// warning; those that differ by little, none.
func TestSeriesDiffer(t *testing.T) {
	for _, apart := range []float64{0.05, 1.5} {
		rng := rand.New(rand.NewPCG(1, 1))
		rec := newRecord()
		rec.Run.Yardsticks = map[string]float64{"core": 1430}
		for range 6 {
			var lines []record.Batches
			for series := range 5 {
				level := 20 * (1 + apart*rng.Float64())
				b := batches(record.Measure, stattest.Each(40, func(int) float64 { return level * (1 + 0.002*rng.NormFloat64()) })...)
				b.Series, b.Yardsticks = series+1, map[string][]float64{"core": slices.Repeat([]float64{1430}, 41)}
				lines = append(lines, b)
			}
			add(rec, lines...)
		}
		r := Summarize(rec).Cases[0]
		told := slices.Contains(stattest.Codes(r.Warnings), "series_differ")
		if wide := r.NSPerCall != nil && r.NSPerCall.High > 1.5*r.NSPerCall.Low; told != (apart > 1) || wide != (apart > 1) {
			t.Errorf("series up to %g apart: %+v, %v, steady %s", apart, r.NSPerCall, stattest.Codes(r.Warnings), r.Steady)
		}
	}
}
