package stat

import (
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// caseOf is a case whose processes took so long, of one level.
func caseOf(name string, ns ...float64) record.CaseResult {
	c := record.CaseResult{Name: name, Processes: len(ns)}
	if len(ns) == 0 {
		return c
	}
	iv, _ := estimate.MedianInterval(ns, estimate.Level)
	c.NSPerCall = &record.Distribution{Interval: iv}
	for i, x := range ns {
		c.PerProcess = append(c.PerProcess, record.ProcessResult{Process: i, NS: x, Steady: record.SteadyFlat})
	}
	return c
}

func codesOf(warnings []record.Warning) []string {
	var codes []string
	for _, w := range warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

func TestAgainstBaseline(t *testing.T) {
	base := []float64{100, 101, 102, 103, 104, 105, 106, 107}
	times := func(by float64) (out []float64) {
		for _, x := range base {
			out = append(out, x*by)
		}
		return out
	}
	b := Baseline{
		Name: "main", Started: "2026-11-20T10:00:00Z", Commit: "0123456789abcdef",
		Results: &record.Results{Cases: []record.CaseResult{
			caseOf("slow", base...), caseOf("fast", base...), caseOf("gone", base...), caseOf("moved", base...), caseOf("empty"),
		}},
		Elsewhere: map[string][]record.Difference{"moved": {{What: "cpu", A: "x", B: "y"}}},
	}
	res := &record.Results{Cases: []record.CaseResult{
		caseOf("fast", times(0.5)...), caseOf("slow", times(1.5)...), caseOf("new", base...), caseOf("moved", times(2)...), caseOf("empty", base...),
	}}
	got, warnings := b.Against(res, sequential.DefaultComparing())
	want := map[string]string{"slow": record.Slower, "fast": record.Faster, "moved": record.Slower, "empty": record.Undecided}
	if len(got) != len(want) {
		t.Errorf("%d comparisons", len(got))
	}
	for _, c := range got {
		if c.Verdict != want[c.B] || c.A != c.B+"@main" {
			t.Errorf("%s against %s: %s", c.B, c.A, c.Verdict)
		}
		if c.Pairs != 0 || len(c.Processes) != 2 || c.Processes[1] != len(base) {
			t.Errorf("%s: %d pairs, %v processes", c.B, c.Pairs, c.Processes)
		}
		if marked := slices.Contains(codesOf(c.Warnings), "elsewhere"); marked != (c.B == "moved") {
			t.Errorf("%s: marked as measured elsewhere: %v", c.B, marked)
		}
	}
	if d := got[2].Differences; got[2].B != "moved" || len(d) == 0 || d[0].What != "cpu" {
		t.Errorf("differences of %s: %v", got[2].B, d)
	}
	if codes := codesOf(warnings); !slices.Equal(codes, []string{"no_baseline", "not_interleaved"}) {
		t.Errorf("warnings %v", codes)
	}
	if c := got[3]; len(c.Warnings) != 1 || c.Warnings[0].Code != "no_figure" {
		t.Errorf("%s: %v", c.B, c.Warnings)
	}
}

// The intervals of several rows hold together, so each is wider than one alone.
func TestAgainstBaselineCorrectsForRows(t *testing.T) {
	var a, b []float64
	for i := range 12 {
		a, b = append(a, 100+float64(i*i%7)), append(b, 103+float64(i*i%5))
	}
	width := func(names ...string) float64 {
		var as, bs []record.CaseResult
		for _, name := range names {
			as, bs = append(as, caseOf(name, a...)), append(bs, caseOf(name, b...))
		}
		got, _ := Baseline{Results: &record.Results{Cases: as}}.Against(&record.Results{Cases: bs}, sequential.DefaultComparing())
		return got[0].Ratio.High - got[0].Ratio.Low
	}
	if one, four := width("x"), width("x", "y", "z", "w"); four <= one {
		t.Errorf("one row is %g wide, each of four %g", one, four)
	}
}

// Too few processes of either run prove nothing, however far apart they are; equal times of
// all processes do.
func TestAgainstBaselineFewOrEqual(t *testing.T) {
	equal := func(n int, ns float64) (out []float64) {
		for range n {
			out = append(out, ns)
		}
		return out
	}
	for _, c := range []struct {
		then, now []float64
		verdict   string
		code      string // of the only warning
		fails     bool   // the gate
	}{
		{equal(2, 10), equal(2, 50), record.Undecided, "few_processes", false},
		{equal(1, 10), equal(20, 50), record.Undecided, "few_processes", false},
		{equal(8, 10), equal(8, 10), record.NoDifference, "", false},
		{equal(8, 10), equal(8, 10.2), record.Slower, "", false},
		{equal(8, 10), equal(8, 11), record.Slower, "", true},
		{equal(8, 0), equal(8, 0), record.Undecided, "at_zero", false},
	} {
		b := Baseline{Results: &record.Results{Cases: []record.CaseResult{caseOf("x", c.then...)}}}
		got, _ := b.Against(&record.Results{Cases: []record.CaseResult{caseOf("x", c.now...)}}, sequential.DefaultComparing())
		codes := codesOf(got[0].Warnings)
		if got[0].Verdict != c.verdict || len(codes) > 1 || c.code != "" && !slices.Equal(codes, []string{c.code}) || sequential.TooSlow(got[0], 0.03) != c.fails {
			t.Errorf("%v against %v: %s %+v, warnings %v, fails: %v", c.now, c.then, got[0].Verdict, got[0].Ratio, codes, sequential.TooSlow(got[0], 0.03))
		}
	}
}

// measuredOn is a run of one case on a machine: how fast its yardsticks ever were, and by how much something slowed it
// all the time.
func measuredOn(best, slowed float64, ns ...float64) *record.Results {
	c := caseOf("x", ns...)
	c.Quiet = &record.Quiet{Share: 0.9}
	if slowed > 0 {
		c.Quiet = &record.Quiet{Disturbed: true, SlowerLow: slowed / 2, SlowerHigh: slowed}
	}
	return &record.Results{Cases: []record.CaseResult{c}, Yardsticks: map[string]float64{"core": best, "cache": 1062}}
}

// A run that something slowed, or on a machine whose speed changed, is not called slower for that; a difference beyond it
// is.
func TestAgainstBaselineOfAnotherHour(t *testing.T) {
	base := []float64{100, 100.3, 100.6, 100.9, 101.2, 101.5, 101.8, 102.1}
	times := func(by float64) (out []float64) {
		for _, x := range base {
			out = append(out, x*by)
		}
		return out
	}
	for name, c := range map[string]struct {
		then, now *record.Results
		verdict   string
		code      string
	}{
		"quiet both times, slower": {measuredOn(1432, 0, base...), measuredOn(1430, 0, times(1.1)...), record.Slower, ""},
		"slowed now":               {measuredOn(1432, 0, base...), measuredOn(1430, 0.3, times(1.2)...), record.Undecided, "disturbed"},
		"slowed now, and slower":   {measuredOn(1432, 0, base...), measuredOn(1430, 0.3, times(1.6)...), record.Slower, "disturbed"},
		"slowed now, and faster":   {measuredOn(1432, 0, base...), measuredOn(1430, 0.3, times(0.8)...), record.Faster, "disturbed"},
		"slowed then":              {measuredOn(1432, 0.3, times(1.2)...), measuredOn(1430, 0, base...), record.Undecided, "disturbed"},
		"slower for good":          {measuredOn(1432, 0, base...), measuredOn(1720, 0, times(1.2)...), record.Undecided, "another_speed"},
		"moved to a faster host":   {measuredOn(1720, 0, times(1.2)...), measuredOn(1432, 0, base...), record.Undecided, "another_speed"},
		"moved, and twice as slow": {measuredOn(1720, 0, base...), measuredOn(1432, 0, times(2)...), record.Slower, "another_speed"},
		"without yardsticks then":  {&record.Results{Cases: []record.CaseResult{caseOf("x", base...)}}, measuredOn(1430, 0, times(1.1)...), record.Slower, ""},
	} {
		got, _ := Baseline{Name: "main", Results: c.then}.Against(c.now, sequential.DefaultComparing())
		codes := codesOf(got[0].Warnings)
		if got[0].Verdict != c.verdict || len(codes) > 1 || c.code != "" && !slices.Equal(codes, []string{c.code}) {
			t.Errorf("%s: %s %+v, warnings %v", name, got[0].Verdict, got[0].Ratio, codes)
		}
	}
}
