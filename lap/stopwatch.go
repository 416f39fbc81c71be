package lap

import (
	"errors"
	"math/bits"
	"sync/atomic"
	"time"
)

// Errors of [Stopwatch.Stop].
var (
	ErrNotStarted = errors.New("lap: Stop of a span that was never started, or is stopped already")
	ErrUnknownID  = errors.New("lap: Stop of an id that no Start returns")
)

// Full is what [Stopwatch.Start] returns when too many spans are open. Stop ignores it.
const Full = -1

// A Stopwatch times spans that may start in one goroutine and stop in another, any
// number of them, without locks and in constant memory:
//
//	s := lap.NewStopwatch(1000)
//	for range 1000 {
//		go func() {
//			id := s.Start()
//			work()
//			s.Stop(id)
//		}()
//	}
//	s.Wait()
//	fmt.Println(s.Histogram(10))
type Stopwatch struct {
	spans      spanTally
	clock      clock
	useCounter bool
	overhead   calibration

	// An open span is a slot that holds its start; a free slot holds 0. Which slot a
	// span takes follows from its start, so that no common counter is fought over.
	slots []slot
	bits  uint // log2 of len(slots)
	full  atomic.Int64

	awaited int64
	waiting atomic.Bool // until as many spans are stopped or dropped
	done    chan struct{}
}

// A slot fills a cache line of its own.
type slot struct {
	start atomic.Int64
	_     [56]byte
}

// maxOpen keeps the slots below 64 MiB.
const maxOpen = 1 << 20

// NewStopwatch makes a stopwatch on the monotonic clock with room for count spans
// open at once, 1 to 1048576; counts outside this get the nearer end's room.
func NewStopwatch(count int) *Stopwatch { return newStopwatch(monotonic, count) }

// NewStopwatchTSC is [NewStopwatch] on the processor's counter, where one may be used
// ([TSCSupported]).
func NewStopwatchTSC(count int) *Stopwatch { return newStopwatch(counterClock(), count) }

func newStopwatch(c clock, count int) *Stopwatch {
	room := min(max(count, 1), maxOpen)
	s := &Stopwatch{clock: c, useCounter: c.name == counterName, done: make(chan struct{})}
	s.bits = max(1, uint(bits.Len(uint(room-1))))
	s.slots = make([]slot, 1<<s.bits)
	s.overhead = s.calibrate()
	s.spans.reset()
	s.awaited = int64(count)
	s.waiting.Store(true)
	s.endWait(0)
	return s
}

// calibrate records spans, which have to be forgotten afterwards.
func (s *Stopwatch) calibrate() calibration {
	var x uint64
	return calibrate(func(links, laps int) float64 {
		before := s.spans.sum.Load()
		for range laps {
			id := s.Start()
			x = chain(links, x)
			_ = s.Stop(id)
		}
		return float64(s.spans.sum.Load()-before) / float64(laps)
	}, chainAlone(s.clock.read))
}

func (s *Stopwatch) reading() int64 {
	if s.useCounter {
		return counter()
	}
	return now()
}

// Start opens a span and returns its id for Stop, or [Full] when all the slots hold
// open spans; [Stopwatch.Dropped] counts those.
func (s *Stopwatch) Start() int64 {
	start := max(s.reading(), 1)
	mask := uint64(len(s.slots) - 1)
	// Fibonacci hashing: neighbouring starts land far apart.
	at := uint64(start) * 0x9E3779B97F4A7C15 >> (64 - s.bits)
	for range s.slots {
		at &= mask
		if s.slots[at].start.CompareAndSwap(0, start) {
			fence()
			return s.id(at, start)
		}
		at++
	}
	s.full.Add(1)
	s.endWait(s.spans.count.Load())
	return Full
}

// id holds the slot in its low bits, and as much of the start as fits above.
func (s *Stopwatch) id(slot uint64, start int64) int64 {
	return int64((uint64(start)<<s.bits | slot) &^ (1 << 63))
}

// Stop closes a span. [Full] is ignored; an id that is not of an open span is an
// error and changes nothing.
func (s *Stopwatch) Stop(id int64) error {
	fence()
	end := s.reading()
	if id < 0 {
		if id == Full {
			return nil
		}
		return ErrUnknownID
	}
	at := uint64(id) & uint64(len(s.slots)-1)
	start := s.slots[at].start.Load()
	if start == 0 || s.id(at, start) != id || !s.slots[at].start.CompareAndSwap(start, 0) {
		return ErrNotStarted
	}
	s.endWait(s.spans.add(end - start))
	return nil
}

// endWait lets Wait return when this many stopped spans and the dropped ones are enough.
func (s *Stopwatch) endWait(stopped int64) {
	if s.waiting.Load() && stopped+s.full.Load() >= s.awaited && s.waiting.CompareAndSwap(true, false) {
		close(s.done)
	}
}

// Wait blocks until as many spans are stopped or dropped as NewStopwatch was told.
func (s *Stopwatch) Wait() { <-s.done }

// Open is the number of spans that are started and not stopped.
func (s *Stopwatch) Open() int {
	open := 0
	for i := range s.slots {
		if s.slots[i].start.Load() != 0 {
			open++
		}
	}
	return open
}

// Dropped is how often Start returned [Full].
func (s *Stopwatch) Dropped() int64 { return s.full.Load() }

// Result is the spans stopped so far; it may be taken while others run. It measures
// the overhead again, for some milliseconds.
func (s *Stopwatch) Result() *Result {
	scratch := &Stopwatch{clock: s.clock, useCounter: s.useCounter, slots: make([]slot, 2), bits: 1}
	overhead := s.overhead.again(scratch.calibrate())
	return newResult(s.spans.tally(), s.clock, overhead)
}

// Histogram is the result ready to print, with at most bins bars.
func (s *Stopwatch) Histogram(bins int) *Summary { return s.Result().Summary(bins) }

// HistogramClamp is Histogram with bars for the spans from lowest to highest only;
// what lies outside counts in the first and last bar.
func (s *Stopwatch) HistogramClamp(bins int, lowest, highest time.Duration) *Summary {
	return s.Result().SummaryClamp(bins, lowest, highest)
}
