package stat

import (
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
	"github.com/moonlap/moonlap/lap"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// lapsLine is a laps line of one call for each ns from low to high-1.
func lapsLine(in record.In, kind string, low, high int) record.Laps {
	h := lap.NewHistogram()
	sum := 0.0
	for ns := low; ns < high; ns++ {
		h.Record(time.Duration(ns))
		sum += float64(ns)
	}
	n := float64(high - low)
	return record.Laps{
		In: in, Kind: kind, Count: int64(n), OverheadNS: 20, OverheadPM: 2, MeanNS: sum / n,
		MinNS: float64(low), MaxNS: float64(high - 1), ElapsedNS: 1e9, Histogram: h.Encode(),
	}
}

// newSized is a record with n healthy processes that timed no batches.
func newSized(n int) *record.Record {
	rec := newRecord()
	for range n {
		add(rec)
	}
	return rec
}

func TestLapsAreMerged(t *testing.T) {
	rec := newSized(2)
	for i, p := range rec.Processes {
		p.Laps = []record.Laps{lapsLine(p.Process.In, record.LapCalls, 100*(i+1), 100*(i+2))}
	}
	r := Summarize(rec).Cases[0]
	l := r.Laps
	if l == nil || l.Count != 200 || l.MeanNS != 199.5 || l.Calls == nil || l.Service != nil || l.PerSecond != 0 {
		t.Fatalf("laps %+v", l)
	}
	if c := l.Calls; c.Min != 100 || c.Max != 299 || !stattest.Near(c.P50, 199, 0.01) || !stattest.Near(c.P99, 297, 0.01) {
		t.Errorf("percentiles %+v", c)
	}
	if o := l.OverheadNS; o.Estimate != 20 || o.Low != 18 || o.High != 22 {
		t.Errorf("overhead %+v", o)
	}
	if h, err := lap.Decode(l.Histogram); err != nil || h.Count() != 200 {
		t.Errorf("merged histogram: %v", err)
	}
	total := int64(0)
	for _, b := range r.Bins {
		total += b.Count
	}
	if total != 200 {
		t.Errorf("the bins hold %d laps, want 200", total)
	}
	if r.NSPerCall != nil || r.Processes != 2 || r.Steady != "" {
		t.Errorf("without batches there is no figure: %+v, %d processes, steady %q", r.NSPerCall, r.Processes, r.Steady)
	}
}

func TestYieldingLaps(t *testing.T) {
	rec := newSized(2)
	for _, p := range rec.Processes {
		p.Laps = []record.Laps{
			lapsLine(p.Process.In, record.LapService, 100, 200),
			lapsLine(p.Process.In, record.LapResponse, 150, 250),
		}
		p.Laps[1].Late = 5
	}
	l := Summarize(rec).Cases[0].Laps
	if l == nil || l.Calls != nil || l.Service == nil || l.Response == nil || l.Service.Min != 100 || l.Response.Min != 150 {
		t.Fatalf("laps %+v", l)
	}
	// Each process did 100 calls in a second, one process after the other.
	if l.Late != 10 || l.Count != 200 || l.PerSecond != 100 {
		t.Errorf("late %d, count %d, %v a second; want 10, 200, 100", l.Late, l.Count, l.PerSecond)
	}
}

func TestWorkersAddUp(t *testing.T) {
	rec := newSized(2)
	for i, p := range rec.Processes {
		p.Process.In = record.In{Process: 0, Worker: i}
		p.Laps = []record.Laps{lapsLine(p.Process.In, record.LapService, 100, 200)}
	}
	if l := Summarize(rec).Cases[0].Laps; l.PerSecond != 200 {
		t.Errorf("two workers at once did %v calls a second, want 200", l.PerSecond)
	}
}

func TestSpoiledHistogramIsLeftOut(t *testing.T) {
	rec := newSized(2)
	rec.Processes[0].Laps = []record.Laps{lapsLine(rec.Processes[0].Process.In, record.LapCalls, 100, 200)}
	rec.Processes[1].Laps = []record.Laps{{Kind: record.LapCalls, Count: 7, Histogram: "HISTFAAA"}}
	if l := Summarize(rec).Cases[0].Laps; l == nil || l.Count != 100 {
		t.Errorf("laps %+v, want those of the sound process", l)
	}
}
