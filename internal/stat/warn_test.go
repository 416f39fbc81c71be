package stat

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// Nothing is wrong with this one.
func sound() *record.Record { return healthy(stattest.Around(12, 20)...) }

func everyProcess(rec *record.Record, change func(p *record.ProcessRecord)) *record.Record {
	for _, p := range rec.Processes {
		change(p)
	}
	return rec
}

func everyMeasure(rec *record.Record, change func(i int, b *record.Batches)) *record.Record {
	return everyProcess(rec, func(p *record.ProcessRecord) {
		for i := range p.Batches {
			if p.Batches[i].Kind == record.Measure {
				change(i, &p.Batches[i])
			}
		}
	})
}

// marks is n marks of which every one in each is set.
func marks(n, each int) []int {
	m := make([]int, n)
	for i := range m {
		if i%each == 0 {
			m[i] = 1
		}
	}
	return m
}

func number(x float64) *float64 { return &x }

// drifting is a process whose time grows by half.
func drifting(n int) []float64 {
	return stattest.Each(n, func(i int) float64 { return 20 * (1 + stattest.U(i, n)/2) })
}

// TestFewOnTheMainLevel: of eight processes on two levels five make the figure, and the note does not count the others.
func TestFewOnTheMainLevel(t *testing.T) {
	res := Summarize(withTrace(healthy(append(stattest.Around(5, 20), stattest.Around(3, 40)...)...), 5))
	for _, w := range res.Cases[0].Warnings {
		if w.Code == "few_processes" {
			if !strings.HasPrefix(w.Text, "5 of 8 processes are on the level of the figure; an interval over 5 values") ||
				!strings.HasPrefix(w.Advice, "at least 6 have to settle, and on one level") {
				t.Errorf("%s\n%s", w.Text, w.Advice)
			}
			return
		}
	}
	t.Errorf("nothing is said of few processes: %+v", res.Cases[0].Warnings)
}

func TestSoundCaseHasNoWarnings(t *testing.T) {
	res := Summarize(sound())
	if got := append(stattest.Codes(res.Warnings), stattest.Codes(res.Cases[0].Warnings)...); len(got) > 0 {
		t.Errorf("warnings %v on a sound record", got)
	}
	if !res.Complete {
		t.Error("a sound record is not complete")
	}
}

// Each warning of a case comes from its record, and not from one that is nearly it.
// twoLevels are processes on two levels, alike in all but time.
func twoLevels() *record.Record {
	return healthy(append(stattest.Around(9, 20), stattest.Around(3, 28)...)...)
}

// withTrace gives the processes from one on a trace that the others lack.
func withTrace(rec *record.Record, from int) *record.Record {
	for _, p := range rec.Processes[from:] {
		addTrace(p)
	}
	return rec
}

