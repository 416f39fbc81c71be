package collector

import (
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
)

// Collections is what a worker's garbage collector has done over a while, by readings of its state between which the worker
// was not stopped.
type Collections struct {
	Seen       time.Duration // time between readings that are so close together that no cycle was missed
	Missed     time.Duration // the rest
	Resolution time.Duration // from one reading to the next, on average
	Cycles     int           // that have marked what is in use, in Seen
	Last       []Cycle       // the last ones that ended, the latest last
	Allocated  float64       // bytes, in all the time; of these, Guessed is guessed: see Ledger
	Guessed    float64
	Lowest     uint64 // bytes in use
	Highest    uint64
	Longest    Step // of those seen, at least and at most
	Err        error
}

// A Cycle is one of the collector's, from its first step to its last. Times are known to the resolution of the readings, and
// bytes to what was allocated in it.
type Cycle struct {
	Length time.Duration `json:"length_ns"`
	Marked uint64        `json:"marked_heap_bytes"` // in use when all that is in use was marked
	Left   uint64        `json:"left_bytes"`        // of these, what was not freed
}

// A Step is what the collector does without a break: between two steps the program allocates. Where that is known its CPU time
// is reported, so that a worker that waits for a processor meanwhile is not the collector's fault.
type Step struct {
	Least time.Duration `json:"at_least_ns"`
	Most  time.Duration `json:"at_most_ns"`
	Phase luajit.Phase  `json:"phase"` // at its end
}

// cycles follows the collector's cycles and steps.
type cycles struct {
	Collections
	readings int

	running bool // a cycle is under way, and its beginning was seen
	began   time.Duration
	marked  uint64 // 0: it has not come to that

	stepping             bool
	before, first, final reading // the last one outside of the step, and the first and the last one in it
}

// untold is how much CPU time of a process that runs the kernel may not have told yet: it adds it up at each tick of its clock, of
// which there are 100 a second at least.
const untold = 10 * time.Millisecond

const mostCycles = 8 // that are kept

// next takes in the next reading; blind reports that there may have been several cycles since the one before.
func (c *cycles) next(before, r reading, blind bool) {
	c.readings++
	if c.Lowest == 0 || r.InUse < c.Lowest {
		c.Lowest = r.InUse
	}
	c.Highest = max(c.Highest, r.InUse)
	c.step(before, r)
	if blind {
		c.Missed += r.At - before.At
		c.running = false
		return
	}
	c.Seen += r.At - before.At
	const sweep = 3 // sweep strings, and all that comes after it
	marked := r.White != before.White
	another := marked && (before.Phase == luajit.Pause || before.Phase >= sweep) // than the one that was under way
	if marked {
		c.Cycles++
	}
	if marked && !another {
		c.marked = max(before.InUse, r.Estimate)
	}
	if before.Phase != luajit.Pause && (r.Phase < before.Phase || another) {
		left := r.Estimate
		if another {
			left = before.Estimate
		}
		c.end(r.At, left)
	}
	if before.Phase == luajit.Pause && r.Phase != luajit.Pause || r.Phase < before.Phase && r.Phase != luajit.Pause || another {
		c.running, c.began, c.marked = true, before.At, 0
	}
	if another {
		c.marked = max(before.InUse, r.Estimate)
		if r.Phase == luajit.Pause { // all of it between two readings
			c.end(r.At, r.Estimate)
		}
	}
}

// end ends the cycle; it counts if its beginning was seen.
func (c *cycles) end(at time.Duration, left uint64) {
	if c.running && c.marked > 0 {
		c.Last = append(c.Last, Cycle{at - c.began, c.marked, min(left, c.marked)})
		c.Last = c.Last[max(0, len(c.Last)-mostCycles):]
	}
	c.running = false
}

// step follows the step that the collector is in. Where it is in one at both readings, it is the same one if nothing was
// allocated between them: a step is due when some was, as a rule 1 kB. While it sweeps, the estimate lags behind what is in
// use by what a part of a step frees; where that is much, a step seems to end, and its length is reported too short.
func (c *cycles) step(before, r reading) {
	if !r.Collecting {
		c.endStep(r)
		return
	}
	const due, firstSweep, lastSweep = 1 << 10, 3, 4
	same := before.sinceMarked() == r.sinceMarked()
	if before.Phase >= firstSweep && r.Phase <= lastSweep {
		same = r.sinceMarked()-before.sinceMarked() < due
	}
	if before.White != r.White || before.Phase == luajit.Finalize {
		same = r.InUse <= before.InUse
	}
	if !c.stepping || !same {
		c.endStep(r)
		c.stepping, c.before, c.first = true, before, r
	}
	c.final = r
}

// endStep ends the step, if there is one, no later than at a reading.
func (c *cycles) endStep(r reading) {
	if !c.stepping {
		return
	}
	c.stepping = false
	least := max(0, min(c.final.At-c.first.At, c.final.Used-c.first.Used-untold))
	most := min(r.At-c.before.At, r.Used-c.before.Used+untold)
	c.Longest.Least = max(c.Longest.Least, least)
	if most > c.Longest.Most {
		c.Longest.Most, c.Longest.Phase = most, c.final.Phase
	}
}
