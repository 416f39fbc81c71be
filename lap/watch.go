package lap

import (
	"math"
	"time"
)

// A watch times yardsticks while a benchmark runs, and knows which laps ran in quiet moments.
type watch struct {
	yardsticks *Yardsticks
	every      int64 // clock units from one timing to the next, at least
	finish     int64 // reading that ends the run
	spent      int64 // clock units, on timings
	timings    int
	last       Timing
	lowest     [2]Timing // of each kind, the two lowest

	counted [tallyCounters]uint64 // the laps up to the last timing
	quiet   tally                 // those that ran in quiet moments
	slowed  int64                 // the others, in laps
	slower  float64               // by how much the yardsticks took longer, summed over these laps
}

const (
	watchEvery = time.Millisecond
	// Of the time a timing takes, so much passes before the next: timings are at most 1/41 of all time.
	watchShare = 40
	// As soon as a timing is better by this, what was taken for quiet before was not.
	watchBetter = 0.01
)

// Quiet tells what yardsticks saw while laps were timed: see [Benchmark.Watch].
type Quiet struct {
	*Histogram         // the laps of quiet moments, as [Result] has all; empty where there were none
	Timings    int     // of the yardsticks
	Share      float64 // of the laps that ran in quiet moments
	Slower     float64 // by how much the yardsticks took longer beside the others, on average: 0.4 is 40 %
	Spent      float64 // ns of the loop's time, in no lap
}

// Watch has b time [Yardsticks] every millisecond or more rarely, between two laps, for at most 3 %
// of the time, and returns b. The laps between two timings that are both within 3 % (6 % for the cache)
// of the best seen are those of quiet moments: [Result.Quiet] has them. Where there are no yardsticks
// nothing changes. It belongs before the loop.
func (b *Benchmark) Watch() *Benchmark {
	y, err := NewYardsticks()
	if err != nil || !b.useCounter {
		return b
	}
	b.watch = &watch{yardsticks: y, every: int64(float64(watchEvery) / b.scale())}
	b.watch.quiet.reset()
	return b
}

// see takes note of a timing. Where the best becomes better by so much that what was taken for quiet
// before was not, it returns by how much longer the best before took.
func (w *watch) see(l Timing) (worse float64) {
	before := w.best()
	if w.timings++; w.timings == 1 {
		w.lowest = [2]Timing{l, {math.Inf(1), math.Inf(1)}}
	} else {
		lower(&w.lowest[0].Core, &w.lowest[1].Core, l.Core)
		lower(&w.lowest[0].Cache, &w.lowest[1].Cache, l.Cache)
	}
	w.last = l
	if worse, _ = before.Slower(w.best()); worse <= watchBetter || w.timings < 3 {
		return 0
	}
	return worse
}

// lower keeps the two lowest of what it has seen.
func lower(first, second *float64, ns float64) {
	switch {
	case ns < *first:
		*first, *second = ns, *first
	case ns < *second:
		*second = ns
	}
}

// best is the second lowest of each kind: a single one may be an error of the clock.
func (w *watch) best() Timing {
	if w.timings < 2 {
		return w.lowest[0]
	}
	return w.lowest[1]
}

// take files the laps since the last timing by that and by one after them.
func (w *watch) take(laps *tally, l Timing) {
	before := w.last
	if worse := w.see(l); worse > 0 {
		w.slowed, w.slower = w.slowed+w.quiet.count, w.slower+float64(w.quiet.count)*worse
		w.quiet.reset()
	}
	bySome, quietBefore := before.Slower(w.best())
	by, quiet := l.Slower(w.best())
	by, quiet = max(by, bySome), quiet && quietBefore
	if laps.min > laps.max {
		return
	}
	for i := tallyIndex(laps.min); i <= tallyIndex(laps.max); i++ {
		n := laps.counts[i] - w.counted[i]
		if n == 0 {
			continue
		}
		w.counted[i] = laps.counts[i]
		if !quiet {
			w.slowed, w.slower = w.slowed+int64(n), w.slower+float64(n)*by
			continue
		}
		low, width := tallyGeometry.bucket(i)
		w.quiet.counts[i] += n
		w.quiet.count += int64(n)
		w.quiet.sum += float64(n) * (float64(low) + float64(width-1)/2)
		w.quiet.min = min(w.quiet.min, max(low, laps.min))
		w.quiet.max = max(w.quiet.max, min(low+width-1, laps.max))
	}
}

// result is what the watch saw, with the overhead of a lap taken off, in the clock's units.
func (w *watch) result(overhead, scale float64) *Quiet {
	q := &Quiet{Histogram: w.quiet.histogram(overhead, scale), Timings: w.timings, Spent: float64(w.spent) * scale}
	if all := w.quiet.count + w.slowed; all > 0 {
		q.Share = float64(w.quiet.count) / float64(all)
	}
	if w.slowed > 0 {
		q.Slower = w.slower / float64(w.slowed)
	}
	return q
}
