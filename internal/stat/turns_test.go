package stat

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

func TestRowsPairByNameOrAlone(t *testing.T) {
	c := func(number int, name, side string) record.Case {
		return record.Case{Case: number, Name: name, Side: side}
	}
	for _, tt := range []struct {
		what  string
		cases []record.Case
		want  [][2]int
	}{
		{"nothing", nil, nil},
		{"one case", []record.Case{c(0, "a", "")}, nil},
		{"one side", []record.Case{c(0, "a", ""), c(1, "b", ""), c(2, "c", "")}, [][2]int{{0, 1}, {0, 2}}},
		{"by name", []record.Case{c(0, "x@a", "a"), c(1, "y", "a"), c(2, "z", "b"), c(3, "x@b", "b")}, [][2]int{{0, 3}}},
		{"single cases", []record.Case{c(0, "x", "a"), c(1, "y", "b"), c(2, "z", "c")}, [][2]int{{0, 1}, {0, 2}}},
		{"not single on one side", []record.Case{c(0, "x", "a"), c(1, "y", "b"), c(2, "z", "b")}, nil},
	} {
		var got [][2]int
		for _, r := range Rows(tt.cases) {
			got = append(got, [2]int{r.A.Case, r.B.Case})
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, d)
		}
	}
}

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
	live := RowJudge{Judge: Judge{Comparing: rule, Rows: 1}}
	pairs := 0
	for i := range a {
		live.Add(a[i], b[i])
		pairs++
		if live.Enough() {
			break
		}
	}
	if c.Pairs != pairs {
		t.Errorf("the run would have ended after %d pairs, the record is judged after %d", pairs, c.Pairs)
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

func TestDifferencesAreNamed(t *testing.T) {
	bytes := func(x float64) *float64 { return &x }
	a := record.CaseResult{
		Processes: 10, BytesPerCall: bytes(0), JIT: record.JITSummary{Compiled: "compiled", RootTraces: 1, SideTraces: 1},
	}
	b := record.CaseResult{
		Processes: 10, BytesPerCall: bytes(64), GCShare: &record.Interval{Estimate: 0.12, Low: 0.1, High: 0.14},
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
		{What: "time in the collector", A: "0 %", B: "12 %"},
		{What: "levels", A: "100 % at 6.3 ns", B: "80 % at 6.3 ns, 20 % at 8.8 ns"},
	}
	if d := cmp.Diff(want, differences(&a, &b)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if same := differences(&b, &b); same != nil {
		t.Errorf("a case differs from itself: %+v", same)
	}
}
