package stat

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestSummarize(t *testing.T) {
	rec := sound()
	res := Summarize(rec)
	c := res.Cases[0]
	if c.Processes != 12 || c.Failed != 0 || c.Steady != record.SteadyFlat || len(c.PerProcess) != 12 {
		t.Errorf("%d processes, %d failed, %s, %d listed", c.Processes, c.Failed, c.Steady, len(c.PerProcess))
	}
	d := c.NSPerCall
	if d == nil || !stattest.Near(d.Estimate, 20, 0.005) || d.Low > d.Estimate || d.High < d.Estimate ||
		d.Min > d.P50 || d.P50 > d.P90 || d.P90 > d.P99 || d.P99 > d.Max {
		t.Errorf("figure %+v", d)
	}
	if c.EmptyNS == nil || !stattest.Near(c.EmptyNS.Estimate, 1, 0.01) {
		t.Errorf("empty twin %+v", c.EmptyNS)
	}
	if c.BytesPerCall == nil || *c.BytesPerCall != 0 || c.GCShare != nil {
		t.Errorf("bytes %v, GC %v", c.BytesPerCall, c.GCShare)
	}
	if c.Batches.Measured != 12*40 || len(c.Bins) < 5 || len(res.VMs) != 1 || res.Clock == nil {
		t.Errorf("%d batches, %d bins, %d VMs", c.Batches.Measured, len(c.Bins), len(res.VMs))
	}
	if len(c.Modes) != 1 || c.Modes[0].Processes != 12 || c.Modes[0].Share != 1 {
		t.Errorf("modes %+v", c.Modes)
	}
	for i, p := range c.PerProcess {
		if p.Process != i || p.Seed != float64(100+i) || p.MinNS > p.NS {
			t.Errorf("process %d: %+v", i, p)
		}
	}
}

func TestModesKeepApart(t *testing.T) {
	rec := healthy(append(stattest.Around(10, 6.3), stattest.Around(2, 8.8)...)...)
	for _, p := range rec.Processes[10:] {
		p.JIT.Traces[0].Line, p.JIT.Traces[0].Lines = 12, "12-13-15"
	}
	c := Summarize(rec).Cases[0]
	want := []record.Mode{
		{Share: 10.0 / 12, NS: 6.3, Processes: 10, Trace: "trace starts at case.lua:3 through lines 3-4-5", Seed: 100},
		{Share: 2.0 / 12, NS: 8.8, Processes: 2, Trace: "trace starts at case.lua:12 through lines 12-13-15", Seed: 110},
	}
	close := cmp.Comparer(func(a, b float64) bool { return stattest.Near(a, b, 0.01) })
	if diff := cmp.Diff(want, c.Modes, close); diff != "" {
		t.Error(diff)
	}
	if !stattest.Near(c.NSPerCall.Estimate, 6.3, 0.01) || c.NSPerCall.High > 6.5 {
		t.Errorf("the figure is %+v, want that of the largest mode", c.NSPerCall)
	}
	for i, p := range c.PerProcess {
		if (p.Mode == 1) != (i >= 10) {
			t.Errorf("process %d is in mode %d", i, p.Mode)
		}
	}
}

func TestFailuresDoNotCount(t *testing.T) {
	rec := sound()
	rec.Processes[0].Faults = []record.Fault{{Kind: record.FaultError, Text: "boom"}}
	rec.Processes[1].Finish = nil // it ended, but not as it should
	rec.Processes[2].Finish, rec.Processes[2].Exit = nil, nil
	res := Summarize(rec)
	c := res.Cases[0]
	if c.Failed != 2 || c.Processes != 9 || len(c.Faults) != 1 || res.Complete {
		t.Errorf("%d failed, %d count, %d faults, complete %v; want 2, 9, 1, false",
			c.Failed, c.Processes, len(c.Faults), res.Complete)
	}
}