func TestCaseWarnings(t *testing.T) {
	withJIT := func(change func(l *record.JIT)) *record.Record {
		return everyProcess(sound(), func(p *record.ProcessRecord) { change(p.JIT) })
	}
	memory := func(bytes float64, interpreted *float64) *record.Record {
		return everyProcess(sound(), func(p *record.ProcessRecord) {
			p.Memory.BytesPerCall, p.Memory.InterpretedPerCall = bytes, interpreted
		})
	}
	mixed := func(steady, never int) *record.Record {
		rec := healthy(stattest.Around(steady, 20)...)
		for range never {
			add(rec, batches(record.Measure, drifting(100)...), batches(record.Empty, stattest.Around(20, 1)...))
		}
		return rec
	}
	nyi := record.Abort{Source: record.Source{File: "case.lua", Line: 4}, Reason: "NYI: bytecode FNEW", NYI: "FNEW", Count: 3, Stage: "warmup"}
	stopped := func(bytes float64) *record.Record {
		rec := memory(bytes, nil)
		rec.Cases[0].GC = "stopped"
		return rec
	}
	late := func(n int64) *record.Record {
		return everyProcess(newSized(12), func(p *record.ProcessRecord) {
			p.Laps = []record.Laps{lapsLine(p.Process.In, record.LapService, 100, 300), lapsLine(p.Process.In, record.LapResponse, 100, 300)}
			p.Laps[1].Late = n
		})
	}
	for _, c := range []struct {
		code      string
		yes, no   *record.Record
		yesReason string
	}{
		{code: "few_processes", yes: healthy(stattest.Around(5, 20)...), no: healthy(stattest.Around(6, 20)...)},
		{code: "modes", yes: withTrace(twoLevels(), 9), no: twoLevels()},
		{code: "levels", yes: twoLevels(), no: withTrace(twoLevels(), 9)},
		{code: "one_process", yes: healthy(append(stattest.Around(11, 20), 28)...), no: sound()},
		{code: "never_steady", yes: mixed(5, 7), no: mixed(6, 6)},
		{code: "some_never_steady", yes: mixed(6, 6), no: mixed(5, 7)},
		{code: "few_batches", no: sound(), yes: func() *record.Record {
			rec := newRecord()
			for range 8 {
				add(rec, batches(record.Measure, stattest.Around(9, 21)...), batches(record.Empty, stattest.Around(20, 1)...))
			}
			return rec
		}()},
		{code: "wide_interval", yes: healthy(10, 12, 14, 16, 18, 20, 22, 24), no: healthy(stattest.Around(8, 20)...)},
		{code: "wide_interval", yes: healthy(1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.4), no: healthy(-0.2, -0.15, -0.1, -0.05, 0.05, 0.1, 0.15, 0.2)},
		{code: "dead_code", yes: healthy(stattest.Around(8, 0.1)...), no: healthy(stattest.Around(8, 0.8)...)},
		{code: "sunk_allocation", yes: memory(0, number(64)), no: memory(64, number(64))},
		{code: "no_twin", no: sound(), yes: everyProcess(sound(), func(p *record.ProcessRecord) { p.Batches = p.Batches[:1] })},
		{code: "interpreted", yes: withJIT(func(l *record.JIT) { l.Traces = nil }), no: everyProcess(
			withJIT(func(l *record.JIT) { l.Traces = nil }), func(p *record.ProcessRecord) { p.Process.VM.JIT = false })},
		{code: "blacklisted", no: sound(), yes: withJIT(func(l *record.JIT) {
			l.Blacklisted = []record.Blacklist{{Source: record.Source{File: "case.lua", Line: 7}, What: "loop"}}
		})},
		{code: "nyi", yes: withJIT(func(l *record.JIT) { l.Traces[0].Link = "stitch"; l.Aborts = []record.Abort{nyi} }),
			no: withJIT(func(l *record.JIT) { l.Aborts = []record.Abort{nyi} })},
		{code: "trace_in_measurement", yes: everyMeasure(sound(), func(_ int, b *record.Batches) { b.Traces = marks(40, 10) }),
			no: everyMeasure(sound(), func(_ int, b *record.Batches) { b.Traces = marks(40, 30) })},
		{code: "polluted", yes: everyMeasure(sound(), func(_ int, b *record.Batches) { b.Switches = marks(40, 2) }),
			no: everyMeasure(sound(), func(_ int, b *record.Batches) { b.Switches = marks(40, 10) })},
		{code: "timer_saturated", no: sound(), yes: everyProcess(sound(), func(p *record.ProcessRecord) { p.Process.Clock.StepNS = 90 })},
		{code: "one_seed", no: sound(), yes: everyProcess(sound(), func(p *record.ProcessRecord) { p.Process.Seed = 7 })},
		{code: "gc_stopped", yes: stopped(64), no: stopped(0)},
		{code: "late", yes: late(100), no: late(1)},
		{code: "laps_spoiled", no: sound(), yes: everyProcess(sound(), func(p *record.ProcessRecord) {
			p.Laps = []record.Laps{{Kind: record.LapCalls, Count: 3, Histogram: "not a histogram"}}
		})},
	} {
		t.Run(c.code, func(t *testing.T) {
			ws := Summarize(c.yes).Cases[0].Warnings
			i := slices.IndexFunc(ws, func(w record.Warning) bool { return w.Code == c.code })
			if i < 0 {
				t.Fatalf("no such warning, only %v", stattest.Codes(ws))
			}
			if ws[i].Text == "" || ws[i].Advice == "" {
				t.Errorf("nothing said or advised: %+v", ws[i])
			}
			if got := stattest.Codes(Summarize(c.no).Cases[0].Warnings); slices.Contains(got, c.code) {
				t.Errorf("also where there is nothing to warn of: %v", got)
			}
		})
	}
}

