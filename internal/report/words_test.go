package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
	"pgregory.net/rapid"
)

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		verdict             string
		estimate, low, high float64
		want                string
	}{
		{record.Slower, 1.0312, 1.0244, 1.0379, "1.031× slower (1.024–1.038)"},
		{record.Slower, 302.4, 290, 318, "302× slower (290–318)"},
		{record.Faster, 0.5, 0.48, 0.52, "2.00× faster (1.92–2.08)"},
		{record.Slower, 1.013, 1.004, 1.9, "1.013× slower (1.004–1.900)"}, // not 1.0× (1.0–1.9)
		{record.NoDifference, 1, 0.992, 1.006, "no measurable difference (within ±0.8 %)"},
		{record.Undecided, 1.01, 0.979, 1.034, "undecided (between 1.02× faster and 1.03× slower)"},
		{record.Undecided, 1.02, 1, 1.04, "undecided (between equal and 1.04× slower)"},
		{record.Undecided, 1.2, 0.9996, 1.6, "undecided (between equal and 1.6× slower)"},
		{record.Undecided, 0.01, 0.01, 0.01, "undecided"}, // too few for an interval
	} {
		c := record.Comparison{Verdict: tt.verdict, Ratio: record.Interval{Estimate: tt.estimate, Low: tt.low, High: tt.high}}
		if got := newPage(ui.Options{}).verdict(c); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.verdict, tt.estimate, got, tt.want)
		}
	}
}

// TestVerdictFollowsFromItsInterval: what is printed of any interval agrees with the verdict: an undecided one reaches from faster to
// slower, and both ends of another lie on its side of 1.
func TestVerdictFollowsFromItsInterval(t *testing.T) {
	undecided := regexp.MustCompile(`^undecided \(between (equal|[\d.,]+× faster) and (equal|[\d.,]+× slower)\)$`)
	decided := regexp.MustCompile(`^[\d.,]+× (slower|faster) \(([\d.,]+)–([\d.,]+)\)$`)
	rapid.Check(t, func(t *rapid.T) {
		wide := rapid.Float64Range(0.001, 5)
		low, high := math.Exp(-wide.Draw(t, "below")), math.Exp(wide.Draw(t, "above"))
		at := rapid.Float64Range(0.01, 0.99).Draw(t, "at")
		of := func(verdict string, low, high float64) string {
			r := record.Interval{Estimate: math.Exp(math.Log(low)*(1-at) + math.Log(high)*at), Low: low, High: high}
			return newPage(ui.Options{}).verdict(record.Comparison{Verdict: verdict, Ratio: r})
		}
		if text := of(record.Undecided, low, high); !undecided.MatchString(text) {
			t.Fatalf("%g to %g: %s", low, high, text)
		}
		for verdict, text := range map[string]string{
			record.Slower: of(record.Slower, high, high*1/low), record.Faster: of(record.Faster, low/high, low),
		} {
			said := decided.FindStringSubmatch(text)
			if said == nil || said[1] != verdict {
				t.Fatalf("%s: %s", verdict, text)
			}
			if end, err := strconv.ParseFloat(strings.ReplaceAll(said[2], ",", ""), 64); err != nil || end <= 1 {
				t.Fatalf("%s, with an end at or beyond equal: %s", verdict, text)
			}
		}
	})
}

// TestNoVerdict: of a side that failed there is no verdict, and the line of the verdict says why, alone.
func TestNoVerdict(t *testing.T) {
	why := record.Warning{Code: "no_figure", Text: `there is no figure of error("x")`, Advice: "see what is said of it alone"}
	c := record.Comparison{A: `error("x")`, B: "local a = 1", Verdict: record.Undecided, Warnings: []record.Warning{why}}
	if got, want := newPage(ui.Options{}).verdict(c), `no verdict: there is no figure of error("x")`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if notes := notesOf(&record.Results{Comparisons: []record.Comparison{c}}); len(notes) > 0 {
		t.Errorf("it is said again: %+v", notes)
	}
}

