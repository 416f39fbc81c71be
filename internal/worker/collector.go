package worker

import (
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
)

// A Ledger is what a worker's Lua has allocated over a time, by the collector's own books: between two readings in the same
// cycle the bytes in use, less the collector's estimate, have grown by exactly that (see luajit.GC). A block that moves to become
// larger counts with what it has grown by, and what a program gives back itself, as the old part of a table that grows, counts
// as negative.
type Ledger struct {
	known counted // between readings in the same cycle
	busy  counted // of that: while the cycle was under way, so that the collector took its part of the CPU time
	// Between readings of which the first comes before the end of a cycle's marking, and the other after it: the bytes after
	// it, which are known, and before it, as far as they are.
	marked counted
	blind  time.Duration // CPU time between readings that are so far apart that there may have been several cycles
}

// counted is bytes, and the CPU time of the worker that they took.
type counted struct {
	bytes float64
	used  time.Duration
}

func (c *counted) add(bytes float64, used time.Duration) {
	c.bytes += bytes
	c.used += used
}

// and is what both have, the other one that often.
func (c counted) and(o counted, times float64) counted {
	return counted{c.bytes + times*o.bytes, c.used + time.Duration(times*float64(o.used))}
}

// rate is the bytes in a nanosecond.
func (c counted) rate() float64 { return max(0, c.bytes) / float64(max(1, c.used)) }

// and is what both have, the other one that often.
func (l Ledger) and(o Ledger, times float64) Ledger {
	return Ledger{
		l.known.and(o.known, times), l.busy.and(o.busy, times), l.marked.and(o.marked, times),
		l.blind + time.Duration(times*float64(o.blind)),
	}
}

// Minus is what has come since.
func (l Ledger) Minus(o Ledger) Ledger { return l.and(o, -1) }

// bytes is what was allocated, if it went on at the rates of another ledger where it is not known.
func (l Ledger) bytes(rates Ledger) float64 {
	return l.known.bytes + max(l.marked.bytes, rates.busy.rate()*float64(l.marked.used)) + rates.known.rate()*float64(l.blind)
}

// Bytes is what was allocated. Of it, guessed is not known, but what comes to the CPU time: it may be nothing, or about twice
// as much.
func (l Ledger) Bytes() (bytes, guessed float64) {
	bytes = l.bytes(l)
	return bytes, bytes - l.bytes(Ledger{})
}

// A collector follows a garbage collector from one reading to the next.
type collector struct {
	Ledger
	cycles  cycles
	last    collectorReading
	began   bool
	moved   time.Duration   // when CPU time was seen to have grown, the last time
	end     time.Duration   // CPU time when a cycle had marked, the last time; 0: none was seen
	lengths []time.Duration // of the last cycles, in CPU time
}

// A collectorReading is the collector at a moment.
type collectorReading struct {
	At   time.Duration // since the machine started
	Used time.Duration // CPU time of the worker
	luajit.GC
	Collecting bool // right now, rather than between two steps
}

// sinceMarked is how many bytes were allocated since a cycle has marked what is in use.
func (r *collectorReading) sinceMarked() float64 { return float64(r.InUse) - float64(r.Estimate) }

// shortest is the CPU time of the shortest cycle of late; 0: not known.
func (c *collector) shortest() time.Duration {
	if len(c.lengths) == 0 {
		return 0
	}
	return slices.Min(c.lengths)
}

// blindIn tells that there may have been more than one cycle in so much CPU time.
func (c *collector) blindIn(used time.Duration) bool {
	const unknown = 5 * time.Millisecond // where no cycle's length is known yet
	if s := c.shortest(); s > 0 {
		return used > s/2
	}
	return used > unknown
}

// next takes in the next reading.
func (c *collector) next(r collectorReading) {
	before := c.last
	c.last = r
	if !c.began {
		c.began = true
		return
	}
	used := r.Used - before.Used
	if used > 0 {
		c.moved = r.At
	}
	marked := r.White != before.White
	twice := !marked && r.Estimate > before.Estimate // it only falls within a cycle
	if twice {
		c.length(used / 2)
	}
	blind := twice || c.blindIn(used)
	c.cycles.next(before, r, blind)
	switch {
	case blind:
		c.blind += used
		return
	case marked:
		// Since the end of the marking, and before it: nothing is freed until then, and the estimate has only fallen since.
		c.Ledger.marked.add(r.sinceMarked()+max(0, float64(r.Estimate)-float64(before.InUse)), used)
	default:
		bytes := r.sinceMarked() - before.sinceMarked()
		if r.Phase == luajit.Finalize && before.Phase == luajit.Finalize { // here the estimate falls for other reasons, too
			bytes = float64(r.InUse) - float64(before.InUse)
		}
		c.known.add(bytes, used)
		if r.Phase != luajit.Pause && before.Phase != luajit.Pause {
			c.busy.add(bytes, used)
		}
	}
	if marked {
		if c.end > 0 {
			c.length(r.Used - c.end)
		}
		c.end = r.Used
	}
}

// length notes how long a cycle took.
func (c *collector) length(used time.Duration) {
	const late = 8
	c.lengths = append(c.lengths, used)
	c.lengths = c.lengths[max(0, len(c.lengths)-late):]
}

// pause is how long the next reading can wait: there are some in each cycle, and those that are close together cost this program.
// Of a worker that does nothing there are fewer.
func (c *collector) pause(most, idle time.Duration) time.Duration {
	const readings, least = 16, 200 * time.Microsecond
	if c.last.At-c.moved > untold {
		return idle
	}
	if c.last.Collecting {
		return least
	}
	if s := c.shortest(); s > 0 {
		return min(most, max(least, s/readings))
	}
	return most
}
