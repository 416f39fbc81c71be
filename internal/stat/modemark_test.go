package stat

import (
	"math/rand/v2"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/modes"
)

// roulette is a case of which one process in six compiles another trace. A neighbour stays for whole processes, and slows them
// by 30 %. With one level the other trace takes as long, and one process in fifty is slowed unseen by yardsticks.
type roulette struct {
	rare   float64 // ns; the others take 7.1
	slowed float64 // share of the processes
	unseen float64
	rng    *rand.Rand
}

func (g *roulette) process(rec *record.Record) {
	level, trace := 7.1, "3-4-5"
	if g.rng.Float64() < 1.0/6 {
		level, trace = g.rare, "3-4-9"
	}
	core := 1430.0
	switch x := g.rng.Float64(); {
	case x < g.slowed:
		level, core = level*(1.25+0.1*g.rng.Float64()), core*1.5
	case x < g.slowed+g.unseen:
		level *= 1.2 + 0.5*g.rng.Float64()
	}
	level *= 1 + 0.008*g.rng.NormFloat64()
	var ns, looks []float64
	for range 100 {
		ns, looks = append(ns, level*(1+0.01*g.rng.Float64())), append(looks, core)
	}
	b := batches(record.Measure, ns...)
	b.Yardsticks = map[string][]float64{"core": append(looks, core)}
	add(rec, b).JIT.Traces[0].Lines = trace
}

func (g *roulette) run(seed uint64) (count, byTimes int) {
	g.rng = rand.New(rand.NewPCG(seed, 3))
	rec := newRecord()
	rec.Run.Yardsticks = map[string]float64{"core": 1430}
	for range 30 {
		g.process(rec)
	}
	f := factsOf(rec, rec.Cases[0], rec.Run.Yardsticks)
	return len(f.r.Modes), modes.FindModes(located(f.steady)).Count
}

// A rare level is found where too few of its processes had quiet moments for times alone: their trace tells. Where that trace
// takes as long as the other, and processes straggle, one level stays one.
func TestRareLevelByTraces(t *testing.T) {
	t.Parallel()
	const runs = 80
	for _, slowed := range []float64{0.25, 0.45} {
		found, before, alarms, byTimes := 0, 0, 0, 0
		for seed := range uint64(runs) {
			count, times := (&roulette{rare: 11.4, slowed: slowed}).run(seed)
			if count > 1 {
				found++
			}
			if times > 1 {
				before++
			}
			switch count, times := (&roulette{rare: 7.1, slowed: slowed, unseen: 0.02}).run(seed); {
			case times > 1:
				byTimes++
			case count > 1:
				alarms++
			}
		}
		t.Logf("%.0f %% slowed: found in %d of %d, by times alone %d; of one level %d, by times alone %d", 100*slowed, found, runs, before, alarms, byTimes)
		if least := map[float64]int{0.25: 75, 0.45: 70}[slowed]; found < least || found <= before || alarms > runs*1/100 {
			t.Error("that is not what a trace tells")
		}
	}
}

// Two processes that have a mark are a level; one is none, nor are processes whose traces differ from run to run.
func TestMarks(t *testing.T) {
	set := func(names ...string) map[signature]bool {
		s := map[signature]bool{}
		for _, name := range names {
			s[signature{file: name}] = true
		}
		return s
	}
	common := []map[signature]bool{set("a"), set("a"), set("a"), set("a", "now and then"), set("a", "now and then")}
	for _, c := range []struct {
		what    string
		in, out []map[signature]bool
		marks   int
	}{
		{"another trace in place of the common one", []map[signature]bool{set("b")}, common, 2},
		{"a trace more", []map[signature]bool{set("a", "b"), set("a", "b")}, common, 1},
		{"a trace that others have now and then", []map[signature]bool{set("a", "now and then")}, common, 0},
		{"the same", []map[signature]bool{set("a")}, common, 0},
		{"nothing to compare with", []map[signature]bool{set("a")}, nil, 0},
	} {
		if marks := marksOf(c.in, c.out); len(marks) != c.marks {
			t.Errorf("%s: %v", c.what, marks)
		}
	}
}
