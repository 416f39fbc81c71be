package lap

import (
	"math"
	"os"
	"strings"
	"sync"
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

var (
	source     = clockSource()
	useCounter = counterUsable(source)
)

// clockSource is what Linux makes its clocks of; empty when unknown.
func clockSource() string {
	name, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

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

// systemClock is the kernel's monotonic clock, read from the counter where the kernel makes
// it of that: what Linux found to run at one speed on all cores may be trusted here, at a
// third of the price. It differs while the machine is suspended: then the kernel's clock
// stands still.
func systemClock() clock {
	if source != "" && source == counterSource {
		return counterClock()
	}
	return monotonic
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

// nsPerTick measures the counter against the monotonic clock, from the program's start
// until it is first asked for. It sleeps when that is less than baseline. Later it stays
// as it is: while the machine is suspended, the two clocks part.
var nsPerTick = sync.OnceValue(func() float64 {
	if young := int64(baseline) - (now() - origin.ns); young > 0 {
		time.Sleep(time.Duration(young))
	}
	p := readPair()
	return float64(p.ns-origin.ns) / float64(p.ticks-origin.ticks)
})
