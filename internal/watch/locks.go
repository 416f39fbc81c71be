package watch

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/worker"
)

// Locks is how long locks of shared memory were waited for and held, while the probe that times them was attached: its
// budget may have kept it from being so all the time.
type Locks struct {
	Probed float64 `json:"probed_share"` // of the interval
	Bursts int     `json:"bursts"`       // that began in it
	Cost   float64 `json:"cost_share"`   // of the workers' time, at most, that timing took
	Budget float64 `json:"budget_share"`
	// AtLeast: timing took a good part of the time that was probed, and a worker that takes locks all the while takes fewer then.
	AtLeast bool       `json:"rates_at_least,omitempty"`
	Zones   []ZoneLock `json:"zones"` // by name
}

// A ZoneLock is the lock of one zone of shared memory.
type ZoneLock struct {
	Zone string        `json:"zone"`
	Rate float64       `json:"taken_per_second"` // while that was probed
	Wait explain.Spans `json:"wait"`
	Hold explain.Spans `json:"hold"`
}

// locksOf are the locks of workers together.
func locksOf(workers []worker.LockTimes) *Locks {
	var all worker.LockTimes
	rates := map[string]float64{}
	probed := 0
	for _, l := range workers {
		all = all.And(l)
		if l.Probed <= 0 {
			continue
		}
		probed++
		for _, z := range l.Zones {
			rates[z.Zone] += float64(z.Waits.Count()) / l.Probed.Seconds()
		}
	}
	share := func(d time.Duration) float64 {
		return min(1, float64(d)/float64(max(1, all.Elapsed)))
	}
	locks := &Locks{Probed: share(all.Probed), Bursts: all.Bursts, Cost: share(all.Cost), Budget: all.Budget, Zones: []ZoneLock{}}
	const good = 4 // a quarter
	locks.AtLeast = all.Cost > all.Probed/good
	for _, z := range all.Zones {
		locks.Zones = append(locks.Zones, ZoneLock{
			Zone: z.Zone, Wait: explain.SpansOf(z.Waits, all.Probed), Hold: explain.SpansOf(z.Holds, all.Probed),
			// Of all workers: those that were not probed in the interval are taken for ones like the others.
			Rate: rates[z.Zone] * float64(len(workers)) / float64(max(1, probed)),
		})
	}
	return locks
}

// A lockTimer times a worker's locks all the while.
type lockTimer struct {
	probe *worker.LockProbe
	stop  func()
	last  worker.LockTimes // at the end of the interval before
	err   error            // why they cannot be timed
}

// TimeLocks has the intervals tell how long the worker waits for locks of shared memory and holds them, at a cost of at most a
// share of its time (0.01: 1 %). s has to stay open until the Watcher is closed. A worker whose locks cannot be timed says why
// in what is Unknown.
func (w *Watcher) TimeLocks(s *worker.Sampler, budget float64) {
	p, err := w.w.ProbeLocks(s, budget)
	if err != nil {
		w.locks = &lockTimer{err: err, stop: func() {}}
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx, math.MaxInt64) }) // its error comes with the times
	w.locks = &lockTimer{probe: p, stop: func() { cancel(); running.Wait(); p.Close() }}
}

// locks fills in what has been timed since the interval before.
func (r *Row) locks(t *lockTimer) {
	if t == nil {
		return
	}
	var now worker.LockTimes
	err := t.err
	if err == nil {
		now, err = t.probe.Times()
	}
	if err != nil {
		r.unknown("time of locks", err)
		return
	}
	times := now.Since(t.last)
	t.last = now
	r.moment.locks = &times
	r.Locks = locksOf([]worker.LockTimes{times})
}

// masterLocks are those of all its workers; nil: nobody asked.
func masterLocks(rows []Row) *Locks {
	var all []worker.LockTimes
	for _, r := range rows {
		if r.moment.locks != nil {
			all = append(all, *r.moment.locks)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return locksOf(all)
}
