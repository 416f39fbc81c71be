package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/record"
)

// sidesRecord is a run of two sides with one case each, whose processes ran at the given
// ns per call; 0 is a process that did not finish.
func sidesRecord(t *testing.T, rule record.Comparing, reason string, a, b []float64) *record.Record {
	rec := &record.Record{}
	add := func(l record.Line) {
		if err := rec.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	add(record.Run{Schema: record.Schema, Kind: "compare", Comparing: &rule})
	add(record.Case{Case: 0, Name: "x@a", Side: "a"})
	add(record.Case{Case: 1, Name: "x@b", Side: "b"})
	for round := range a {
		for side, ns := range []float64{a[round], b[round]} {
			in := record.In{Process: 2*round + side}
			add(record.Process{In: in, Case: side, Round: round, Seed: float64(round)})
			batches := record.Batches{In: in, Kind: record.Measure, Series: 1}
			for i := range 100 {
				batches.Calls = append(batches.Calls, 1000)
				batches.NS = append(batches.NS, 1000*ns*(1+0.0001*float64(i%7)))
			}
			add(batches)
			if ns > 0 {
				add(record.Finish{In: in})
			}
			add(record.Exit{Process: in.Process})
		}
	}
	add(record.End{Reason: reason})
	return rec
}

func TestCompareTurnsJudgesAsTheRunDid(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	around := func(n int, ns float64) []float64 {
		return each(n, func(int) float64 { return ns * (1 + 0.01*rng.NormFloat64()) })
	}
	rule := DefaultComparing()
	judge := func(rule record.Comparing, reason string, a, b []float64) record.Comparison {
		rec := sidesRecord(t, rule, reason, a, b)
		got := CompareTurns(rec, Summarize(rec))
		if len(got) != 1 || got[0].A != "x@a" || got[0].B != "x@b" {
			t.Fatalf("comparisons %+v", got)
		}
		return got[0]
	}
	a, b := around(20, 20), around(20, 24)

	c := judge(rule, "complete", a, b)
	if c.Verdict != record.Slower || c.Pairs >= 20 || c.Ratio.Low > 1.2 || c.Ratio.High < 1.2 {
		t.Errorf("20 %% slower: %+v", c)
	}
	live := NewTurns(&rule, []record.Case{{Case: 0, Name: "a"}, {Case: 1, Name: "b"}})
	round := 0
	for open := true; open; round++ {
		live.Add(0, round, a[round])
		live.Add(1, round, b[round])
		live.Look(round)
		open, _ = live.Open(1)
	}
	if c.Pairs != round {
		t.Errorf("the run would have ended after %d pairs, the record is judged after %d", round, c.Pairs)
	}

	fixed := rule
	fixed.Processes = 20
	if c := judge(fixed, "complete", a, b); c.Pairs != 20 || c.Verdict != record.Slower {
		t.Errorf("a fixed number: %+v", c)
	}
	if c := judge(rule, "complete", around(7, 20), append(around(6, 20.4), 0)); c.Pairs != 6 {
		t.Errorf("a process that did not finish has no pair: %+v", c)
	}
	// Six pairs can be told from chance by a last look, but not by one of many; and the
	// interrupt that ends a run is no plan.
	a, b = around(6, 20), around(6, 24)
	if c := judge(rule, "complete", a, b); c.Verdict != record.Slower {
		t.Errorf("a last look at six pairs: %+v", c)
	}
	if c := judge(rule, "interrupted", a, b); c.Verdict != record.Undecided {
		t.Errorf("an interrupted run's: %+v", c)
	}
}

// threeCases are of one side: the others are compared with the first.
func threeCases() []record.Case {
	return []record.Case{{Case: 0, Name: "a"}, {Case: 1, Name: "b"}, {Case: 2, Name: "c"}}
}

// As long as a case is open it takes its turn. Judged again from a record the same
// comparisons come out, after as many pairs, whichever case fails in which round.
func TestTurnsAreJudgedAgainAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		levels := rapid.SliceOfN(rapid.SampledFrom([]float64{20, 20.3, 22, 40}), 3, 3).Draw(t, "levels")
		failing := rapid.IntRange(-1, 2).Draw(t, "failing")
		when := rapid.IntRange(0, 12).Draw(t, "when")
		most := rapid.IntRange(1, 20).Draw(t, "most")

		rule := DefaultComparing()
		live := NewTurns(&rule, threeCases())
		rec := &record.Record{Cases: threeCases(), End: &record.End{Reason: "complete"}}
		located := []map[int]float64{{}, {}, {}}
		over := make([]bool, 3)
		for round := 0; round < most && slices.Contains(over, false); round++ {
			for i, level := range levels {
				switch {
				case over[i]:
				case i == failing && round == when:
					rec.Faults = append(rec.Faults, record.Fault{Case: i})
				default:
					located[i][round] = level * (1 + 0.01*rng.NormFloat64())
					live.Add(i, round, located[i][round])
				}
			}
			live.Look(round)
			for _, f := range rec.Faults {
				live.Fail(f.Case)
			}
			for i := range over {
				open, compared := live.Open(i)
				over[i] = compared && !open
			}
			if len(rec.Faults) > 0 {
				over[failing] = true
			}
		}
		want := map[string]int{}
		for _, r := range live.rows {
			want[r.B.Name] = len(r.pairs)
		}
		got := map[string]int{}
		for _, c := range JudgeTurns(rec, rule, func(c record.Case) map[int]float64 { return located[c.Case] }) {
			got[c.B] = c.Pairs
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("pairs by case (-live +record):\n%s", d)
		}
	})
}

