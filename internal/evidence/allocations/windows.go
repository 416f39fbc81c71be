package allocations

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/probe"
)

// A window is a time in which every allocation was counted; it stands for its stratum, in which it lies anywhere.
type window struct {
	from, to time.Duration // since the machine started
	stratum  time.Duration
	used     time.Duration    // CPU time of the worker
	inside   time.Duration    // of that: what the probe took
	cost     time.Duration    // what it took, before and after included
	books    collector.Ledger // of LuaJIT
	Allocated
}

func (a *window) length() time.Duration { return a.to - a.from }

// times is for how many windows of its kind it stands.
func (a *window) times() float64 {
	return max(1, float64(a.stratum)/float64(max(1, a.length())))
}

const (
	firstStratum = 50 * time.Millisecond
	lastStratum  = 250 * time.Millisecond
	leastRest    = 125 * time.Millisecond // between two windows: the kernel takes as long to take a probe away
	mostShare    = 0.95                   // that is probed; above it, all is
	growth       = 4                      // times the share that is probed, from one stratum to the next, at most
)

// A plan is the next stratum: a window of it is probed, or all of it.
type plan struct{ window, stratum time.Duration }

func (p plan) all() bool { return p.window == p.stratum }

// share is which share of the time is probed there.
func (p plan) share() float64 { return float64(p.window) / float64(p.stratum) }

// next plans a stratum by what those before have taken, and by that alone: whatever is allocated in it, each moment of it is as
// likely to be in the window as any other. What the probe takes of a window is no more than all of it; so the first ones are
// that share of the time which the probe may take.
// No window is shorter than least.
func next(done []window, before plan, cost, elapsed, least time.Duration, budget float64) plan {
	share, stratum := budget, firstStratum
	if len(done) > 0 {
		taken, of := 0.0, 0.0
		for _, w := range done {
			taken += float64(w.cost) * w.times()
			of += float64(w.length()) * w.times()
		}
		stratum = min(lastStratum, 2*before.stratum)
		share = growth * before.share()
		if taken > 0 {
			share = min(share, budget*of/taken)
		}
	}
	pause := probe.Pause(cost, elapsed, budget)
	if share >= 1 && pause == 0 {
		const whole = 50 * time.Millisecond
		return plan{whole, whole}
	}
	share = min(share, mostShare)
	stratum = max(stratum, time.Duration(float64(leastRest)/(1-share)))
	window := max(least, time.Duration(share*float64(stratum)))
	const long = time.Hour
	return plan{window, max(stratum, time.Duration(min(float64(window)/share, float64(long))), window+min(pause, long))}
}

// Next plans a window, anywhere in its stratum. The one before has cost what has come since it was planned.
func (a *observer) Next(cost, elapsed time.Duration) probe.Burst {
	if a.unpaid {
		a.windows[len(a.windows)-1].cost = cost - a.planned
	}
	a.unpaid, a.planned = false, cost
	a.plan = next(a.windows, a.plan, cost, elapsed, a.patience.window(), a.at.Budget)
	p := a.plan
	return probe.Burst{Before: time.Duration(rand.Float64() * float64(p.stratum-p.window)), Whole: p.stratum, Stays: p.all()}
}

// An edge is where a window begins or ends.
type edge struct {
	at    time.Duration // since the machine started
	used  time.Duration // CPU time of the worker
	books collector.Ledger
	Allocated
}

// edge reads where the worker is. It is not sharp where this program was kept from its processor between two of the readings.
func (a *observer) edge(slack time.Duration) (e edge, sharp bool) {
	e.at = probe.Now()
	var err, failed error
	e.used, err = a.at.CPU()
	e.books, a.heap, _ = a.collector.Read()
	e.Allocated, failed = a.probe.Read()
	a.fail(err, failed)
	return e, probe.Now()-e.at < slack
}

// A patience is how long an edge may always take. It starts with what it takes on a processor, and grows until an emulated one manages.
// Windows grow with it, so that edges stay a small part of them.
type patience time.Duration

