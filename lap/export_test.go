package lap

import (
	"math"
	"time"
)

// The kernel's clock, which [NewBenchmark] and [NewStopwatch] read only where it is not made of the counter.

func NewKernelBenchmark(count int) *Benchmark { return newBenchmark(monotonic, int64(count), 0) }

func NewKernelBenchmarkFor(d time.Duration) *Benchmark {
	return newBenchmark(monotonic, math.MaxInt64, d)
}

func NewKernelStopwatch(count int) *Stopwatch { return newStopwatch(monotonic, count) }

func (b *Benchmark) Sample() *Benchmark { return b.sample() }

// DecodeAny is [Decode] without the short way for what [Histogram.Encode] wrote.
var DecodeAny = decode

// WatchShare is how many times what a timing took passes before the next.
const WatchShare = watchShare

// YardstickTicks are the pieces of work, run so many times.
func YardstickTicks() map[string]func(times int32) int32 {
	y, _ := NewYardsticks()
	return map[string]func(times int32) int32{
		"core":  func(times int32) int32 { return coreTicks(coreUntimed, times*coreTurns) },
		"cache": func(times int32) int32 { return cacheTicks(y.page, cacheUntimed, times*cacheTurns) },
	}
}

// Watched is what a watch makes of a lap between each two timings, as the core tells.
func Watched(core []float64, laps []int64) *Quiet {
	w, t := &watch{}, &tally{}
	w.quiet.reset()
	t.reset()
	w.see(Timing{Core: core[0], Cache: 1})
	for i, v := range laps {
		t.min, t.max = min(t.min, v), max(t.max, v)
		t.counts[tallyIndex(v)]++
		w.take(t, Timing{Core: core[i+1], Cache: 1})
	}
	return w.result(0, 1)
}
