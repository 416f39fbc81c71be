package estimate

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestMedianIntervalVectors(t *testing.T) {
	var cases []struct {
		Name                string
		Xs                  []float64
		Level               float64
		Interpolated, Outer [2]float64
	}
	stattest.Vector(t, "median_interval.json", &cases)
	for _, c := range cases {
		got, warnings := MedianInterval(c.Xs, c.Level)
		if len(warnings) > 0 {
			t.Errorf("%s at %v: %v", c.Name, c.Level, warnings)
		}
		if !stattest.Near(got.Low, c.Interpolated[0], 1e-9) || !stattest.Near(got.High, c.Interpolated[1], 1e-9) {
			t.Errorf("%s at %v: %v…%v, want %v", c.Name, c.Level, got.Low, got.High, c.Interpolated)
		}
		if got.Low < c.Outer[0] || got.High > c.Outer[1] {
			t.Errorf("%s at %v: %v…%v reaches beyond the uninterpolated %v", c.Name, c.Level, got.Low, got.High, c.Outer)
		}
	}
}

// Exact coverages from the binomial distribution.
func TestSignCoverage(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want float64
	}{
		{2, 1, 0.5}, {5, 1, 0.9375}, {6, 1, 0.96875}, {8, 1, 0.9921875},
		{10, 2, 1002.0 / 1024}, {10, 3, 912.0 / 1024}, {7, 4, 0},
	} {
		if got := signCoverage(c.n, c.k); !stattest.Near(got, c.want, 1e-12) {
			t.Errorf("signCoverage(%d, %d) = %v, want %v", c.n, c.k, got, c.want)
		}
	}
}

func TestMedianIntervalOfFew(t *testing.T) {
	if LeastForMedian(0.95) != 6 || LeastForMedian(0.99) != 8 || LeastForMedian(0.5) != 2 {
		t.Errorf("LeastForMedian = %d, %d, %d; want 6, 8, 2",
			LeastForMedian(0.95), LeastForMedian(0.99), LeastForMedian(0.5))
	}
	for n := range 7 {
		xs := []float64{5, 1, 4, 2, 3, 6}[:n]
		iv, warnings := MedianInterval(xs, 0.95)
		if n < 6 {
			if len(warnings) != 1 || warnings[0].Code != "few_processes" || warnings[0].Advice == "" {
				t.Errorf("%d values: warnings %v, want few_processes", n, warnings)
			}
			if s := Sorted(xs); n > 0 && (iv.Low != s[0] || iv.High != s[n-1]) {
				t.Errorf("%d values: %v, want all of their range", n, iv)
			}
		} else if len(warnings) > 0 {
			t.Errorf("%d values: %v", n, warnings)
		}
	}
}

func TestMedianIntervalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := someFloats.Draw(t, "xs")
		level := rapid.Float64Range(0.01, 0.999).Draw(t, "level")
		wider := level + rapid.Float64Range(0, 0.9995-level).Draw(t, "more")
		iv, _ := MedianInterval(xs, level)
		if iv.Low > iv.Estimate || iv.Estimate > iv.High {
			t.Fatalf("%+v does not contain its estimate", iv)
		}
		if w, _ := MedianInterval(xs, wider); w.Low > iv.Low+1e-9 || w.High < iv.High-1e-9 {
			t.Fatalf("at %v %+v, at %v %+v: not monotone", level, iv, wider, w)
		}
		if p, _ := MedianInterval(rapid.Permutation(xs).Draw(t, "order"), level); p != iv {
			t.Fatalf("depends on the order: %+v and %+v", iv, p)
		}
		shift := rapid.Float64Range(-100, 100).Draw(t, "shift")
		moved := make([]float64, len(xs))
		for i, x := range xs {
			moved[i] = x + shift
		}
		want := record.Interval{Estimate: iv.Estimate + shift, Low: iv.Low + shift, High: iv.High + shift}
		if m, _ := MedianInterval(moved, level); !stattest.Near(m.Low, want.Low, 1e-9) || !stattest.Near(m.High, want.High, 1e-9) {
			t.Fatalf("not equivariant: %+v, want %+v", m, want)
		}
	})
}

// Found by bisecting sums of binomial coefficients.
func TestShareIsClopperAndPearson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{0, 10, 0, 0.3084971}, {10, 10, 0.6915029, 1}, {3, 60, 0.01043233, 0.1392432}, {8, 168, 0.02077982, 0.09167017}} {
		got := Share(c.k, c.n)
		if !stattest.Near(got.Low, c.low, 1e-7) || !stattest.Near(got.High, c.high, 1e-7) {
			t.Errorf("%d of %d: %+v, want %g to %g", c.k, c.n, got, c.low, c.high)
		}
	}
	if got := Share(0, 0); got.Low != 0 || got.High != 1 {
		t.Errorf("nothing: %+v", got)
	}
	// Of large numbers it is another formula, which agrees.
	for _, n := range []int{40_002, 100_000} {
		k := n / 2
		exact, other := Share(20_000, n), wilson(20_000, float64(n))
		if width := exact.High - exact.Low; !stattest.Near(exact.Low, other.Low, width/100) || !stattest.Near(exact.High, other.High, width/100) {
			t.Errorf("20000 of %d: %+v or %+v", n, exact, other)
		}
		if got := Share(k, n); got.Low >= 0.5 || got.High <= 0.5 || got.High-got.Low > 0.01 {
			t.Errorf("%d of %d: %+v", k, n, got)
		}
	}
	if got := Share(333_333_333_333, 1e12); !stattest.Near(got.High-got.Low, 2*1.96*math.Sqrt(2.0/9/1e12), 1e-8) || got.Low > got.Estimate || got.High < got.Estimate {
		t.Errorf("a third of 1e12: %+v", got)
	}
}

// TestMeanInterval holds the interval to a table of Student's t.
func TestMeanInterval(t *testing.T) {
	iv := MeanInterval([]float64{1, 2, 3})
	if want := 4.3027 / math.Sqrt(3); math.Abs(iv.High-2-want) > 1e-3 || math.Abs(2-iv.Low-want) > 1e-3 || iv.Estimate != 2 {
		t.Errorf("of 1, 2, 3: %+v, want 2 ± %v", iv, want)
	}
	if iv := MeanInterval([]float64{5}); iv.Low != 5 || iv.High != 5 {
		t.Errorf("of one value: %+v", iv)
	}
}
