package lapplot

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/lap"
)

// TestQuantileOfSamples is nearest rank, by its definition.
func TestQuantileOfSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-10, 1e9), 1, 200).Draw(t, "values")
		d := ofSamples(values)
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		sorted := slices.Sorted(slices.Values(values))
		rank := max(1, (percent*len(values)+99)/100)
		if got := d.quantile(float64(percent) / 100); got != sorted[rank-1] {
			t.Fatalf("%d %% is %v, want %v", percent, got, sorted[rank-1])
		}
	})
}

// TestPercentileCurve rises from the shortest lap to the longest and agrees with the
// histogram in between.
func TestPercentileCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLaps("a")
		h := lap.NewHistogram()
		for _, d := range rapid.SliceOfN(rapid.Int64Range(0, 1e10), 1, 300).Draw(t, "laps") {
			l.Add(time.Duration(d))
			h.Record(time.Duration(d))
		}
		points := Percentiles(l).Series[0].Points
		first, last := points[0], points[len(points)-1]
		if first.X != 1 || first.Y != float64(h.Min()) || last.X != 2*float64(h.Count()) || last.Y != float64(h.Max()) {
			t.Fatalf("the curve goes from %+v to %+v; the laps from %v to %v", first, last, h.Min(), h.Max())
		}
		for i, p := range points[1:] {
			if p.Y < points[i].Y || p.X <= points[i].X {
				t.Fatalf("the curve falls from %+v to %+v", points[i], p)
			}
		}
		for _, p := range points[1 : len(points)-1] {
			if want := float64(h.Percentile(100 - 100/p.X)); math.Abs(p.Y-want) > 1e-3*want+1 {
				t.Fatalf("at %v it is %v, the histogram says %v", p.X, p.Y, want)
			}
		}
	})
}

// TestDensityAddsUp: the bins and what the notes say lies beyond are all laps.
func TestDensityAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]float64{0.3, 25, 1e3, 2e6, 1e10}).Draw(t, "base")
		spread := rapid.SampledFrom([]float64{0, 1e-6, 0.1, 3, 1e4}).Draw(t, "spread")
		samples := make([]float64, rapid.IntRange(1, 400).Draw(t, "n"))
		for i := range samples {
			samples[i] = base * (1 + spread*rapid.Float64Range(0, 1).Draw(t, "x"))
		}
		l := FromSamples("a", samples)
		if rapid.Bool().Draw(t, "histogram") {
			l = NewLaps("a")
			for _, x := range samples {
				l.Add(time.Duration(x))
			}
		}
		c := Density(l)
		points := c.Series[0].Points
		sum := 0.0
		for i, p := range points {
			sum += p.Y
			if i > 0 && p.X <= points[i-1].X {
				t.Fatalf("bins are not in order: %v after %v", p.X, points[i-1].X)
			}
		}
		d := l.distribution()
		beyond := d.above(points[len(points)-1].X)
		if math.Abs(sum+beyond-1) > 0.01 || beyond > 0.11 {
			t.Fatalf("%v are in the bins, %v beyond", sum, beyond)
		}
		if (beyond > 0) != (len(c.Notes) == 1) {
			t.Fatalf("%v lie beyond, the notes say %q", beyond, c.Notes)
		}
		if len(points) > 2*mostBins {
			t.Fatalf("%d bins", len(points))
		}
	})
}

// TestDensityOfRoundTimes: times in steps of a tenth, evenly spread, fill bins evenly.
func TestDensityOfRoundTimes(t *testing.T) {
	var samples []float64
	for i := range 100000 {
		samples = append(samples, float64(1000+i%200)/10) // 100.0 … 119.9
	}
	points := Density(FromSamples("a", samples)).Series[0].Points
	for _, p := range points[1 : len(points)-2] {
		if math.Abs(p.Y/points[0].Y-1) > 0.2 {
			t.Fatalf("a share of %v at %v, of %v at %v", points[0].Y, points[0].X, p.Y, p.X)
		}
	}
}

func TestScaleFollowsValues(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    Scale
	}{
		{[]float64{40, 60, 100}, Linear},
		{[]float64{40, 60, 1e6}, Log},
		{[]float64{-40, 0}, Linear},
		{[]float64{0, 40, 1e6}, Log},
	} {
		if got := Timeline(FromSamples("a", c.samples)).Y.Scale; got != c.want {
			t.Errorf("%v are on scale %v, want %v", c.samples, got, c.want)
		}
	}
}

