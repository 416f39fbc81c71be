package stat

import (
	"math"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestLocate(t *testing.T) {
	rec := newRecord()
	measure := batches(record.Measure, stattest.Around(50, 21)...)
	for i := range 5 { // disturbed, and marked so
		measure.NS[10*i] *= 3
	}
	measure.Switches = marks(50, 10)
	p := add(rec, batches(record.Warmup, stattest.Around(30, 40)...), measure, batches(record.Empty, stattest.Around(20, 1)...))
	l := locate(p, nil)
	if !stattest.Near(l.NS, 20, 0.005) || !stattest.Near(l.EmptyNS, 1, 0.005) || len(l.Samples) != 45 || l.Polluted {
		t.Errorf("%v ns less %v, from %d batches, polluted %v", l.NS, l.EmptyNS, len(l.Samples), l.Polluted)
	}
	if l.MinNS > l.FloorNS || l.FloorNS > l.NS || !(l.PM > 0) || l.PM > 0.2 || !math.IsNaN(l.GCShare) {
		t.Errorf("min %v, floor %v, ± %v, GC %v", l.MinNS, l.FloorNS, l.PM, l.GCShare)
	}
	if l.Steadiness.Class != record.SteadyWarmup || l.Batches.Measured != 50 || l.Batches.Switched != 5 {
		t.Errorf("%+v %+v", l.Steadiness, l.Batches)
	}
	if ns, disturbed, ok := Location(p, nil); !ok || disturbed || ns != l.NS {
		t.Errorf("Location = %v, %v", ns, ok)
	}
}

// The twin's own uncertainty is part of the process's.
func TestTwinsUncertaintyCounts(t *testing.T) {
	pm := func(twin ...float64) float64 {
		return locate(add(newRecord(), batches(record.Measure, stattest.Around(40, 21)...), batches(record.Empty, twin...)), nil).PM
	}
	if sharp, vague := pm(stattest.Around(20, 1)...), pm(0.5, 0.7, 0.9, 1, 1, 1.1, 1.3, 1.5); vague < 2*sharp {
		t.Errorf("± %v with a sharp twin, ± %v with a vague one", sharp, vague)
	}
}

// Series that differ make a process's location less certain than its batches tell.
func TestSeriesCountAsDraws(t *testing.T) {
	pm := func(levels ...float64) float64 {
		var lines []record.Batches
		for i, ns := range levels {
			l := batches(record.Measure, stattest.Around(40, ns)...)
			l.Series = i + 1
			lines = append(lines, l)
		}
		return locate(add(newRecord(), lines...), nil).PM
	}
	if same, drawn := pm(20, 20, 20, 20, 20), pm(20, 21, 19, 20.5, 19.5); drawn < 10*same || drawn < 0.3 {
		t.Errorf("± %v where series agree, ± %v where they don't", same, drawn)
	}
}

func TestFallBackWhenAllIsPolluted(t *testing.T) {
	measure := batches(record.Measure, stattest.Around(40, 21)...)
	measure.Switches = marks(40, 1)
	l := locate(add(newRecord(), measure), nil)
	if !l.Polluted || len(l.Samples) != 40 || l.HasTwin || !stattest.Near(l.NS, 21, 0.01) {
		t.Errorf("polluted %v, %d batches, twin %v, %v ns", l.Polluted, len(l.Samples), l.HasTwin, l.NS)
	}
}

func TestPrecision(t *testing.T) {
	if p := Precision(stattest.Around(5, 20)); !math.IsInf(p, 1) {
		t.Errorf("five processes: %v, want no precision yet", p)
	}
	if p := Precision(stattest.Around(12, 20)); !(p > 0) || p > 0.01 {
		t.Errorf("twelve tight processes: %v", p)
	}
	if p := Precision(append(stattest.Around(14, 6.3), stattest.Around(4, 8.8)...)); p > 0.01 {
		t.Errorf("two modes: %v, want that of the larger", p)
	}
	if p := Precision(stattest.Each(12, func(i int) float64 { return 0.01 * float64(i%3-1) })); p > 0.02 {
		t.Errorf("around zero: %v, want it relative to 1 ns", p)
	}
}
