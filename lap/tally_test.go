package lap

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestTallyHasTheHistogramsBuckets(t *testing.T) {
	h, err := NewHistogramRange(1, 1<<45-1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if h.geometry != tallyGeometry {
		t.Fatalf("geometry %+v, want %+v", tallyGeometry, h.geometry)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v")
		want := min(h.index(max(v, 0)), len(h.counts)-1)
		if got := tallyIndex(v); got != want {
			t.Fatalf("bucket of %d is %d, want %d", v, got, want)
		}
	})
}

func tallyOf(values ...int64) *tally {
	t := &tally{}
	t.reset()
	for _, v := range values {
		t.counts[tallyIndex(v)]++
		t.count++
		t.sum += float64(v)
		t.min, t.max = min(t.min, v), max(t.max, v)
	}
	return t
}

// What hrtime left inside every lap is taken off, to the fraction in the mean.
func TestOverheadIsTakenOff(t *testing.T) {
	h := tallyOf(30, 30, 30, 40).histogram(25.9, 1)
	if h.Min() != 4 || h.Max() != 14 || h.Percentile(50) != 4 || h.Count() != 4 {
		t.Errorf("min %d p50 %d max %d", h.Min(), h.Percentile(50), h.Max())
	}
	if want := 32.5 - 25.9; math.Abs(h.Mean()-want) > 0.5/4 {
		t.Errorf("mean %v, want %v", h.Mean(), want)
	}
}

func TestTicksBecomeNanoseconds(t *testing.T) {
	h := tallyOf(126, 1026).histogram(26, 0.4)
	if h.Min() != 40 || h.Max() != 400 || h.Mean() != 220 {
		t.Errorf("min %d mean %v max %d", h.Min(), h.Mean(), h.Max())
	}
}

// A clock of coarse steps gives laps shorter than the overhead: as laps they are 0,
// but the mean stays unbiased.
func TestLapsShorterThanTheOverhead(t *testing.T) {
	h := tallyOf(20, 30, 20, 30, 20, 30).histogram(25, 1)
	if h.Min() != 0 || h.Max() != 5 || h.Mean() != 0 {
		t.Errorf("min %d mean %v max %d", h.Min(), h.Mean(), h.Max())
	}
}

func TestCalibrationIsTheMinimum(t *testing.T) {
	calls := 0
	c := lowest(func(laps int) float64 {
		calls++
		group := (calls - 1) / calibrationBlocks
		if calls%calibrationBlocks == 7 {
			return 25 + 0.1*float64(group) // the one block of its group without an interruption
		}
		return 100 + float64(calls)
	})
	if c.cost != 25 || math.Abs(c.pm-0.3) > 1e-9 {
		t.Errorf("%+v", c)
	}
}

func TestCalibrationCoversWhatHidesBehindTheBody(t *testing.T) {
	of := func(short, long float64) func(links, laps int) float64 {
		return func(links, _ int) float64 {
			return map[int]float64{shortBody: short, longBody: long}[links]
		}
	}
	c := calibrate(of(31, 46), of(1, 20))
	if c != (calibration{28, 2}) {
		t.Errorf("%+v", c)
	}
	if j := c.again(calibration{27, 0.5}); j != (calibration{27.5, 2}) {
		t.Errorf("%+v", j)
	}
}

func TestEmptyTally(t *testing.T) {
	if h := tallyOf().histogram(25, 1); h.Count() != 0 || h.Mean() != 0 {
		t.Error("no laps, yet a figure")
	}
}
