package lap_test

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap"
)

var clocks = []struct {
	name string
	laps func(int) *lap.Benchmark
	open func(time.Duration) *lap.Benchmark
}{
	{"system", lap.NewBenchmark, lap.NewBenchmarkFor},
	{"counter", lap.NewBenchmarkTSC, lap.NewBenchmarkTSCFor},
	{"counter, fenced", func(n int) *lap.Benchmark { return lap.NewBenchmarkTSC(n).Fenced() },
		func(d time.Duration) *lap.Benchmark { return lap.NewBenchmarkTSCFor(d).Fenced() }},
	{"kernel", lap.NewKernelBenchmark, lap.NewKernelBenchmarkFor},
	{"kernel, sampled", func(n int) *lap.Benchmark { return lap.NewKernelBenchmark(n).Sample() },
		func(d time.Duration) *lap.Benchmark { return lap.NewKernelBenchmarkFor(d).Sample() }},
}

func TestBenchmarkCountsItsLaps(t *testing.T) {
	for _, c := range clocks {
		for _, count := range []int{-1, 0, 1, 2, 1000, 1001, 5000} {
			b, turns := c.laps(count), 0
			for b.Next() {
				turns++
			}
			for range 3 {
				if b.Next() {
					t.Errorf("%s %d: another lap after the last", c.name, count)
				}
			}
			want := max(0, count)
			r, inBuckets := b.Result(), int64(0)
			for bucket := range r.Buckets {
				inBuckets += bucket.Count
			}
			if turns != want || r.Count() != int64(want) || inBuckets != int64(want) {
				t.Errorf("%s %d: %d turns, %d laps, %d in buckets", c.name, count, turns, r.Count(), inBuckets)
			}
		}
	}
}

// hrtime gave raw clock readings before the end, and panicked on an early one.
func TestReadingBeforeTheEnd(t *testing.T) {
	for _, c := range clocks {
		b := c.laps(10)
		if n := b.Result().Count(); n != 0 {
			t.Errorf("%s: %d laps before the start", c.name, n)
		}
		for turn := 0; b.Next(); turn++ {
			if n := b.Result().Count(); n != int64(turn) {
				t.Errorf("%s: %d laps in turn %d", c.name, n, turn)
			}
		}
		if n := b.Result().Count(); n != 10 {
			t.Errorf("%s: %d laps in the end", c.name, n)
		}
		b = c.laps(10)
		for turn := 0; b.Next(); turn++ {
			if turn == 4 {
				break
			}
		}
		if n := b.Result().Count(); n != 4 {
			t.Errorf("%s: %d laps after break, the lap left by it must not count", c.name, n)
		}
	}
}

func TestBenchmarkByTime(t *testing.T) {
	const d = 5 * time.Millisecond
	for _, c := range clocks {
		start := time.Now()
		b, turns := c.open(d), 0
		for b.Next() {
			turns++
		}
		elapsed := time.Since(start)
		if turns == 0 || b.Result().Count() != int64(turns) {
			t.Errorf("%s: %d turns, %d laps", c.name, turns, b.Result().Count())
		}
		// A counter is a few millionths off at most.
		if elapsed < d-d/1000 {
			t.Errorf("%s: ended after %v of %v", c.name, elapsed, d)
		}
	}
}

// A time left that is negative is over with the first lap; the longest does not overflow,
// whatever the counter's speed.
func TestBenchmarkByImpossibleTimes(t *testing.T) {
	for _, c := range clocks {
		for d, want := range map[time.Duration]int64{-1: 1, math.MinInt64: 1, math.MaxInt64: 1000} {
			b := c.open(d)
			for turn := 0; turn < 1001 && b.Next(); turn++ {
			}
			if n := b.Result().Count(); n != want {
				t.Errorf("%s, %v: %d laps, not %d", c.name, d, n, want)
			}
		}
	}
}

func TestOpenEndedBenchmark(t *testing.T) {
	for _, c := range clocks {
		b, turns := c.open(0), 0
		for b.Next() {
			if turns++; turns > 10_000 {
				break
			}
		}
		if n := b.Result().Count(); n != 10_000 {
			t.Errorf("%s: %d laps", c.name, n)
		}
	}
}

// Laps lie inside the time around them, in ns whatever the clock: hrtime reported
// ns as tsc, and read the clock once in its last lap but twice in all others.
func TestLapsFillTheTimeBetweenFirstAndLast(t *testing.T) {
	for _, c := range clocks {
		b := c.laps(200)
		before := time.Now()
		for b.Next() {
			time.Sleep(50 * time.Microsecond)
		}
		outer := float64(time.Since(before))
		r := b.Result()
		inner := (r.Mean() + r.Overhead) * float64(r.Count())
		if inner > outer*1.001 {
			t.Errorf("%s: laps of %.0f ns in %.0f ns", c.name, inner, outer)
		}
		if slept := 200 * 50e3; inner < slept*0.999 {
			t.Errorf("%s: laps of %.0f ns, though the sleeps alone are %.0f ns", c.name, inner, slept)
		}
		if r.Min() < 49*time.Microsecond {
			t.Errorf("%s: a lap with a sleep of 50 µs took %v", c.name, r.Min())
		}
	}
}

// The two kinds of laps have different overheads, so that one result can't hold both.
func TestFencedStartsOver(t *testing.T) {
	b := lap.NewBenchmarkTSC(2000)
	b.Next()
	b.Next()
	b.Fenced()
	if n := b.Result().Count(); n != 0 {
		t.Errorf("%d laps without fences are kept", n)
	}
	turns := 0
	for b.Next() {
		turns++
	}
	if n := b.Result().Count(); turns != 2000 || n != 2000 {
		t.Errorf("%d turns, %d laps", turns, n)
	}
}

func TestLapsTakeNoMemory(t *testing.T) {
	for _, c := range clocks {
		b := c.open(0)
		b.Next()
		if n := testing.AllocsPerRun(1000, func() { b.Next() }); n != 0 {
			t.Errorf("%s: %v allocations a lap", c.name, n)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100_000 {
			b.Next()
		}
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n > 100 { // the runtime's own
			t.Errorf("%s: %d allocations in 100000 laps", c.name, n)
		}
	}
}

func TestResultSaysWhatTimingCost(t *testing.T) {
	for _, c := range clocks {
		b := c.laps(1000)
		for b.Next() {
		}
		r := b.Result()
		if !(r.Overhead > 0) || !(r.OverheadPM >= 0) || r.Clock == "" || r.Min() < 0 {
			t.Errorf("%s: %+v", c.name, r)
		}
		if c.name == "counter" && lap.TSCSupported() == (r.Clock == "monotonic") {
			t.Errorf("clock %q", r.Clock)
		}
	}
}