const (
	leastPatience = patience(100 * time.Microsecond)
	mostPatience  = patience(10 * time.Millisecond)
)

// window is how long a window is at least.
func (p patience) window() time.Duration { return 10 * p.slack(0) }

// slack is how long the edges of a window may take.
func (p patience) slack(window time.Duration) time.Duration {
	return max(window/20, time.Duration(max(p, leastPatience)))
}

// after is the patience for the next window: longer where this one's edges were not sharp.
func (p patience) after(sharp bool) patience {
	p = max(p, leastPatience)
	if sharp {
		return max(leastPatience, p-p/8)
	}
	return min(4*p, mostPatience)
}

// fail keeps the first error.
func (a *observer) fail(errs ...error) {
	for _, err := range errs {
		if a.err == nil {
			a.err = err
		}
	}
}

// During opens a window, and closes it unless another one follows at once. One whose edges are not sharp is left out, with
// what was allocated in it: how exact it is must not depend on how busy the machine is.
func (a *observer) During(ctx context.Context, b probe.Burst) error {
	const tries = 5
	slack := a.patience.slack(a.plan.window)
	gaps := probe.Gaps()
	begin, sharp := a.last, a.opened
	for n := 0; n < tries && !sharp && a.err == nil; n++ {
		begin, sharp = a.edge(slack)
		a.opened = sharp
	}
	if a.opened {
		a.fail(a.probe.Open(a.distance(a.plan)))
		probe.Sleep(ctx, a.plan.window)
		var ended bool
		a.last, ended = a.edge(slack)
		sharp = (ended || b.Stays) && probe.Gaps() == gaps
	}
	if !b.Stays {
		a.fail(a.probe.Shut())
		a.opened = false
	}
	w := window{from: begin.at, to: a.last.at, stratum: a.plan.stratum, used: a.last.used - begin.used}
	w.Allocated, w.books = a.last.Minus(begin.Allocated), a.last.books.Minus(begin.books)
	w.inside = a.costOf(w.Allocated)
	if b.Stays {
		w.stratum = w.length()
	}
	a.patience = a.patience.after(sharp)
	if a.unpaid = sharp && a.err == nil; a.unpaid {
		a.windows = append(a.windows, w)
	}
	return a.err
}

// Attach begins to trap.
func (a *observer) Attach() error { return a.probe.Attach() }

// Detach ends what Attach began.
func (a *observer) Detach() {
	start := time.Now()
	a.probe.Detach()
	a.opened = false
	if n := len(a.windows); !probe.Prompt() && n > 0 { // nobody has counted the traps that there were until it returned
		w := &a.windows[n-1]
		a.uncounted += time.Duration(float64(w.inside) / float64(max(1, w.length())) * float64(time.Since(start)))
	}
}

// Spent is what the probe has cost until now.
func (a *observer) Spent() (cost, last time.Duration, err error) {
	now, err := a.probe.Read()
	return a.costOf(now) + a.uncounted, 0, err
}

func (a *observer) costOf(n Allocated) time.Duration {
	return time.Duration(n.Traps)*a.each() + n.Looks
}

// each is what a trap costs.
func (a *observer) each() time.Duration {
	return probe.InPrograms(a.probe.Each())
}

// distance is how many bytes from one sample to the next make as many samples in a second of all the worker's CPU time as were
// asked for; and in a window no more than one in so much time, some times what a sample takes.
func (a *observer) distance(p plan) float64 {
	const first = 4 << 10 // in a window that is as short as the first one, few enough samples
	const each = 50 * time.Microsecond
	bytes, of := 0.0, 0.0
	for _, w := range a.windows {
		bytes += float64(w.Bytes) * w.times()
		of += w.used.Seconds() * w.times()
	}
	if bytes == 0 {
		return first
	}
	return bytes / of * max(p.share()/a.at.Hz, each.Seconds())
}
