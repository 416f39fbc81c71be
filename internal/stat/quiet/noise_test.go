package quiet

import (
	"math"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// Two processes of a second, with a look each ms: a neighbour slows by half from 200 to 400 ms of the first, and from
// 900 ms of it to 100 ms of the second.
func TestNoiseOf(t *testing.T) {
	rec := &record.Record{Run: record.Run{Yardsticks: map[string]float64{"core": 1000}}}
	for process, busy := range [][][2]int{{{200, 400}, {900, 1001}}, {{-1, 100}}} {
		b := record.Batches{Kind: record.Measure}
		core := []float64{}
		for ms := range 1001 {
			level := 1000.0
			for _, s := range busy {
				if ms >= s[0] && ms < s[1] {
					level = 1500
				}
			}
			core = append(core, level)
			if ms > 0 {
				b.NS, b.Calls = append(b.NS, 1e6), append(b.Calls, 1)
			}
		}
		b.Yardsticks = map[string][]float64{"core": core}
		rec.Processes = append(rec.Processes, &record.ProcessRecord{
			Batches: []record.Batches{b}, Exit: &record.Exit{Process: process, ElapsedNS: 1e9},
		})
	}
	n, ok := NoiseOf(rec, 10)
	if !ok || n.Timings != 2000 || math.Abs(n.NS-2e9) > 2e6 || math.Abs(n.Share-0.8) > 0.005 {
		t.Errorf("%t, %+v", ok, n)
	}
	if len(n.Stretches) != 2 || slices.ContainsFunc(n.Stretches, func(ns float64) bool { return math.Abs(ns-200e6) > 3e6 }) {
		t.Errorf("stretches %v, want two of 200 ms", n.Stretches)
	}
	if n.SlowerLow != 0.5 || n.SlowerHigh != 0.5 {
		t.Errorf("slower by %g to %g", n.SlowerLow, n.SlowerHigh)
	}
	for i, want := range []float64{0, 1, 0, 0, 0.5, 0.5, 0, 0, 0, 0} {
		if math.Abs(n.Course[i]-want) > 0.01 {
			t.Errorf("part %d: %g, want %g", i, n.Course[i], want)
		}
	}
	if _, ok := NoiseOf(&record.Record{}, 10); ok {
		t.Error("noise of nothing")
	}
}
