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
	sampled    bool // few laps have fences; otherwise all have
	fenced     bool // the next reading has
	// Next does only what every lap needs while count is below attend.
	attend int64
	// The lap between the last two readings is tallied only with the next reading:
	// nothing then waits for that reading's value, so that the processor does both
	// at once.
	pending     int64
	first, last int64
	recent      [recentLaps]int64 // readings that ended laps
	extra       int64             // of the sampling, taken off each lap now
	limit       int64             // laps
	duration    int64             // clock units; 0: no end
	until       int64             // reading that ends the run, or is the time for timing the yardsticks
	state       state
	overhead    calibration // of laps with fences
	sampling    sampling
	watch       *watch // nil: nobody times yardsticks
}

// recentLaps is a power of two above blockLaps.
const recentLaps = 16

type state uint8

const (
	fresh state = iota
	running
	ended
)

// none is the pending lap when there is none.
const none = math.MinInt64

// NewBenchmark makes a benchmark of count laps on the system's monotonic clock; of none
// when count is below 1. Where the kernel makes this clock of the processor's counter, as
// Linux mostly does, the counter itself is read.
func NewBenchmark(count int) *Benchmark {
	return newBenchmark(systemClock(), int64(count), 0)
}

// NewBenchmarkFor makes a benchmark on the system's clock that ends with the first lap to
// reach d after the start of the first, which is the first one when d is negative; without
// an end when d is 0.
func NewBenchmarkFor(d time.Duration) *Benchmark {
	return newBenchmark(systemClock(), math.MaxInt64, d)
}

// NewBenchmarkTSC is [NewBenchmark] at the least cost: 10 instead of 28 ns a lap on an AMD
// EPYC. It reads the processor's counter wherever one may be used ([TSCSupported]), and
// most laps without fences, so that the processor works on a lap while it still reads the
// clock for the one before. A few laps have fences, and tell what the others are off: the
// mean is right as NewBenchmark's is, and OverheadPM says how well. But a single lap may
// be some 20 ns off, in favour of its neighbours. Up to 2000 laps all have fences.
func NewBenchmarkTSC(count int) *Benchmark {
	return newBenchmark(counterClock(), int64(count), 0).sample()
}

// NewBenchmarkTSCFor is [NewBenchmarkFor] in the way of [NewBenchmarkTSC].
func NewBenchmarkTSCFor(d time.Duration) *Benchmark {
	return newBenchmark(counterClock(), math.MaxInt64, d).sample()
}

