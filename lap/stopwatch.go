package lap

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"
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

	slots []slot // as many as a power of two
	full  atomic.Int64

	awaited int64
	waiting atomic.Bool // until as many spans are stopped or dropped
	done    chan struct{}
}

// A slot is room for an open span, and fills a cache line of its own. Whoever opens or
// closes it by changing id owns start.
type slot struct {
	id    atomic.Int64 // of the open span; negative, of the last one, while free
	start int64
	_     [48]byte
}

// maxOpen keeps the slots below 64 MiB.
const maxOpen = 1 << 20

// NewStopwatch makes a stopwatch on the system's clock, as [NewBenchmark] does, with room
// for count spans open at once, 1 to 1048576; counts outside this get the nearer end's room.
func NewStopwatch(count int) *Stopwatch { return newStopwatch(systemClock(), count) }

// NewStopwatchTSC is [NewStopwatch] on the processor's counter wherever one may be used
// ([TSCSupported]).
func NewStopwatchTSC(count int) *Stopwatch { return newStopwatch(counterClock(), count) }

func newStopwatch(c clock, count int) *Stopwatch {
	room := min(max(count, 1), maxOpen)
	s := &Stopwatch{clock: c, useCounter: c.name == counterName, done: make(chan struct{})}
	s.slots = make([]slot, 1<<max(1, bits.Len(uint(room-1))))
	s.overhead = s.calibrate()
	s.spans.reset()
	s.awaited = int64(count)
	s.waiting.Store(true)
	s.endWait(0)
	return s
}

// calibrate records spans, which have to be forgotten afterwards.
func (s *Stopwatch) calibrate() calibration {
	return calibrate(func(links, laps int) float64 {
		var x uint64
		before := s.spans.sum.Load()
		for range laps {
			id := s.Start()
			x = chain(links, x)
			_ = s.Stop(id)
		}
		return float64(s.spans.sum.Load()-before) / float64(laps)
	}, chainAlone(s.clock.read))
}

// Start opens a span and returns its id for Stop, or [Full] when all the slots hold
// open spans; [Stopwatch.Dropped] counts those.
func (s *Stopwatch) Start() int64 {
	room := int64(len(s.slots))
	// Each goroutine begins at a slot of its own, which its stack's address tells, so that
	// no counter is fought over. Where that is taken, any place will do.
	var here byte
	at := int64(uint64(uintptr(unsafe.Pointer(&here))) * 0x9E3779B97F4A7C15 >> 32)
	for tries := range room + 1 {
		open := &s.slots[at&(room-1)]
		if last := open.id.Load(); last <= 0 {
			id := -last&^(room-1) + room + at&(room-1) // no span had this one
			if open.id.CompareAndSwap(last, id) {
				if s.useCounter {
					open.start = counter()
				} else {
					open.start = now()
				}
				fence()
				return id
			}
		}
		at++
		if tries == 0 {
			at = rand.Int64()
		}
	}
	s.full.Add(1)
	s.endWait(s.spans.count.Load())
	return Full
}

// Stop closes a span. [Full] is ignored; an id that is not of an open span is an
// error and changes nothing.
func (s *Stopwatch) Stop(id int64) error {
	fence()
	var end int64
	if s.useCounter {
		end = counter()
	} else {
		end = now()
	}
	if id < 0 {
		if id == Full {
			return nil
		}
		return ErrUnknownID
	}
	room := int64(len(s.slots))
	open := &s.slots[id&(room-1)]
	if id < room || open.id.Load() != id {
		return ErrNotStarted
	}
	start := open.start // now: once the slot is free, the next span's may be there
	if !open.id.CompareAndSwap(id, -id) {
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
		if s.slots[i].id.Load() > 0 {
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
	scratch := &Stopwatch{clock: s.clock, useCounter: s.useCounter, slots: make([]slot, 2)}
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