func TestRunWarnings(t *testing.T) {
	with := func(change func(*record.Record)) *record.Record {
		rec := sound()
		change(rec)
		return rec
	}
	for _, c := range []struct {
		code    string
		yes, no func(*record.Record)
	}{
		{"incomplete", func(r *record.Record) { r.End = nil }, func(*record.Record) {}},
		{"incomplete", func(r *record.Record) { r.End.Reason = "interrupted" }, func(*record.Record) {}},
		{"incomplete", func(r *record.Record) { r.Spoiled = errors.New("r.jsonl:7: no JSON") }, func(*record.Record) {}},
		{"fault", func(r *record.Record) {
			r.Faults = []record.Fault{{Case: -1, Kind: record.FaultStart, Text: "nginx: unknown directive"}}
		}, func(*record.Record) {}},
		{"different_vms", func(r *record.Record) { r.Processes[3].Process.VM.Version = "LuaJIT 2.0" },
			func(r *record.Record) { r.Processes[3].Process.VM.Params = nil }},
		{"clock_coarse", func(r *record.Record) { r.Processes[3].Process.Clock.StepNS = 1000 },
			func(r *record.Record) { r.Processes[3].Process.Clock.StepNS = 10 }},
		{"clock_interpreted", func(r *record.Record) { r.Processes[3].Process.Clock.Compiled = false },
			func(r *record.Record) { r.Processes[3].Process.Clock.Compiled = true }},
		{"governor", func(r *record.Record) { r.Run.Environment.Governor = "powersave" },
			func(r *record.Record) { r.Run.Environment.Governor = "performance" }},
		{"load", func(r *record.Record) { r.Run.Environment.Load = []float64{3.1, 1, 1} },
			func(r *record.Record) { r.Run.Environment.Load = []float64{0.3, 1, 1} }},
		{"steal", func(r *record.Record) { r.Run.Environment.StealPercent = number(4) },
			func(r *record.Record) { r.Run.Environment.StealPercent = number(0.1) }},
		{"steal", func(r *record.Record) {
			everyMeasure(r, func(_ int, b *record.Batches) { b.Steal = marks(40, 5) })
		}, func(r *record.Record) { everyMeasure(r, func(_ int, b *record.Batches) { b.Steal = marks(40, 40) }) }},
	} {
		t.Run(c.code, func(t *testing.T) {
			ws := Summarize(with(c.yes)).Warnings
			if i := slices.IndexFunc(ws, func(w record.Warning) bool { return w.Code == c.code }); i < 0 || ws[i].Text == "" || ws[i].Advice == "" {
				t.Errorf("no such warning, or an empty one: %+v", ws)
			}
			if got := stattest.Codes(Summarize(with(c.no)).Warnings); slices.Contains(got, c.code) {
				t.Errorf("also where there is nothing to warn of: %v", got)
			}
		})
	}
}

func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		abort record.Abort
		want  string
	}{
		{record.Abort{Reason: "NYI: bytecode FNEW", NYI: "FNEW"}, "closure"},
		{record.Abort{Reason: "NYI: FastFunc pairs", NYI: "pairs"}, "ipairs"},
		{record.Abort{Reason: "NYI: FastFunc string.gsub", NYI: "string.gsub"}, "FFI"},
		{record.Abort{Reason: "call to C function"}, "FFI"},
		{record.Abort{Reason: "something new"}, "change that line"},
	} {
		if got := remedyOf(c.abort); !contains(got, c.want) {
			t.Errorf("remedy of %q is %q, want %q in it", c.abort.Reason, got, c.want)
		}
	}
}