func newBenchmark(c clock, limit int64, d time.Duration) *Benchmark {
	b := &Benchmark{clock: c, useCounter: c.name == counterName}
	b.overhead = b.calibrate(true)
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

// fewLaps are over so soon that fences cost nobody anything.
const fewLaps = 2000

func (b *Benchmark) sample() *Benchmark {
	limit := b.limit
	if limit <= fewLaps {
		return b
	}
	unfenced := b.calibrate(false)
	b.sampling.unfenced = unfenced
	b.sampling.extra = int64(math.Round(b.overhead.cost - unfenced.cost))
	b.sampled = true
	b.reset(limit)
	return b
}

// Fenced gives all laps of [NewBenchmarkTSC] fences, so that each of them is exact, and
// returns b. It belongs before the loop: laps timed so far are forgotten.
func (b *Benchmark) Fenced() *Benchmark {
	b.sampled = false
	b.reset(b.limit)
	return b
}

func (b *Benchmark) reset(limit int64) {
	b.tally.reset()
	b.sampling.reset()
	b.limit, b.pending, b.state = limit, none, fresh
	b.attend, b.extra, b.fenced = 0, 0, !b.sampled
	if b.sampled {
		b.sampling.turn = recentLaps
	}
	if b.watch != nil {
		b.Watch()
	}
}

// calibrate uses b itself, which has to be reset afterwards.
func (b *Benchmark) calibrate(fenced bool) calibration {
	return calibrate(func(links, laps int) float64 {
		b.reset(int64(laps))
		b.fenced = fenced
		var x uint64
		for b.Next() {
			x = chain(links, x)
		}
		return float64(b.last-b.first) / float64(laps)
	}, chainAlone(b.read))
}

// Next ends a lap and starts another. It returns false when that was the last one,
// and from then on.
func (b *Benchmark) Next() bool {
	if b.count >= b.attend {
		return b.next()
	}
	if b.fenced {
		fence()
	}
	var reading int64
	if b.useCounter {
		reading = counter()
	} else {
		reading = now()
	}
	b.tallyPending()
	b.pending = reading - b.last - b.extra
	b.last = reading
	b.recent[uint64(b.count)%recentLaps] = reading
	b.count++
	if b.fenced {
		fence()
	}
	return reading < b.until || b.passed(reading)
}

// next is Next for the first lap and the last, and where fences come or go.
func (b *Benchmark) next() bool {
	if b.state == ended || b.limit <= 0 {
		return false
	}
	if b.count == b.sampling.turn {
		block := b.last - b.recent[(b.count-1-blockLaps)%recentLaps]
		b.fenced = b.sampling.take(b.count, block, b.fenced)
		b.extra = 0
		if b.fenced {
			b.extra = b.sampling.extra
		}
	}
	if b.state == fresh && b.watch != nil {
		b.watch.see(b.watch.yardsticks.Time())
	}
	if b.fenced {
		fence()
	}
	reading := b.read()
	if b.state == fresh {
		b.begin(reading)
	} else {
		if b.pending != none {
			b.tallyPending()
		}
		b.pending = reading - b.last - b.extra
		b.recent[uint64(b.count)%recentLaps] = reading
		b.count++
		b.attend = min(b.sampling.turn, b.limit-1)
	}
	b.last = reading
	if b.fenced {
		fence()
	}
	if b.count >= b.limit {
		return b.end()
	}
	return reading < b.until || b.passed(reading)
}

// passed is what happens at a reading that is not before b.until: the run ends, or the yardsticks are
// timed. It returns what Next returns. What a timing takes is in no lap.
func (b *Benchmark) passed(reading int64) bool {
	w := b.watch
	if w == nil || reading >= w.finish {
		return b.end()
	}
	b.takePending()
	w.take(&b.tally, w.yardsticks.Time())
	if b.fenced {
		fence()
	}
	b.last = b.read()
	spent := b.last - reading
	b.first += spent
	for i := range b.recent {
		b.recent[i] += spent
	}
	w.spent += spent
	b.until = min(w.finish, b.last+max(w.every, watchShare*spent))
	return true
}

// takePending tallies the last lap now. The next reading goes the slow way, which knows that there is none pending.
func (b *Benchmark) takePending() {
	if b.pending != none {
		b.tallyPending()
		b.pending = none
		b.attend = 0
	}
}

func (b *Benchmark) begin(reading int64) {
	b.state = running
	b.first = reading
	b.until = math.MaxInt64
	if b.duration > 0 && reading < math.MaxInt64-b.duration {
		b.until = reading + b.duration
	}
	if b.watch != nil {
		b.watch.finish, b.until = b.until, min(b.until, reading+b.watch.every)
	}
}

// end returns what Next returns at the end.
func (b *Benchmark) end() bool {
	if b.watch != nil && b.state == running {
		b.takePending()
		b.watch.take(&b.tally, b.watch.yardsticks.Time())
	}
	b.state = ended
	b.attend = 0
	return false
}

func (b *Benchmark) tallyPending() {
	v := b.pending
	if v < b.min {
		b.min = v
	}
	if v > b.max {
		b.max = v
	}
	b.counts[tallyIndex(v)]++
}

// Result is the laps that are complete so far. It measures the overhead again, for
// some milliseconds: a clock that became slower or faster meanwhile shows in OverheadPM.
func (b *Benchmark) Result() *Result {
	b.takePending()
	if b.watch != nil && b.state == running {
		b.watch.take(&b.tally, b.watch.yardsticks.Time())
	}
	b.sum = float64(b.last - b.first - b.sampling.removed) // laps are gapless
	again := &Benchmark{clock: b.clock, useCounter: b.useCounter}
	b.overhead = b.overhead.again(again.calibrate(true))
	overhead := b.overhead
	if b.sampled {
		b.sampling.unfenced = b.sampling.unfenced.again(again.calibrate(false))
		overhead = b.sampling.overhead(b.overhead)
	}
	r := newResult(&b.tally, b.clock, overhead)
	if b.sampled {
		r.Overhead += float64(b.sampling.removed) / float64(max(1, b.count)) * b.scale()
	}
	if b.watch != nil {
		r.Quiet = b.watch.result(overhead.cost, b.scale())
	}
	return r
}

// Histogram is the result ready to print, with at most bins bars.
func (b *Benchmark) Histogram(bins int) *Summary { return b.Result().Summary(bins) }

// HistogramClamp is Histogram with bars for the laps from lowest to highest only;
// what lies outside counts in the first and last bar.
func (b *Benchmark) HistogramClamp(bins int, lowest, highest time.Duration) *Summary {
	return b.Result().SummaryClamp(bins, lowest, highest)
}
