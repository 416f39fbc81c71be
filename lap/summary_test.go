package lap_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/lap"
)

func repeated(pairs ...int64) *lap.Histogram {
	h := lap.NewHistogram()
	for i := 0; i < len(pairs); i += 2 {
		for range pairs[i+1] {
			h.Record(time.Duration(pairs[i]))
		}
	}
	return h
}

func TestSummaryText(t *testing.T) {
	h := repeated(310, 60, 330, 500, 450, 300, 470, 100, 520, 30, 740, 8, 295_000, 2)
	text := h.SummaryClamp(5, 300, 780).String()
	want := `  avg 977ns;  min 310ns;  p50 330ns;  max 295µs;
  p90 470ns;  p99 520ns;  p999 295µs;  p9999 295µs;
      300ns [560] ████████████████████████████████████████
      400ns [400] ████████████████████████████▌
      500ns [ 30] ██
      600ns [  0] 
      700ns+[ 10] ▌
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

// hrtime drew bars from minus 292 years on.
func TestSummaryOfEqualValues(t *testing.T) {
	for _, value := range []int64{0, 1, 90, 3_000_000} {
		s := repeated(value, 1000).Summary(10)
		if len(s.Bins) != 1 || s.Bins[0].Start > float64(value) || s.Bins[0].Count != 1000 || s.Bins[0].Width != 1 {
			t.Errorf("%d: %+v", value, s.Bins)
		}
	}
}

// hrtime printed 0s for 0.4 ns.
func TestFractionsOfANanosecondArePrinted(t *testing.T) {
	s := repeated(41, 100, 82, 100).Summary(3)
	s.Divide(100)
	if s.Average != 0.615 || !strings.Contains(s.String(), "min 0.41ns;  p50 0.41ns;  max 0.82ns") {
		t.Error(s)
	}
}

func TestEveryValueIsInABin(t *testing.T) {
	for _, h := range []*lap.Histogram{
		repeated(1, 1, 1_000_000_000, 1), repeated(1_000_000, 5, 1_000_400, 5, 1_000_900, 5), repeated(0, 3, 7, 9),
	} {
		for bins := 1; bins < 30; bins++ {
			s, total := h.Summary(bins), int64(0)
			for i, b := range s.Bins {
				total += b.Count
				if i > 0 && b.Start <= s.Bins[i-1].Start {
					t.Errorf("bins out of order: %+v", s.Bins)
				}
			}
			if total != h.Count() || len(s.Bins) > bins {
				t.Errorf("%d of %d values in %d bins", total, h.Count(), len(s.Bins))
			}
		}
	}
}

func TestSummaryOfNothing(t *testing.T) {
	if got := lap.NewHistogram().String(); got != "  no laps\n" {
		t.Errorf("%q", got)
	}
	for _, bins := range []int{0, -1, math.MinInt} {
		if s := repeated(1, 1).Summary(bins); len(s.Bins) != 0 {
			t.Errorf("%d: %+v", bins, s.Bins)
		}
	}
	for _, n := range []int{0, -1, 1} {
		s := repeated(8, 1).Summary(1)
		if s.Divide(n); s.Average != 8 || s.Bins[0].Start != 8 {
			t.Errorf("divided by %d: %+v", n, s)
		}
	}
	if s := repeated(1, 1).SummaryClamp(5, 100, 10); len(s.Bins) == 0 {
		t.Error("bounds in the wrong order lose the values")
	}
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	for _, c := range []struct {
		value int64
		want  string
	}{{999, "max 999ns"}, {9999, "max 10µs"}, {999_900, "max 1ms"}, {1_234_567, "max 1.23ms"}, {59_000_000_000, "max 59s"}, {3_599_000_000_000, "max 3599s"}} {
		if got := repeated(c.value, 1).String(); !strings.Contains(got, c.want+";") {
			t.Errorf("%d: %s", c.value, got)
		}
	}
}