func TestWorkersAreOneProcess(t *testing.T) {
	rec := newRecord()
	for i := range 8 {
		for worker, ns := range []float64{21, 31} {
			p := add(rec, batches(record.Measure, stattest.Around(40, ns)...), batches(record.Empty, stattest.Around(20, 1)...))
			p.Process.In = record.In{Process: i, Worker: worker}
		}
	}
	c := Summarize(rec).Cases[0]
	if c.Processes != 8 || len(c.PerProcess) != 16 || !stattest.Near(c.NSPerCall.Estimate, 25, 0.01) || len(c.Modes) != 1 {
		t.Errorf("%d processes, %d VMs, %+v, %d modes", c.Processes, len(c.PerProcess), c.NSPerCall, len(c.Modes))
	}
}

func TestGCShare(t *testing.T) {
	share := func(bytes float64) *record.Interval {
		rec := newRecord()
		for range 8 {
			p := add(rec, batches(record.Measure, stattest.Around(40, 21)...), batches(record.GCStopped, stattest.Around(20, 16)...),
				batches(record.Empty, stattest.Around(20, 1)...))
			p.Memory.BytesPerCall = bytes
		}
		return Summarize(rec).Cases[0].GCShare
	}
	if s := share(64); s == nil || !stattest.Near(s.Estimate, 0.25, 0.01) {
		t.Errorf("GC share %+v, want a quarter", s)
	}
	if s := share(0); s != nil {
		t.Errorf("GC share %+v of a case that allocates nothing", s)
	}
}

// Whatever a record lacks, results are made, and can be written as JSON (which has no
// NaN).
func TestSummarizeAnything(t *testing.T) {
	zero := everyMeasure(sound(), func(_ int, b *record.Batches) {
		for i := range b.NS {
			b.NS[i] = 0
		}
	})
	all := everyMeasure(sound(), func(_ int, b *record.Batches) { b.Traces = marks(40, 1) })
	lone := sound()
	lone.Processes = lone.Processes[:1]
	bare := everyProcess(sound(), func(p *record.ProcessRecord) { p.JIT, p.Memory, p.Exit = nil, nil, nil })
	one := healthy(20)
	one.Processes[0].Batches[0].NS, one.Processes[0].Batches[0].Calls = []float64{21000}, []int{1000}
	for name, rec := range map[string]*record.Record{
		"nothing": {}, "no process": newRecord(), "no time": zero, "all traced": all, "one process": lone,
		"bare": bare, "nothing timed": newSized(3), "one batch": one, "slower twin": healthy(stattest.Around(8, -0.5)...),
	} {
		res := Summarize(rec)
		if _, err := json.Marshal(res); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if res.Warnings == nil || res.Cases == nil || res.Comparisons == nil {
			t.Errorf("%s: a list is null", name)
		}
		for _, c := range res.Cases {
			if c.Warnings == nil || c.Modes == nil || c.PerProcess == nil || c.JIT.Aborts == nil || c.JIT.Blacklisted == nil {
				t.Errorf("%s: a list is null", name)
			}
		}
	}
	if c := Summarize(all).Cases[0]; !slices.Contains(stattest.Codes(c.Warnings), "polluted") || c.NSPerCall == nil {
		t.Errorf("where every batch is traced, %+v with %v", c.NSPerCall, stattest.Codes(c.Warnings))
	}
}

func TestSummarizeTwiceIsTheSame(t *testing.T) {
	rec := healthy(append(stattest.Around(10, 6.3), stattest.Around(2, 8.8)...)...)
	if diff := cmp.Diff(Summarize(rec), Summarize(rec)); diff != "" {
		t.Error(diff)
	}
}

// Instructions are the median over the processes that could count them.
func TestInstructionsPerCall(t *testing.T) {
	rec := newRecord()
	for i := range 5 {
		add(rec, batches(record.Measure, 10, 10, 10))
		if i > 0 {
			x := float64(100 * i)
			rec.Processes[i].Finish.InstructionsPerCall = &x
		}
	}
	got := Summarize(rec).Cases[0].InstructionsPerCall
	if got == nil || *got != 250 {
		t.Errorf("%v, want the median of 100 to 400", got)
	}
}
