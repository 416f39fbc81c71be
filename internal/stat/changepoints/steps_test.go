package changepoints

import (
	"math"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// figures makes a series with intervals of ± share.
func figures(share float64, values ...float64) []Figure {
	s := make([]Figure, len(values))
	for i, v := range values {
		s[i].Interval = record.Interval{Estimate: v, Low: v * (1 - share), High: v * (1 + share)}
	}
	return s
}

// slowed notes of runs that the machine slowed them.
func slowed(series []Figure, by float64, runs ...int) []Figure {
	for _, i := range runs {
		series[i].Slowed = by
	}
	return series
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name   string
		series []Figure
		at     []int
	}{
		{"a step", figures(0.005, 100, 101, 100, 110, 111, 110), []int{3}},
		{"up and down again", figures(0.005, 100, 101, 100, 120, 119, 120, 90, 91, 90), []int{3, 6}},
		{"intervals that hold it", figures(0.20, 100, 101, 100, 110, 111, 110), nil},
		{"one run alone", figures(0.005, 100, 101, 100, 130, 100, 101, 100), nil},
		{"below what matters", figures(0.0001, 100, 100, 100, 100.5, 100.5, 100.5), nil},
		{"too short", figures(0.005, 100, 100, 200, 200, 200), nil},
		{"all equal", figures(0, 100, 100, 100, 100, 100, 100), nil},
		{"at zero", figures(0.005, 100, 100, 100, 0, 0, 0), nil},
		{"unbounded", append(figures(0.005, 100, 101, 100, 110, 111), Figure{Interval: record.Interval{Estimate: 1, Low: 1, High: math.Inf(1)}}), nil},
		{"on a machine slower by half", slowed(figures(0.005, 100, 101, 100, 130, 131, 130), 0.5, 3, 4, 5), nil},
		{"more than that explains", slowed(figures(0.005, 100, 101, 100, 300, 302, 301), 0.5, 3, 4, 5), []int{3}},
		{"before a slower time", slowed(figures(0.005, 100, 101, 100, 130, 131, 130, 150, 140), 0.5, 6, 7), []int{3}},
		{"none", nil, nil},
	} {
		steps := Steps(c.series)
		if steps == nil || len(steps) != len(c.at) {
			t.Errorf("%s: %v", c.name, steps)
			continue
		}
		for i, s := range steps {
			if s.At != c.at[i] {
				t.Errorf("%s: a step at %d, not %d", c.name, s.At, c.at[i])
			}
			if i > 0 && s.Before != steps[i-1].After || math.Abs(s.After/s.Before/s.Ratio.Estimate-1) > 1e-9 ||
				math.Abs(s.After/c.series[s.At].Estimate-1) > 0.02 {
				t.Errorf("%s: from level %v to %v is not %v", c.name, s.Before, s.After, s.Ratio.Estimate)
			}
			want := c.series[s.At+1].Estimate / c.series[s.At-1].Estimate
			if !(s.Ratio.Low <= want && want <= s.Ratio.High && s.Ratio.Low < s.Ratio.Estimate) {
				t.Errorf("%s: the ratio %v does not hold %.3f", c.name, s.Ratio, want)
			}
		}
	}
}
