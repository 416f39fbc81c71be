package lap_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap"
)

func yardsticks(t *testing.T) *lap.Yardsticks {
	t.Helper()
	y, err := lap.NewYardsticks()
	if errors.Is(err, lap.ErrNoYardsticks) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// TestTimingIsOfWork: twice the turns take twice as long, in the quickest of many timings.
func TestTimingIsOfWork(t *testing.T) {
	yardsticks(t)
	for kind, ticks := range lap.YardstickTicks() {
		once, twice := math.Inf(1), math.Inf(1)
		for range 20000 {
			once, twice = min(once, float64(ticks(1))), min(twice, float64(ticks(2)))
		}
		if ratio := twice / once; ratio < 1.7 || ratio > 2.1 {
			t.Errorf("%s: twice the work takes %.2f times as long (%.0f and %.0f ticks)", kind, ratio, once, twice)
		}
	}
}

func TestTimingAllocatesNothing(t *testing.T) {
	y := yardsticks(t)
	if n := testing.AllocsPerRun(100, func() { y.Time() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTimingSlower(t *testing.T) {
	best := lap.Timing{Core: 1000, Cache: 1000}
	for _, c := range []struct {
		timing lap.Timing
		by     float64
		quiet  bool
	}{{best, 0, true}, {lap.Timing{1020, 1050}, 0.05, true}, {lap.Timing{1040, 1000}, 0.04, false}, {lap.Timing{1000, 1400}, 0.4, false}, {lap.Timing{900, 900}, 0, true}} {
		if by, quiet := c.timing.Slower(best); math.Abs(by-c.by) > 1e-9 || quiet != c.quiet {
			t.Errorf("%+v: slower by %g, quiet %t", c.timing, by, quiet)
		}
	}
}

var worked int64 // what laps compute, so that they do

// TestWatchFilesLaps: all laps stand in the result, those of quiet moments again in theirs, and what timings took is in
// none.
func TestWatchFilesLaps(t *testing.T) {
	yardsticks(t)
	for name, open := range map[string]func() *lap.Benchmark{
		"fenced":  func() *lap.Benchmark { return lap.NewBenchmarkFor(100 * time.Millisecond).Watch() },
		"sampled": func() *lap.Benchmark { return lap.NewBenchmarkTSCFor(100 * time.Millisecond).Watch() },
		"counted": func() *lap.Benchmark { return lap.NewBenchmark(200_000).Watch() },
	} {
		b, turns := open(), int64(0)
		for b.Next() {
			turns++
			for i := range int64(200) { // a lap of nothing has a median of 0 where nothing disturbs, and more elsewhere
				worked += i * turns
			}
		}
		r := b.Result()
		q := r.Quiet
		if q == nil || r.Count() != turns || q.Count() > r.Count() || q.Timings < 3 {
			t.Fatalf("%s: %d turns, %d laps, %+v", name, turns, r.Count(), q)
		}
		if share := float64(q.Count()) / float64(r.Count()); math.Abs(share-q.Share) > 1e-9 {
			t.Errorf("%s: share %g, and %d of %d laps", name, q.Share, q.Count(), r.Count())
		}
		if q.Count() > 0 && (q.Min() < r.Min() || q.Max() > r.Max() || q.Percentile(50) <= 0 && r.Percentile(50) > 0) {
			t.Errorf("%s: quiet laps from %d to %d, all from %d to %d", name, q.Min(), q.Max(), r.Min(), r.Max())
		}
	}
}

// TestWatchChoosesByYardsticks: laps beside slow timings are left out of the quiet ones, whatever they took themselves.
func TestWatchChoosesByYardsticks(t *testing.T) {
	timings, laps := []float64{1430}, []int64{}
	for i := range 300 {
		ns, slow := int64(100), 1430.0
		if i%3 == 0 {
			slow = 2145
		}
		if i%7 == 0 {
			ns = 5000 // of the case, not the machine's
		}
		timings, laps = append(timings, slow), append(laps, ns)
	}
	q := lap.Watched(timings, laps)
	// A segment is quiet where the timing before and the timing after are: i%3 == 2 only.
	if q.Count() != 100 || math.Abs(q.Share-1.0/3) > 0.01 || math.Abs(q.Slower-0.5) > 0.01 {
		t.Errorf("%d quiet laps, %+v", q.Count(), q)
	}
	if q.Max() < 4900 || q.Percentile(50) != 100 {
		t.Errorf("up to %d, median %d: the case's own time had a say", q.Max(), q.Percentile(50))
	}
}

// TestWatchForgetsAWrongBest: what was quiet by a best that a better one replaced is so no longer.
func TestWatchForgetsAWrongBest(t *testing.T) {
	timings, laps := []float64{}, []int64{}
	for i := range 200 {
		timings, laps = append(timings, 2000), append(laps, 150)
		if i >= 100 {
			timings[i], laps[i] = 1430, 100
		}
	}
	q := lap.Watched(append(timings, 1430), laps)
	if q.Max() > 101 || q.Count() < 90 || math.Abs(q.Slower-0.4) > 0.03 {
		t.Errorf("%d quiet laps up to %d, %+v", q.Count(), q.Max(), q)
	}
}

// TestWatchShare bounds what timings may cost: after each, several times what it took passes before the next.
func TestWatchShare(t *testing.T) {
	if share := 1.0 / (1 + lap.WatchShare); share > 0.03 {
		t.Errorf("timings may take %.3f of the time", share)
	}
}

func TestSummaryTellsOfQuietMoments(t *testing.T) {
	r := &lap.Result{Histogram: lap.NewHistogram(), Clock: "tsc"}
	quiet := lap.NewHistogram()
	for range 90 {
		r.Record(130)
	}
	for range 10 {
		r.Record(100)
		quiet.Record(100)
	}
	r.Quiet = &lap.Quiet{Histogram: quiet, Timings: 20, Share: 0.1, Slower: 0.3}
	if text := r.String(); !strings.Contains(text, "10 % of the laps in quiet moments, p50 100ns;  the machine slowed by 30 % in the others") {
		t.Error(text)
	}
	r.Quiet.Share = 1
	if text := r.String(); strings.Contains(text, "quiet") {
		t.Errorf("of a machine that was quiet all the time: %s", text)
	}
}
