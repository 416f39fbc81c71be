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
