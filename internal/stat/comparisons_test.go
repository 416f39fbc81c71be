package stat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/stat/stattest"
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

// A side that never settles has no figure: what its processes said is not compared, whatever it was.
func TestCompareTurnsOfACaseWithoutFigureSaysNothing(t *testing.T) {
	ones := stattest.Each(12, func(i int) float64 { return 100 + float64(i%3) })
	rec := sidesRecord(t, sequential.DefaultComparing(), "complete", ones, stattest.Each(12, func(i int) float64 { return 1 + float64(i%3)/100 }))
	res := Summarize(rec)
	if c := CompareTurns(rec, res)[0]; c.Verdict != record.Faster {
		t.Fatalf("the sides are not a hundred times apart: %+v", c)
	}
	res.Cases[1].NSPerCall, res.Cases[1].JIT.RootTraces = nil, 7
	c := CompareTurns(rec, res)[0]
	if c.Verdict != record.Undecided || c.Ratio != (record.Interval{}) || c.DifferenceNS != nil || c.Needs != 0 {
		t.Errorf("%+v", c)
	}
	if len(c.Differences) > 0 { // a side that failed after one call may have no traces, which is no difference of the code
		t.Errorf("sides are compared of which one has no figure: %+v", c.Differences)
	}
	if codes := stattest.Codes(c.Warnings); !slices.Equal(codes, []string{"no_figure"}) {
		t.Errorf("not just why: %+v", c.Warnings)
	}
}

func TestCompareTurnsJudgesAsTheRunDid(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	around := func(n int, ns float64) []float64 {
		return stattest.Each(n, func(int) float64 { return ns * (1 + 0.01*rng.NormFloat64()) })
	}
	rule := sequential.DefaultComparing()
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
	live := sequential.NewTurns(&rule, []record.Case{{Case: 0, Name: "a"}, {Case: 1, Name: "b"}})
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
