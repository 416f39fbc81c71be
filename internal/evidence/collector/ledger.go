package collector

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
	Known Counted // between readings in the same cycle
	Busy  Counted // of that: while the cycle was under way, so that the collector took its part of the CPU time
	// Between readings of which the first comes before the end of a cycle's marking, and the other after it: the bytes after
	// it, which are known, and before it, as far as they are.
	Marked Counted
	Blind  time.Duration // CPU time between readings that are so far apart that there may have been several cycles
}

// Counted is bytes, and the CPU time of the worker that they took.
type Counted struct {
	Bytes float64
	Used  time.Duration
}

func (c *Counted) add(bytes float64, used time.Duration) {
	c.Bytes += bytes
	c.Used += used
}

// and is what both have, the other one that often.
func (c Counted) and(o Counted, times float64) Counted {
	return Counted{c.Bytes + times*o.Bytes, c.Used + time.Duration(times*float64(o.Used))}
}

// rate is the bytes in a nanosecond.
func (c Counted) rate() float64 { return max(0, c.Bytes) / float64(max(1, c.Used)) }

// And is what both have, the other one that often.
func (l Ledger) And(o Ledger, times float64) Ledger {
	return Ledger{
		l.Known.and(o.Known, times), l.Busy.and(o.Busy, times), l.Marked.and(o.Marked, times),
		l.Blind + time.Duration(times*float64(o.Blind)),
	}
}

// Minus is what has come since.
func (l Ledger) Minus(o Ledger) Ledger { return l.And(o, -1) }

// BytesAt is what was allocated, if it went on at the rates of another ledger where it is not known.
func (l Ledger) BytesAt(rates Ledger) float64 {
	return l.Known.Bytes + max(l.Marked.Bytes, rates.Busy.rate()*float64(l.Marked.Used)) + rates.Known.rate()*float64(l.Blind)
}

// Bytes is what was allocated. Of it, guessed is not known, but what comes to the CPU time: it may be nothing, or about twice
// as much.
func (l Ledger) Bytes() (bytes, guessed float64) {
	bytes = l.BytesAt(l)
	return bytes, bytes - l.BytesAt(Ledger{})
}

// books follow a garbage collector from one reading to the next.
type books struct {
	Ledger
	cycles  cycles
	last    reading
	began   bool
	moved   time.Duration   // when CPU time was seen to have grown, the last time
	end     time.Duration   // CPU time when a cycle had marked, the last time; 0: none was seen
	lengths []time.Duration // of the last cycles, in CPU time
}

// A reading is the collector at a time.
type reading struct {
	At   time.Duration // since the machine started
	Used time.Duration // CPU time of the worker
	luajit.GC
	Collecting bool // right now, rather than between two steps
}

// sinceMarked is how many bytes were allocated since a cycle has marked what is in use.
func (r *reading) sinceMarked() float64 { return float64(r.InUse) - float64(r.Estimate) }

// shortest is the CPU time of the shortest cycle of late; 0: not known.
func (c *books) shortest() time.Duration {
	if len(c.lengths) == 0 {
		return 0
	}
	return slices.Min(c.lengths)
}

// blindIn reports that there may have been more than one cycle in so much CPU time.
func (c *books) blindIn(used time.Duration) bool {
	const unknown = 5 * time.Millisecond // where no cycle's length is known yet
	if s := c.shortest(); s > 0 {
		return used > s/2
	}
	return used > unknown
}

// next takes in the next reading.
func (c *books) next(r reading) {
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
		c.Blind += used
		return
	case marked:
		// Since the end of the marking, and before it: nothing is freed until then, and the estimate has only fallen since.
		c.Ledger.Marked.add(r.sinceMarked()+max(0, float64(r.Estimate)-float64(before.InUse)), used)
	default:
		bytes := r.sinceMarked() - before.sinceMarked()
		if r.Phase == luajit.Finalize && before.Phase == luajit.Finalize { // here the estimate falls for other reasons, too
			bytes = float64(r.InUse) - float64(before.InUse)
		}
		c.Known.add(bytes, used)
		if r.Phase != luajit.Pause && before.Phase != luajit.Pause {
			c.Busy.add(bytes, used)
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
func (c *books) length(used time.Duration) {
	const late = 8
	c.lengths = append(c.lengths, used)
	c.lengths = c.lengths[max(0, len(c.lengths)-late):]
}

// pause is how long the next reading can wait: there are some in each cycle, and those that are close together cost this program.
// Of a worker that does nothing there are fewer.
func (c *books) pause(most, idle time.Duration) time.Duration {
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
