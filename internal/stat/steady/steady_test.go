package steady

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// level is n batches that alternate within 1 % of ns.
func level(n int, ns float64) []Batch {
	batches := make([]Batch, n)
	for i := range batches {
		batches[i].NS = ns * (1 + 0.002*float64((i*7)%5))
	}
	return batches
}

func join(parts ...[]Batch) []Batch {
	var all []Batch
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func warmup(batches []Batch) []Batch {
	for i := range batches {
		batches[i].Warmup = true
	}
	return batches
}

func traced(batches []Batch) []Batch {
	for i := range batches {
		batches[i].Traced = true
	}
	return batches
}

func TestFindSteady(t *testing.T) {
	for _, c := range []struct {
		name    string
		batches []Batch
		want    Steadiness
	}{
		{"nothing", nil, Steadiness{Class: record.SteadyFlat, TooFew: true}},
		{"too few", level(10, 5), Steadiness{Class: record.SteadyFlat, TooFew: true}},
		{"all equal", make([]Batch, 100), Steadiness{Class: record.SteadyFlat}},
		{"one level", level(100, 5), Steadiness{Class: record.SteadyFlat}},
		{"a slow start", join(level(20, 9), level(100, 5)), Steadiness{Class: record.SteadyWarmup, From: 20}},
		{"a fast start", join(level(20, 4), level(100, 5)), Steadiness{Class: record.SteadySlowdown, From: 20}},
		{"both", join(level(20, 9), level(20, 4), level(100, 5)), Steadiness{Class: record.SteadySlowdown, From: 40}},
		{"a short hump", join(level(100, 5), level(20, 7), level(80, 5)),
			Steadiness{Class: record.SteadyFlat, Excursions: [][2]int{{100, 120}}}},
		{"a hump at the end", join(level(190, 5), level(8, 7)),
			Steadiness{Class: record.SteadyFlat, Excursions: [][2]int{{190, 198}}}},
		{"a dip is no disturbance", join(level(150, 5), level(20, 4), level(30, 5)),
			Steadiness{Class: record.SteadyNone, From: 170}},
		{"a late change", join(level(160, 5), level(40, 6)), Steadiness{Class: record.SteadyNone, From: 160}},
		{"a late end of the warm-up is no late change",
			join(warmup(level(160, 9)), warmup(level(10, 5)), level(60, 5)),
			Steadiness{Class: record.SteadyWarmup, From: 160}},
		{"a warm-up of two batches", join(traced(level(2, 90)), level(60, 5)),
			Steadiness{Class: record.SteadyWarmup, From: 2}},
		{"slow batches with traces do not move the level", join(level(50, 5), traced(level(20, 9)), level(50, 5)),
			Steadiness{Class: record.SteadyFlat}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The batch at a border may fall to either side.
			near := cmp.Comparer(func(a, b int) bool { return a-b <= 1 && b-a <= 1 })
			if diff := cmp.Diff(c.want, FindSteady(c.batches), near); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// inSeries cuts measured batches into five series of equal length.
func inSeries(all []Batch) []Batch {
	for i := range all {
		all[i].Series = 1 + 5*i/len(all)
	}
	return all
}

// ramp is n batches from one time to another.
func ramp(n int, from, to float64) []Batch {
	batches := level(n, 1)
	for i := range batches {
		batches[i].NS *= from + (to-from)*stattest.U(i, n)
	}
	return batches
}

func TestFindSteadyOverSeries(t *testing.T) {
	for _, c := range []struct {
		name    string
		batches []Batch
		want    string
		counts  int // at least N batches of the 500
	}{
		{"one level", level(500, 5), record.SteadyFlat, 500},
		{"each series at a level of its own", join(level(100, 5), level(100, 5.4), level(100, 4.9), level(100, 5.3), level(100, 5.1)),
			record.SteadyFlat, 500},
		{"each series begins slowly", join(level(40, 6), level(60, 5), level(40, 6), level(60, 5), level(40, 6), level(60, 5),
			level(40, 6), level(60, 5), level(40, 6), level(60, 5)), record.SteadyFlat, 280},
		{"a hump over the border of two series", join(level(370, 5), level(60, 8), level(70, 5)), record.SteadyFlat, 430},
		{"a fall inside the second series", join(level(150, 6), level(350, 5)), record.SteadyWarmup, 340},
		{"a late rise inside the fourth series", join(level(345, 5), level(155, 5.6)), record.SteadyNone, 500},
		{"a late fall inside the last series", join(level(460, 5.6), level(40, 5)), record.SteadyNone, 0},
		{"a large step before the last series", join(level(400, 5), level(100, 8)), record.SteadyNone, 0},
		{"a large step before the third series", join(level(200, 5), level(300, 8)), record.SteadySlowdown, 300},
		{"drift over all series", ramp(500, 5, 6), record.SteadyNone, 0},
		{"drift down over all series", ramp(500, 6, 5), record.SteadyNone, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := FindSteady(inSeries(c.batches))
			if s.Class != c.want {
				t.Fatalf("%+v, want %s", s, c.want)
			}
			counts := 0
			for i := range c.batches {
				if s.Counts(i) {
					counts++
				}
			}
			if c.want != record.SteadyNone && (counts < c.counts-5 || counts > c.counts+20) {
				t.Errorf("%d batches count, want about %d: %+v", counts, c.counts, s)
			}
		})
	}
}

func TestSteadinessCounts(t *testing.T) {
	s := Steadiness{From: 2, Excursions: [][2]int{{4, 6}}}
	var counts []int
	for i := range 8 {
		if s.Counts(i) {
			counts = append(counts, i)
		}
	}
	if diff := cmp.Diff([]int{2, 3, 6, 7}, counts); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkFindSteady(b *testing.B) {
	batches := level(5000, 5)
	for b.Loop() {
		FindSteady(batches)
	}
}