// TestOddLaps: what is not drawn as it is, is reported.
func TestOddLaps(t *testing.T) {
	negative := NewLaps("clock set back")
	negative.Add(-5)
	negative.Add(30)
	empty := NewLaps("none")
	unordered := FromHistogram("counted", negative.histogram)
	odd := FromSamples("odd", []float64{1, math.NaN(), math.Inf(1), 2})
	laps := []*Laps{negative, empty, unordered, odd}
	if diff := cmp.Diff([]string{
		"none: no laps", "counted: the order of its laps is not known",
		"odd: 2 values that are no finite number are left out",
	}, Timeline(laps...).Notes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"clock set back: 1 negative times count as 0", "none: no laps",
		"odd: 2 values that are no finite number are left out",
	}, Percentiles(laps[0], laps[1], laps[3]).Notes); diff != "" {
		t.Error(diff)
	}
	low := Timeline(negative).Series[0].Points[0].Low
	if low != -5 {
		t.Errorf("the timeline begins at %v, the lap was -5 ns", low)
	}
	if n := odd.Count(); n != 2 {
		t.Errorf("%d laps count, want 2", n)
	}
}

func TestRatioInWords(t *testing.T) {
	for want, r := range map[string]Ratio{
		"new takes 1.031 times (1.024–1.038) as long as old: slower":                {"old", "new", 1.031, 1.024, 1.038, "slower"},
		"new takes 0.9 times as long as old":                                        {"old", "new", 0.9, 0.9, 0.9, ""},
		"old and new: undecided":                                                    {"old", "new", 0, 0, 0, "undecided"},
		"old and new: no ratio":                                                     {"old", "new", math.NaN(), 0, 0, ""},
		"new takes 1 times (0.9995–1.001) as long as old: no measurable difference": {"old", "new", 1, 0.9995, 1.001, "no measurable difference"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	texts := func(ticks []tick) string {
		var s []string
		for _, t := range ticks {
			s = append(s, t.text)
		}
		return strings.Join(s, "|")
	}
	for _, c := range []struct {
		axis Axis
		span span
		most int
		want string
	}{
		{Axis{Unit: Time}, span{0, 100}, 5, "0 ns|20 ns|40 ns|60 ns|80 ns|100 ns"},
		{Axis{Unit: Time}, span{0, 2e6}, 4, "0.0 ms|0.5 ms|1.0 ms|1.5 ms|2.0 ms"},
		{Axis{Unit: Time}, span{1000.1, 1000.4}, 3, "1.0001 µs|1.0002 µs|1.0003 µs|1.0004 µs"},
		{Axis{Unit: Time}, span{-3, 3}, 3, "−2 ns|0 ns|2 ns"},
		{Axis{Unit: Time, Scale: Log}, span{5, 2e9}, 9, "10 ns|100 ns|1 µs|10 µs|100 µs|1 ms|10 ms|100 ms|1 s"},
		{Axis{Unit: Time, Scale: Log}, span{5, 300}, 6, "5 ns|10 ns|20 ns|50 ns|100 ns|200 ns"},
		{Axis{Unit: Time, Scale: Log}, span{20, 40}, 4, "20 ns|25 ns|30 ns|35 ns|40 ns"},
		{Axis{Scale: Tail}, span{1, 2e3}, 10, "0 %|50 %|75 %|90 %|95 %|99 %|99.5 %|99.9 %|99.95 %"},
		{Axis{Scale: Tail}, span{1, 2e5}, 3, "0 %|99 %|99.99 %"},
		{Axis{Scale: Tail}, span{1, 2e8}, 10, "0 %|90 %|99 %|99.9 %|99.99 %|99.999 %|99.9999 %|99.99999 %|99.999999 %"},
		{Axis{Unit: Share}, span{0, 0.25}, 5, "0 %|5 %|10 %|15 %|20 %|25 %"},
		{Axis{Unit: Times}, span{0.95, 1.1}, 3, "0.95×|1.00×|1.05×|1.10×"},
		{Axis{Labels: []string{"a", "b", "c", "d", "e"}}, span{-0.5, 4.5}, 3, "a|c|e"},
		{Axis{Unit: Number}, span{0, 1e6}, 2, "0.0M|0.5M|1.0M"},
		{Axis{Unit: Bytes}, span{0, 48}, 3, "0 B|20 B|40 B"},
	} {
		if got := texts(c.axis.ticks(c.span, c.most)); got != c.want {
			t.Errorf("%+v of %+v: %s, want %s", c.span, c.axis, got, c.want)
		}
	}
}

// TestSpans: an axis always has a length, whatever the values.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, math.MaxFloat64, -math.MaxFloat64, math.NaN(), math.Inf(1)}))
		samples := rapid.SliceOfN(value, 1, 20).Draw(t, "samples")
		scale := rapid.SampledFrom([]Scale{Linear, Log}).Draw(t, "scale")
		c := Timeline(FromSamples("a", samples))
		c.Y.Scale = scale
		x, y := c.spans()
		for _, s := range []span{x, y} {
			if !(s.low < s.high) || math.IsInf(s.low, 0) || math.IsInf(s.high, 0) {
				t.Fatalf("an axis from %v to %v", s.low, s.high)
			}
		}
		for _, v := range samples {
			if at := c.Y.place(y, v); finite(v) && !(at >= 0 && at <= 1) {
				t.Fatalf("%v lies at %v", v, at)
			}
		}
		if n := len(c.Y.ticks(y, 6)); n > 40 {
			t.Fatalf("%d ticks", n)
		}
	})
}
