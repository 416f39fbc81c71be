package estimate

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/stat/stattest"
)

func TestLocationVectors(t *testing.T) {
	var cases []struct {
		Name      string
		Xs        []float64
		Median    float64
		Quantiles map[string]float64
	}
	stattest.Vector(t, "location.json", &cases)
	for _, c := range cases {
		if got := Median(c.Xs); !stattest.Near(got, c.Median, 1e-12) {
			t.Errorf("%s: Median = %v, want %v", c.Name, got, c.Median)
		}
		for key, want := range c.Quantiles {
			p, err := strconv.ParseFloat(key, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := Quantile(c.Xs, p); !stattest.Near(got, want, 1e-12) {
				t.Errorf("%s: Quantile(%v) = %v, want %v", c.Name, p, got, want)
			}
		}
	}
}

func TestNothingHasNoLocation(t *testing.T) {
	for name, got := range map[string]float64{
		"Median": Median(nil), "Mean": Mean(nil), "Quantile": Quantile(nil, 0.9),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s of nothing = %v, want NaN", name, got)
		}
	}
}

var someFloats = rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 40)

func TestQuantileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := someFloats.Draw(t, "xs")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		shift := rapid.Float64Range(-1e3, 1e3).Draw(t, "shift")
		scale := rapid.Float64Range(0.1, 10).Draw(t, "scale")
		q := Quantile(xs, p)

		moved := make([]float64, len(xs))
		for i, x := range xs {
			moved[i] = scale*x + shift
		}
		if got := Quantile(moved, p); !stattest.Near(got, scale*q+shift, 1e-9) {
			t.Fatalf("not equivariant: %v, want %v", got, scale*q+shift)
		}
		if got := Quantile(rapid.Permutation(xs).Draw(t, "order"), p); got != q {
			t.Fatalf("depends on the order: %v and %v", q, got)
		}
		if higher := Quantile(xs, min(1, p+0.1)); higher < q {
			t.Fatalf("falls with p: %v, then %v", q, higher)
		}
	})
}