// A case that takes no time has no ratio: it is judged by the difference in ns, and the others
// stand. Single processes that seem to take none spoil nothing.
func TestTurnsAtZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	rule := DefaultComparing()
	live := NewTurns(&rule, threeCases())
	rec := &record.Record{Cases: threeCases(), End: &record.End{Reason: "complete"}}
	located := []map[int]float64{{}, {}, {}}
	for round := range 24 {
		located[0][round] = 20 * (1 + 0.01*rng.NormFloat64())
		located[1][round] = 0.1 * rng.NormFloat64()
		located[2][round] = 40 * (1 + 0.01*rng.NormFloat64())
		if round == 3 {
			located[2][round] = -1
		}
		for i, l := range located {
			live.Add(i, round, l[round])
		}
		live.Look(round)
	}
	for i := range located {
		if open, compared := live.Open(i); open || !compared {
			t.Errorf("case %d: open %v, compared %v", i, open, compared)
		}
	}
	got := JudgeTurns(rec, rule, func(c record.Case) map[int]float64 { return located[c.Case] })
	if len(got) != 2 || got[0].Verdict != record.Faster || got[0].Ratio != (record.Interval{}) ||
		got[0].DifferenceNS.High > -19 || got[0].DifferenceNS.Low < -21 || codes(got[0].Warnings)[0] != "at_zero" {
		t.Errorf("a case at zero: %+v", got)
	}
	if c := got[1]; c.Verdict != record.Slower || len(c.Warnings) > 0 || c.Ratio.Low > 2 || c.Ratio.High < 2 {
		t.Errorf("a single process at zero: %+v", c)
	}
}

// TestDifferenceCovers: the interval of the difference in ns holds the true one as often as it says, also where times are around
// zero; and two sides that take no time differ by none.
func TestDifferenceCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	judge := Judge{Comparing: DefaultComparing()}
	for _, truth := range []float64{0, 3, 600} {
		const runs = 400
		missed, cried := 0, 0
		for range runs {
			times := make([]pair, 20)
			for i := range times {
				drift := 0.02 * float64(i)
				times[i] = pair{drift + 0.3*rng.NormFloat64(), drift + truth + (0.3+truth/50)*rng.NormFloat64()}
			}
			c := judge.followDifference(times, true)
			if d := c.DifferenceNS; d == nil || d.Low > truth || d.High < truth {
				missed++
			}
			if c.Verdict == record.Slower && truth == 0 || c.Verdict == record.Faster || truth > 2 && c.Verdict == record.NoDifference {
				cried++
			}
		}
		if rate := float64(missed) / runs; rate > 0.05+3*math.Sqrt(0.05*0.95/runs) {
			t.Errorf("a difference of %g ns is outside of %.3g of the intervals", truth, rate)
		}
		if rate := float64(cried) / runs; rate > 0.05 {
			t.Errorf("of a difference of %g ns %.3g of the verdicts are wrong", truth, rate)
		}
	}
}

// Without a rule nothing is compared; a case whose time is spent ends its comparisons.
func TestTurnsEnd(t *testing.T) {
	rule := DefaultComparing()
	live := NewTurns(&rule, threeCases())
	live.Close(1)
	for i, want := range []bool{true, false, true} {
		if open, compared := live.Open(i); open != want || !compared {
			t.Errorf("case %d: open %v, compared %v", i, open, compared)
		}
	}
	none := NewTurns(nil, threeCases())
	none.Add(0, 0, 20)
	none.Look(0)
	none.Fail(0)
	if open, compared := none.Open(1); open || compared {
		t.Errorf("without a rule: open %v, compared %v", open, compared)
	}
}

func TestDifferencesAreNamed(t *testing.T) {
	count := func(x float64) *float64 { return &x }
	a := record.CaseResult{
		Processes: 10, BytesPerCall: count(0), InstructionsPerCall: count(120.4), JIT: record.JITSummary{Compiled: "compiled", RootTraces: 1, SideTraces: 1},
	}
	b := record.CaseResult{
		Processes: 10, BytesPerCall: count(64), InstructionsPerCall: count(180), GCShare: &record.Interval{Estimate: 0.12, Low: 0.1, High: 0.14},
		JIT: record.JITSummary{
			Compiled: "partly", RootTraces: 1.5, SideTraces: 4,
			Aborts: []record.Abort{
				{Reason: "NYI: bytecode FNEW", NYI: "FNEW", Count: 30},
				{Reason: "once in a while", Count: 2},
			},
			Blacklisted: []record.Blacklist{{What: "loop"}},
		},
		Modes: []record.Mode{{Share: 0.8, NS: 6.3}, {Share: 0.2, NS: 8.8}},
	}
	a.Modes = []record.Mode{{Share: 1, NS: 6.3}}
	want := []record.Difference{
		{What: "runs", A: "compiled", B: "partly"},
		{What: "side traces", A: "1", B: "4"},
		{What: "aborts", A: "none", B: "NYI: bytecode FNEW"},
		{What: "blacklisted", A: "none", B: "loop"},
		{What: "bytes per call", A: "0", B: "64"},
		{What: "instructions per call", A: "120", B: "180"},
		{What: "time in the collector", A: "0 %", B: "12 %"},
		{What: "levels", A: "100 % at 6.3 ns", B: "80 % at 6.3 ns, 20 % at 8.8 ns"},
	}
	if d := cmp.Diff(want, differences(&a, &b)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if same := differences(&b, &b); same != nil {
		t.Errorf("a case differs from itself: %+v", same)
	}
	c := a
	c.InstructionsPerCall = count(121) // as another process of the same code may have it
	if same := differences(&a, &c); same != nil {
		t.Errorf("half a percent of instructions is a difference: %+v", same)
	}
	c.InstructionsPerCall = nil
	if same := differences(&a, &c); same != nil {
		t.Errorf("instructions of a machine without a counter: %+v", same)
	}
}
