package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/toplines"
	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// Kinds of evidence that are observed where a flag with their name asks for it.
var Kinds = []observe.Kind{locks.Kind, toplines.Kind}

// Watching is workers that are watched together, interval after interval, while they are followed.
type Watching struct {
	follow.Choice
	Every  time.Duration
	Once   bool // one interval, and done
	Waits  bool // it goes on while there is no worker
	Dicts  bool // what is in shared dicts, too
	Top    int  // of their largest entries
	Kinds  []observe.Kind
	Budget float64 // share of a worker's time that these may cost
	Now    func() time.Time
	Show   func(Snapshot) error
	// Best are the best times of the yardsticks ever seen on this machine, by kind in ns.
	Best map[string]float64

	host hostWatch

	lock   sync.Mutex // of what follows; held during an interval, so that no worker is closed in it
	open   map[int]*watched
	failed map[int]error // why others cannot be watched
	later  bool          // there was an interval
	err    error         // why it ended
}

// ErrSome is that Once has shown some of the workers, and others could not be watched.
var ErrSome = errors.New("not all workers could be watched")

// A watched is a worker while it can be watched.
type watched struct {
	*watcher
	ended chan struct{}
}

// Run shows interval after interval, until the context ends, or there is no worker and nobody waits for one.
func (a *Watching) Run(ctx context.Context) error {
	a.open, a.failed = map[int]*watched{}, map[int]error{}
	a.host.start(a.Best)
	defer a.host.sampler.Stop()
	f := follow.Follower{
		Find: a.Find, Expects: a.Expects, Round: a.round, Open: worker.Open, Patience: 5 * time.Second, Observe: a.observe,
		Failed: func(pid int, err error) {
			a.lock.Lock()
			defer a.lock.Unlock()
			a.failed[pid] = err
		},
	}
	f.Run(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, ErrServing) {
		return cause
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return a.err
}

// observe has a worker take part in the intervals, until it has ended or ctx does.
func (a *Watching) observe(ctx context.Context, w *worker.Worker) error {
	one := &watched{newWatcher(w), make(chan struct{})}
	defer one.Close()
	if len(a.Kinds) > 0 {
		one.Observe(a.Kinds, a.Budget)
	}
	a.lock.Lock()
	a.open[w.PID] = one
	delete(a.failed, w.PID) // of which an earlier one had the number
	a.lock.Unlock()
	select {
	case <-ctx.Done():
	case <-one.ended:
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.open[w.PID] == one {
		delete(a.open, w.PID)
	}
	return worker.ErrEnded
}

// round shows one interval of the workers that were found, and reports whether another one follows.
func (a *Watching) round(ctx context.Context, pids []int, err error) (goesOn bool) {
	if err != nil && !a.Waits {
		a.err = err
		return false
	}
	a.host.begin()
	rows := a.rows(ctx, pids)
	if len(rows) == 0 {
		pause(ctx, a.Every)
	}
	if ctx.Err() != nil || len(rows) == 0 && !a.Waits {
		return ctx.Err() == nil
	}
	snapshot := newSnapshot(a.Now(), rows, nginx.WorkersOf)
	snapshot.Host = a.host.end()
	if snapshot.Seen() == 0 && !a.Waits && (a.Once || !a.replaced(pids)) {
		a.err = errors.New(rows[0].Error)
		return false
	}
	if a.err = a.Show(snapshot); a.err == nil && a.Once && snapshot.Seen() < len(rows) {
		a.err = ErrSome
	}
	return a.err == nil && !a.Once
}

// replaced reports that there are other workers than these by now, as after a reload.
func (a *Watching) replaced(pids []int) bool {
	now, err := a.Find()
	return err == nil && slices.ContainsFunc(now, func(pid int) bool { return !slices.Contains(pids, pid) })
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// rows watches workers side by side for an interval. Those that are still being opened have none, but in the first interval.
func (a *Watching) rows(ctx context.Context, pids []int) []Row {
	for a.lock.Lock(); !a.later && ctx.Err() == nil && slices.ContainsFunc(pids, a.opens); a.lock.Lock() {
		a.lock.Unlock()
		pause(ctx, time.Millisecond)
	}
	defer a.lock.Unlock()
	a.later = true
	rows := make([]Row, len(pids))
	masters := map[int]bool{} // whose shared dicts are read, which their workers share
	var wait sync.WaitGroup
	for i, pid := range pids {
		w := a.open[pid]
		if err := a.failed[pid]; w == nil && err != nil {
			rows[i] = Failed(pid, err)
		}
		if w == nil {
			continue
		}
		w.Dicts, w.Largest = false, a.Top
		if master := process.Parent(pid); a.Dicts && !masters[master] {
			masters[master] = true
			w.Dicts = true
		}
		wait.Go(func() { rows[i] = w.Interval(ctx, a.Every) })
	}
	wait.Wait()
	maps.DeleteFunc(a.failed, func(pid int, _ error) bool { return !slices.Contains(pids, pid) })
	for i, pid := range pids {
		if w := a.open[pid]; w != nil && rows[i].Error != "" {
			a.failed[pid] = errors.New(rows[i].Error)
			delete(a.open, pid)
			close(w.ended)
		}
	}
	return slices.DeleteFunc(rows, func(r Row) bool { return r.PID == 0 })
}

// opens reports whether a process is being opened. One that has ended is not reported where others are expected in its place.
func (a *Watching) opens(pid int) bool {
	return a.open[pid] == nil && a.failed[pid] == nil && (!(&process.Process{PID: pid}).Ended() || !a.Expects())
}
