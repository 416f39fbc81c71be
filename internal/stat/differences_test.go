package stat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

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
		Modes: []record.Mode{{Share: 0.8, NS: 6.3}, {Share: 0.2, NS: 5431398}},
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
		{What: "levels", A: "100 % at 6.3 ns", B: "80 % at 6.3 ns, 20 % at 5.43 ms"},
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
