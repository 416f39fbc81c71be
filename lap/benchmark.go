package lap

import (
	"math"
	"time"
)

// A Benchmark times laps, one reading of the clock each, in constant memory:
//
//	b := lap.NewBenchmark(1000)
//	for b.Next() {
//		work()
//	}
//
// A loop may end early by break: the lap it leaves is not counted. A Benchmark is
// for one loop in one goroutine; [Histogram.Merge] joins several.
type Benchmark struct {
	tally
	clock
	useCounter bool
	unfenced   bool
	// The lap between the last two readings is tallied only with the next reading:
	// nothing then waits for that reading's value, so that the processor does both
	// at once.
	pending     int64
	first, last int64
	limit       int64 // laps
	duration    int64 // clock units; 0: no end
	until       int64 // reading that ends the run
	state       state
	overhead    calibration
}

type state uint8

const (
	fresh state = iota
	running
	ended
)

// none is the pending lap when there is none.
const none = math.MinInt64

// NewBenchmark makes a benchmark of count laps on the monotonic clock; of none when
// count is below 1.
func NewBenchmark(count int) *Benchmark {
	return newBenchmark(monotonic, int64(count), 0)
}

// NewBenchmarkFor makes a benchmark on the monotonic clock that ends with the first
// lap to reach d after the start of the first, which is the first one when d is negative;
// without an end when d is 0.
func NewBenchmarkFor(d time.Duration) *Benchmark {
	return newBenchmark(monotonic, math.MaxInt64, d)
}

// NewBenchmarkTSC is [NewBenchmark] on the processor's counter, where one may be
// used ([TSCSupported]): cheaper than the monotonic clock by a third.
func NewBenchmarkTSC(count int) *Benchmark {
	return newBenchmark(counterClock(), int64(count), 0)
}

// NewBenchmarkTSCFor is [NewBenchmarkFor] on the processor's counter.
func NewBenchmarkTSCFor(d time.Duration) *Benchmark {
	return newBenchmark(counterClock(), math.MaxInt64, d)
}

func newBenchmark(c clock, limit int64, d time.Duration) *Benchmark {
	b := &Benchmark{clock: c, useCounter: c.name == counterName}
	b.overhead = b.calibrate()
	if d < 0 {
		limit = 1
	}
	b.reset(limit)
	if d > 0 {
		// At most 73 years of a counter in steps of 1 ns: far from the end of int64.
		b.duration = int64(min(float64(d)/c.scale(), math.MaxInt64/4))
	}
	return b
}

func (b *Benchmark) reset(limit int64) {
	b.tally.reset()
	b.limit, b.pending, b.state = limit, none, fresh
}

// Unfenced lets the processor read the clock while it still works on the lap before, or
// already on the next, and returns b. It belongs before the loop: laps timed so far are
// forgotten.
//
// A lap then costs the program less: 10 instead of 28 ns on the counter of an AMD EPYC,
// 27 instead of 46 on the monotonic clock. But reading the clock adds nothing to a lap
// that waits for its own results, and its whole time to one that keeps the processor
// busy; the overhead taken off is the middle. Means there were up to 4 ns off, more
// than 2 ns + 1 % for some laps below 300 ns. OverheadPM says how much it is elsewhere.
func (b *Benchmark) Unfenced() *Benchmark {
	limit := b.limit
	b.unfenced = true
	b.overhead = b.calibrate()
	b.reset(limit)
	return b
}

// calibrate uses b itself, which has to be reset afterwards.
func (b *Benchmark) calibrate() calibration {
	var x uint64
	return calibrate(func(links, laps int) float64 {
		b.reset(int64(laps))
		for b.Next() {
			x = chain(links, x)
		}
		return float64(b.last-b.first) / float64(laps)
	}, chainAlone(b.read))
}

// Next ends a lap and starts another. It returns false when that was the last one,
// and from then on.
func (b *Benchmark) Next() bool {
	if !b.unfenced {
		fence()
	}
	var reading int64
	if b.useCounter {
		reading = counter()
	} else {
		reading = now()
	}
	if b.pending != none {
		b.tallyPending()
	}
	if b.state != running {
		return b.begin(reading)
	}
	b.pending = reading - b.last
	b.last = reading
	b.count++
	if !b.unfenced {
		fence()
	}
	if b.count >= b.limit || reading >= b.until {
		b.state = ended
		return false
	}
	return true
}

func (b *Benchmark) begin(reading int64) bool {
	if b.state == ended || b.limit <= 0 {
		return false
	}
	b.state = running
	b.first, b.last = reading, reading
	b.until = math.MaxInt64
	if b.duration > 0 && reading < math.MaxInt64-b.duration {
		b.until = reading + b.duration
	}
	return true
}

func (b *Benchmark) tallyPending() {
	v := b.pending
	b.min = min(b.min, v)
	b.max = max(b.max, v)
	b.counts[tallyIndex(v)]++
}

// Result is the laps that are complete so far. It measures the overhead again, for
// a millisecond: a clock that became slower or faster meanwhile shows in OverheadPM.
func (b *Benchmark) Result() *Result {
	if b.pending != none {
		b.tallyPending()
		b.pending = none
	}
	b.sum = float64(b.last - b.first) // laps are gapless
	scratch := &Benchmark{clock: b.clock, useCounter: b.useCounter, unfenced: b.unfenced}
	b.overhead = b.overhead.again(scratch.calibrate())
	return newResult(&b.tally, b.clock, b.overhead)
}

// Histogram is the result ready to print, with at most bins bars.
func (b *Benchmark) Histogram(bins int) *Summary { return b.Result().Summary(bins) }

// HistogramClamp is Histogram with bars for the laps from lowest to highest only;
// what lies outside counts in the first and last bar.
func (b *Benchmark) HistogramClamp(bins int, lowest, highest time.Duration) *Summary {
	return b.Result().SummaryClamp(bins, lowest, highest)
}
