package lapplot

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestColumnsKeepExtremes: whatever the points, each column says what its stretch of X
// holds at the least and at the most, and there are no more columns than asked for.
func TestColumnsKeepExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ys := rapid.SliceOfN(rapid.Float64Range(-1e18, 1e18), 1, 400).Draw(t, "ys")
		most := rapid.IntRange(1, 120).Draw(t, "most")
		points := make([]Point, len(ys))
		x := 0.0
		for i, y := range ys {
			x += rapid.Float64Range(1e-3, 10).Draw(t, "step")
			points[i] = At(x, y)
		}
		columns := Columns(points, most)
		if len(columns) > most {
			t.Fatalf("%d columns, asked for %d", len(columns), most)
		}
		width := (points[len(points)-1].X - points[0].X) / float64(most)
		seen := 0
		for _, c := range columns {
			low, high, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
			for _, p := range points[seen:] {
				if len(points) > most && int(math.Min(float64(most-1), (p.X-points[0].X)/width)) !=
					int(math.Min(float64(most-1), (c.X-points[0].X)/width)) || len(points) <= most && p.X > c.X {
					break
				}
				low, high, sum, n = math.Min(low, p.Y), math.Max(high, p.Y), sum+p.Y, n+1
			}
			if n == 0 || c.Low != low || c.High != high {
				t.Fatalf("column at %v says %v to %v; its %d points are %v to %v", c.X, c.Low, c.High, n, low, high)
			}
			if mean := sum / float64(n); math.Abs(c.Y-mean) > 1e-9*math.Max(math.Abs(low), math.Abs(high)) {
				t.Fatalf("column at %v says %v, the mean is %v", c.X, c.Y, mean)
			}
			seen += n
		}
		if seen != len(points) {
			t.Fatalf("%d of %d points are in a column", seen, len(points))
		}
	})
}

func TestColumnsKeepGapsAndIntervals(t *testing.T) {
	points := []Point{
		{X: 1, Y: 5, Low: 4, High: 9}, At(2, 6), Gap(2.5), At(3, math.Inf(1)), At(math.NaN(), 1),
		{X: 3, Y: 1, Low: math.NaN(), High: 2, Label: "alone"}, At(3.5, 1),
	}
	got := Columns(points, 2)
	want := []Point{
		{X: 1.5, Y: 5.5, Low: 4, High: 9}, Gap(2.5), {X: 3.25, Y: 1, Low: 1, High: 2},
	}
	equalNaN := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
	if diff := cmp.Diff(want, got, equalNaN); diff != "" {
		t.Error(diff)
	}
}

// TestCourse: a course of any length holds the laps in order in columns of equally many,
// with each column's extremes and mean, whatever the room.
func TestCourse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		laps := rapid.SliceOfN(rapid.Int64Range(-1e12, 1e12), 1, 500).Draw(t, "laps")
		c := newCourse(2 * rapid.IntRange(1, 40).Draw(t, "half"))
		for _, d := range laps {
			c.add(time.Duration(d))
		}
		points := c.points()
		if len(points) > c.most {
			t.Fatalf("%d columns, room is for %d", len(points), c.most)
		}
		each := int(c.each)
		for i, p := range points {
			stretch := laps[i*each : min(len(laps), (i+1)*each)]
			sum := 0.0
			for _, d := range stretch {
				sum += float64(d)
			}
			want := Point{
				X: float64(i*each) + float64(len(stretch)+1)/2, Y: sum / float64(len(stretch)),
				Low: float64(slices.Min(stretch)), High: float64(slices.Max(stretch)),
			}
			if math.Abs(p.Y-want.Y) > 1e-3 || p.X != want.X || p.Low != want.Low || p.High != want.High {
				t.Fatalf("column %d of %d laps is %+v, want %+v", i, len(stretch), p, want)
			}
		}
		if held := (len(points)-1)*each + each - int(c.room); held != len(laps) {
			t.Fatalf("the columns hold %d of %d laps", held, len(laps))
		}
	})
}