func TestNotesAreToldOnce(t *testing.T) {
	var res record.Results
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		res.Cases = append(res.Cases, record.CaseResult{Name: name, Warnings: []record.Warning{
			{Code: "all", Text: "All.", Advice: "Do."},
			{Code: "own", Text: "Only " + name + ".", Advice: "Do."},
		}})
	}
	res.Cases[1].Warnings = append(res.Cases[1].Warnings, record.Warning{Code: "one", Text: "One."})
	for i := range 4 {
		res.Cases[i].Warnings = append(res.Cases[i].Warnings, record.Warning{Code: "four", Text: "Four."})
	}
	res.Warnings = []record.Warning{{Code: "run", Text: "The run."}}
	var got []string
	for _, n := range notesOf(&res) {
		got = append(got, strings.Join(n.lines(len(res.Cases)), " / "))
	}
	want := []string{"The run.", "All. (all cases)", "Only a. (a) / Only b. (b) / Only c. (c) / The same of 2 more cases.", "Four. (a, b, c and 1 more)", "One. (b)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestNotesThatSayLess: that the machine was busy when the run began is left out beside when, and by how much, it was slowed.
func TestNotesThatSayLess(t *testing.T) {
	res := record.Results{
		Warnings: []record.Warning{{Code: "load", Text: "Busy."}, {Code: "steal", Text: "Stolen."}, {Code: "governor", Text: "Slow."}},
		Cases:    []record.CaseResult{{Name: "a"}, {Name: "b"}},
	}
	if got := notesOf(&res); len(got) != 3 {
		t.Errorf("%+v", got)
	}
	res.Cases[1].Warnings = []record.Warning{{Code: "disturbed", Text: "Disturbed."}}
	if got := notesOf(&res); len(got) != 2 || got[0].texts[0] != "Slow." || got[1].texts[0] != "Disturbed." {
		t.Errorf("%+v", got)
	}
}

// TestFaultsSayWhatToDo: a missing module without the fifteen places it is not in; what a phase lacks with the flag that has it.
func TestFaultsSayWhatToDo(t *testing.T) {
	missing := "module 'nosuch.mod' not found:\n\tno field package.preload['nosuch.mod']\n\tno file './nosuch/mod.lua'\n\tno file '/usr/x.so'"
	for _, tt := range []struct{ said, text, remedy string }{
		{missing, `a.lua:1: module 'nosuch.mod' not found. The case "c" threw an error in run, on call 1.`, "LUA_PATH"},
		{"API disabled in the current context", `a.lua:1: API disabled in the current context. The case "c" threw an error in run, on call 1.`, "--phase content"},
		{"API disabled in the context of log_by_lua*", `a.lua:1: API disabled in the context of log_by_lua*. The case "c" threw an error in run, on call 1.`, "--phase content"},
		{"no request found", `a.lua:1: no request found. The case "c" threw an error in run, on call 1.`, "--phase content"},
		{"boom", `a.lua:1: boom. The case "c" threw an error in run, on call 1.`, "Correct the code at that line"},
	} {
		f := group{name: "c", fault: record.Fault{Kind: record.FaultError, Stage: "run", Call: 1, Text: tt.said, Source: record.Source{File: "a.lua", Line: 1}}}
		if f.text() != tt.text || !strings.Contains(f.remedy(), tt.remedy) {
			t.Errorf("%q:\n%s\n%s", tt.said, f.text(), f.remedy())
		}
	}
}

func TestByWorkers(t *testing.T) {
	mk := func(name, benchmark string, workers int, size float64) record.CaseResult {
		return record.CaseResult{Name: name, Case: record.Case{Benchmark: benchmark, Workers: workers,
			Params: map[string]any{"size": size, "workers": float64(workers)}}}
	}
	groups := byWorkers([]record.CaseResult{
		mk("b4", "b", 4, 1), mk("a", "a", 1, 1), mk("b1", "b", 0, 1), mk("other size", "b", 2, 9), mk("b2", "b", 2, 1),
	})
	if len(groups) != 1 {
		t.Fatalf("%d groups, want one", len(groups))
	}
	var names []string
	for _, c := range groups[0] {
		names = append(names, c.Name)
	}
	if d := cmp.Diff([]string{"b1", "b2", "b4"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestJITShort(t *testing.T) {
	nyi := []record.Abort{{Source: record.Source{File: "/srv/app.lua", Line: 12}, Reason: "NYI: bytecode 51", NYI: "FNEW"}}
	for want, j := range map[string]record.JITSummary{
		"1 root, 2 side":                       {RootTraces: 1, SideTraces: 2, Compiled: "compiled", Aborts: nyi},
		"1 to 2 root":                          {RootTraces: 1.5, Compiled: "compiled"},
		"partly compiled: NYI FNEW app.lua:12": {RootTraces: 1, Compiled: "partly", Aborts: nyi},
		"interpreted":                          {Compiled: "interpreted"},
		"interpreted: blacklisted app.lua:9":   {Compiled: "interpreted", Blacklisted: []record.Blacklist{{Source: record.Source{File: "x/app.lua", Line: 9}}}},
		"":                                     {},
	} {
		if got := jitShort(j); got != want {
			t.Errorf("jitShort = %q, want %q", got, want)
		}
	}
}

func TestJITOpt(t *testing.T) {
	for want, flags := range map[string]string{
		"-O3":      "SSE4.1 BMI2 " + allOptimizations,
		"fold cse": "BMI2 fold cse",
	} {
		if got := jitOpt(strings.Fields(flags)); got != want {
			t.Errorf("jitOpt(%q) = %q, want %q", flags, got, want)
		}
	}
}

// Names and texts of the user's code do not break a table, nor become Markdown.
func TestMarkdownEscapes(t *testing.T) {
	c := plain(0, "a|b *c* <script>`x`\n\x1b[31m", 5)
	var b strings.Builder
	if err := Terminal(&b, &record.Results{Cases: []record.CaseResult{c}, Complete: true}, ui.Options{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	want := "| a\\|b \\*c\\* &lt;script&gt;\\`x\\` | 5.00 ± 0.06 ns |"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "stop what else runs": "Stop what else runs.", "jit.off was called (12 %)": "jit.off was called (12 %).",
		"LuaJIT gave up.": "LuaJIT gave up.", "é": "É.",
	} {
		if got := ui.Sentence(in); got != want {
			t.Errorf("sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever the user's code calls its cases and says when it fails, the report keeps
// its width and sends the terminal nothing but text.
func TestAnythingFits(t *testing.T) {
	nasty := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("a/= -月\x1b\x07\n\t|`"))))
	rapid.Check(t, func(t *rapid.T) {
		res := noFigures()
		for i := range res.Cases {
			c := &res.Cases[i]
			c.Name = nasty.Draw(t, "name")
			c.Case.File = nasty.Draw(t, "file")
			c.Modes = []record.Mode{{Share: 0.7, NS: 1}, {Share: 0.3, NS: 2, Trace: nasty.Draw(t, "trace")}}
			c.Faults = append(c.Faults, record.Fault{Kind: nasty.Draw(t, "kind"), Text: nasty.Draw(t, "text"), Source: record.Source{File: "x", Line: 1}})
			c.Warnings = []record.Warning{{Text: nasty.Draw(t, "warning"), Advice: nasty.Draw(t, "advice")}}
			c.JIT.Aborts = []record.Abort{{Reason: nasty.Draw(t, "reason")}}
		}
		width := rapid.IntRange(ui.MinWidth, 130).Draw(t, "width")
		var b strings.Builder
		if err := Terminal(&b, res, ui.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if w := lipgloss.Width(line); w > width {
				t.Fatalf("%d columns, more than %d: %q", w, width, line)
			}
			if strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("a control character: %q", line)
			}
		}
	})
}
