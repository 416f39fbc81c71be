package lap

import (
	"math"
	"time"
)

// A clock is what laps are read from: its name, and ns per unit of its readings.
type clock struct {
	name string
	// read is for places where the cost of an indirect call does not matter.
	read  func() int64
	scale func() float64
}

var monotonic = clock{name: "monotonic", read: now, scale: func() float64 { return 1 }}

var useCounter = counterUsable()

// TSCSupported reports whether [NewBenchmarkTSC] and [NewStopwatchTSC] read a
// processor's counter; otherwise they read the monotonic clock.
func TSCSupported() bool { return useCounter }

// ticks is one reading for the TSC types.
func ticks() int64 {
	if useCounter {
		return counter()
	}
	return now()
}

// counterClock is the clock behind ticks.
func counterClock() clock {
	if !useCounter {
		return monotonic
	}
	return clock{name: counterName, read: counter, scale: nsPerTick}
}

// A pair is one moment on both clocks.
type pair struct{ ns, ticks int64 }

// origin is the far end of the line through which ticks become ns.
var origin = readPair()

// readPair takes the tightest of a few tries, so that an interrupt between the two
// readings does not count.
func readPair() pair {
	var best pair
	gap := int64(math.MaxInt64)
	for range 16 {
		before := now()
		t := ticks()
		after := now()
		if after-before < gap {
			gap = after - before
			best = pair{ns: before + gap/2, ticks: t}
		}
	}
	return best
}

// baseline is how far apart the two pairs must be: an error of some 30 ns in each is
// then a few millionths.
const baseline = 10 * time.Millisecond

// nsPerTick measures the counter against the monotonic clock since the program's
// start. It sleeps when that is less than baseline ago.
func nsPerTick() float64 {
	if young := int64(baseline) - (now() - origin.ns); young > 0 {
		time.Sleep(time.Duration(young))
	}
	p := readPair()
	return float64(p.ns-origin.ns) / float64(p.ticks-origin.ticks)
}
