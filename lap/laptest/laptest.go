// Package laptest reports the distribution of single iterations from inside
// testing.B, as the metrics ns/p50, ns/p90, ns/p99 and ns/p999, which benchstat
// compares like any other. Where there are yardsticks ([lap.Yardsticks]), %quiet is the share of the
// iterations in whose time nothing slowed the machine, and ns/quiet-p50 their median:
//
//	func BenchmarkWork(b *testing.B) {
//		laps := laptest.NewBenchmark(b)
//		for b.Loop() {
//			laps.Lap()
//			work()
//		}
//	}
//
// With b.N, the loop is `for laps.Next()`; inside RunParallel, see
// [Benchmark.RunParallel]. What a lap's clock reading costs is taken off the metrics
// and off ns/op; B/op and allocs/op never see it. A lap lasts until the next one
// starts, StopTimer or not.
package laptest

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/moonlap/moonlap/lap"
)

// A Benchmark times the iterations of one testing.B.
type Benchmark struct {
	b        *testing.B
	laps     *lap.Benchmark
	started  int
	parallel []*lap.Benchmark // of RunParallel's goroutines
	reported bool
}

// NewBenchmark prepares the timing of b's iterations. It does so with b's timer
// stopped, and reports when b ends. It reads the processor's counter where it may
// ([lap.TSCSupported]), the monotonic clock elsewhere.
func NewBenchmark(b *testing.B) *Benchmark {
	var l *Benchmark
	untimed(b, func() {
		l = &Benchmark{b: b, laps: lap.NewBenchmarkTSCFor(0).Fenced().Watch()}
		b.Cleanup(l.Report)
	})
	return l
}

// untimed runs f with b's timer stopped, and leaves the timer as it was.
func untimed(b *testing.B, f func()) {
	if running(b) {
		b.StopTimer()
		defer b.StartTimer()
	}
	f()
}

// running reports whether b's timer runs, which testing does not say.
func running(b *testing.B) bool {
	before := b.Elapsed()
	for start := time.Now(); time.Since(start) == 0; {
	}
	return b.Elapsed() != before
}

// Next is the condition of a loop over b.N: it ends a lap and starts another.
func (l *Benchmark) Next() bool {
	l.laps.Next()
	l.started++
	return l.started <= l.b.N
}

// Lap ends a lap and starts another; it belongs at the top of a b.Loop loop. The lap
// after the last call has no end and is not counted: there is one lap less than
// iterations.
func (l *Benchmark) Lap() { l.laps.Next() }

// Report stops b's timer and reports the metrics. NewBenchmark sees to it that this
// happens when b ends, so calling it is needed for nothing.
func (l *Benchmark) Report() {
	if l.reported {
		return
	}
	l.reported = true
	l.b.StopTimer()
	r := l.laps.Result()
	for _, g := range l.parallel {
		if err := r.Merge(g.Result().Histogram); err != nil {
			l.b.Error(err)
		}
	}
	if r.Count() == 0 {
		return // b.N was 1, with b.Loop: nothing to report a percentile of
	}
	procs := max(1, min(runtime.GOMAXPROCS(0), len(l.parallel)))
	timing := r.Overhead * float64(r.Count()) / float64(procs)
	if q := r.Quiet; q != nil && len(l.parallel) == 0 {
		timing += q.Spent
		l.reportQuiet(r)
	}
	l.b.ReportMetric(max(0, float64(l.b.Elapsed())-timing)/float64(l.b.N), "ns/op")
	for _, m := range []struct {
		percentile float64
		unit       string
	}{{50, "ns/p50"}, {90, "ns/p90"}, {99, "ns/p99"}, {99.9, "ns/p999"}} {
		l.b.ReportMetric(float64(r.Percentile(m.percentile)), m.unit)
	}
}

// tellFrom is how far the median of the quiet moments is from that of all before a note tells of it.
const tellFrom = 0.03

// reportQuiet says how much of the time nothing slowed the machine, and what an iteration took then.
func (l *Benchmark) reportQuiet(r *lap.Result) {
	q := r.Quiet
	l.b.ReportMetric(100*q.Share, "%quiet")
	if q.Count() == 0 {
		return
	}
	calm, all := float64(q.Percentile(50)), float64(r.Percentile(50))
	l.b.ReportMetric(calm, "ns/quiet-p50")
	if math.Abs(all-calm) > tellFrom*calm {
		l.b.Logf("something slowed this machine by %.0f %%, for all but %.0f %% of the iterations", 100*q.Slower, 100*q.Share)
	}
}
