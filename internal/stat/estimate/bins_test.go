package estimate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestBinsOf(t *testing.T) {
	even := stattest.Each(1000, func(i int) float64 { return 100 + float64(i)/100 })
	for _, c := range []struct {
		name   string
		values []float64
		bins   int
		first  record.Bin
		last   record.Bin
	}{
		{"even", even, 20, record.Bin{Low: 100, High: 100.5, Count: 50}, record.Bin{Low: 109.5, High: 110, Count: 50}},
		{"one far value", append(stattest.Each(4000, func(i int) float64 { return even[i/4] }), 1e6), 21,
			record.Bin{Low: 100, High: 100.5, Count: 200}, record.Bin{Low: 110, High: 1e6, Count: 1}},
		{"all equal", []float64{5, 5, 5}, 1, record.Bin{Low: 5, High: 5.05, Count: 3}, record.Bin{Low: 5, High: 5.05, Count: 3}},
		{"below zero", []float64{-1, -0.5, 0, 0.5, 1}, 21, record.Bin{Low: -1, High: -0.9, Count: 1}, record.Bin{Low: 1, High: 1.1, Count: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bins := BinsOf(c.values)
			if len(bins) != c.bins {
				t.Fatalf("%d bins, want %d: %v", len(bins), c.bins, bins)
			}
			close := cmp.Comparer(func(a, b float64) bool { return stattest.Near(a, b, 1e-9) })
			if diff := cmp.Diff([]record.Bin{c.first, c.last}, []record.Bin{bins[0], bins[len(bins)-1]}, close); diff != "" {
				t.Error(diff)
			}
		})
	}
	if bins := BinsOf(nil); len(bins) != 0 {
		t.Errorf("bins of nothing: %v", bins)
	}
}

func TestBinsHoldEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := someFloats.Draw(t, "values")
		bins := BinsOf(values)
		total := int64(0)
		for i, b := range bins {
			total += b.Count
			if b.High < b.Low || i > 0 && !stattest.Near(b.Low, bins[i-1].High, 1e-6) {
				t.Fatalf("bin %d: %+v after %+v", i, b, bins[max(i-1, 0)])
			}
		}
		if total != int64(len(values)) || len(bins) > 40 {
			t.Fatalf("%d bins hold %d of %d values", len(bins), total, len(values))
		}
	})
}
