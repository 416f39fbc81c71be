package estimate

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestRatioIntervalVectors(t *testing.T) {
	var cases []struct {
		A, B                       []float64
		Level, Estimate, Low, High float64
	}
	stattest.Vector(t, "ratio.json", &cases)
	for _, c := range cases {
		got, warnings, err := RatioInterval(c.A, c.B, c.Level)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%d and %d: %v %v", len(c.A), len(c.B), warnings, err)
		}
		if !stattest.Near(got.Estimate, c.Estimate, 1e-9) || !stattest.Near(got.Low, c.Low, 1e-9) || !stattest.Near(got.High, c.High, 1e-9) {
			t.Errorf("%d and %d at %v: %+v, want %v (%v…%v)", len(c.A), len(c.B), c.Level, got, c.Estimate, c.Low, c.High)
		}
	}
}

// Critical values of Hollander & Wolfe's tables: the largest number of differences
// to leave out at each end.
func TestMannWhitneyRank(t *testing.T) {
	for _, c := range []struct{ n, m, want int }{
		{3, 3, 0}, {4, 4, 1}, {5, 5, 3}, {6, 6, 6}, {8, 8, 14}, {10, 10, 24}, {20, 20, 128}, {5, 10, 9},
	} {
		if got := mannWhitneyRank(c.n, c.m, 0.95); got != c.want {
			t.Errorf("mannWhitneyRank(%d, %d) = %d, want %d", c.n, c.m, got, c.want)
		}
	}
	exact, approximate := mannWhitneyRank(50, 50, 0.95), mannWhitneyRank(51, 50, 0.95)
	if approximate < exact || approximate > exact+35 {
		t.Errorf("from exact to approximate: %d, then %d", exact, approximate)
	}
}

func TestRatioIntervalEdges(t *testing.T) {
	if _, _, err := RatioInterval(nil, []float64{1}, 0.95); !errors.Is(err, ErrNoSamples) {
		t.Errorf("without samples: %v", err)
	}
	if _, _, err := RatioInterval([]float64{1}, []float64{0}, 0.95); !errors.Is(err, ErrNotPositive) {
		t.Errorf("with a zero: %v", err)
	}
	same := []float64{5, 5, 5, 5, 5, 5, 5, 5}
	if iv, warnings, err := RatioInterval(same, same, 0.95); err != nil || len(warnings) > 0 || iv.Low != 1 || iv.High != 1 {
		t.Errorf("all samples equal: %+v %v %v", iv, warnings, err)
	}
	iv, warnings, err := RatioInterval([]float64{1, 2, 3}, []float64{2, 4, 6}, 0.95)
	if err != nil || len(warnings) != 1 || warnings[0].Code != "few_processes" {
		t.Errorf("three a side: %v %v, want few_processes", warnings, err)
	}
	if !stattest.Near(iv.Low, 2.0/3, 1e-12) || !stattest.Near(iv.High, 6, 1e-12) {
		t.Errorf("three a side: %+v, want the whole range", iv)
	}
}

func TestRatioIntervalProperties(t *testing.T) {
	positive := rapid.SliceOfN(rapid.Float64Range(0.1, 1e4), 1, 15)
	rapid.Check(t, func(t *rapid.T) {
		a, b := positive.Draw(t, "a"), positive.Draw(t, "b")
		iv, _, err := RatioInterval(a, b, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if iv.Low > iv.Estimate*(1+1e-12) || iv.Estimate > iv.High*(1+1e-12) {
			t.Fatalf("%+v does not contain its estimate", iv)
		}
		if wide, _, _ := RatioInterval(a, b, 0.99); wide.Low > iv.Low || wide.High < iv.High {
			t.Fatalf("at 90 %% %+v, at 99 %% %+v", iv, wide)
		}
		swapped, _, _ := RatioInterval(b, a, 0.9)
		if !stattest.Near(swapped.Estimate, 1/iv.Estimate, 1e-9) || !stattest.Near(swapped.Low, 1/iv.High, 1e-9) {
			t.Fatalf("a/b %+v is not the inverse of b/a %+v", swapped, iv)
		}
		c := rapid.Float64Range(0.5, 2).Draw(t, "c")
		for i := range b {
			b[i] *= c
		}
		if scaled, _, _ := RatioInterval(a, b, 0.9); !stattest.Near(scaled.Estimate, c*iv.Estimate, 1e-9) {
			t.Fatalf("%+v times %v gave %+v", iv, c, scaled)
		}
	})
}
