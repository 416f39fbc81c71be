package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/watch"
	"github.com/moonlap/moonlap/internal/worker"
)

// watching is workers that are watched together, interval after interval, while they are followed.
type watching struct {
	sys   Sys
	o     watchOptions
	kinds []observe.Kind // of evidence that are observed besides
	show  func(watch.Snapshot) error

	lock   sync.Mutex // of what follows; held during an interval, so that no worker is closed in it
	open   map[int]*watched
	failed map[int]error // why others cannot be watched
	later  bool          // there was an interval
	err    error         // why it ended
}

// A watched is a worker while it can be watched.
type watched struct {
	*watch.Watcher
	ended chan struct{}
}

// run shows interval after interval, until the context ends, or there is no worker: but a page that is served waits for others.
func (a *watching) run(ctx context.Context) error {
	a.open, a.failed = map[int]*watched{}, map[int]error{}
	f := follow.Follower{
		Find: a.o.Find, Expects: a.o.Expects, Round: a.round, Open: worker.Open, Patience: 5 * time.Second, Observe: a.observe,
		Failed: func(pid int, err error) {
			a.lock.Lock()
			defer a.lock.Unlock()
			a.failed[pid] = err
		},
	}
	f.Run(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errServing) {
		return cause
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return a.err
}

// observe has a worker take part in the intervals, until it has ended or ctx does.
func (a *watching) observe(ctx context.Context, w *worker.Worker) error {
	one := &watched{watch.Of(w), make(chan struct{})}
	defer one.Close()
	if len(a.kinds) > 0 {
		one.Observe(a.kinds, float64(a.o.budget))
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
func (a *watching) round(ctx context.Context, pids []int, err error) (goesOn bool) {
	waits := a.o.listen != ""
	if err != nil && !waits {
		a.err = err
		return false
	}
	rows := a.rows(ctx, pids)
	if len(rows) == 0 {
		pause(ctx, a.o.every)
	}
	if ctx.Err() != nil || len(rows) == 0 && !waits {
		return ctx.Err() == nil
	}
	snapshot := watch.NewSnapshot(a.sys.Now(), rows, nginx.WorkersOf)
	if snapshot.Seen() == 0 && !waits && (a.o.once || !a.replaced(pids)) {
		a.err = errors.New(rows[0].Error)
		return false
	}
	if a.err = a.show(snapshot); a.err == nil && a.o.once && snapshot.Seen() < len(rows) {
		a.err = exitWith(ExitPartial, nil)
	}
	return a.err == nil && !a.o.once
}

// replaced reports that there are other workers than these by now, as after a reload.
func (a *watching) replaced(pids []int) bool {
	now, err := a.o.Find()
	return err == nil && slices.ContainsFunc(now, func(pid int) bool { return !slices.Contains(pids, pid) })
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// rows watches workers side by side for an interval. Those that are still being opened have none, but in the first interval.
func (a *watching) rows(ctx context.Context, pids []int) []watch.Row {
	for a.lock.Lock(); !a.later && ctx.Err() == nil && slices.ContainsFunc(pids, a.opens); a.lock.Lock() {
		a.lock.Unlock()
		pause(ctx, time.Millisecond)
	}
	defer a.lock.Unlock()
	a.later = true
	rows := make([]watch.Row, len(pids))
	masters := map[int]bool{} // whose shared dicts are read, which their workers share
	var wait sync.WaitGroup
	for i, pid := range pids {
		w := a.open[pid]
		if err := a.failed[pid]; w == nil && err != nil {
			rows[i] = watch.Failed(pid, err)
		}
		if w == nil {
			continue
		}
		w.Dicts, w.Largest = false, a.o.top
		if master := process.Parent(pid); a.o.dicts && !masters[master] {
			masters[master] = true
			w.Dicts = true
		}
		wait.Go(func() { rows[i] = w.Interval(ctx, a.o.every) })
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
	return slices.DeleteFunc(rows, func(r watch.Row) bool { return r.PID == 0 })
}

// opens reports whether a process is being opened. One that has ended is not told of where others are expected in its place.
func (a *watching) opens(pid int) bool {
	return a.open[pid] == nil && a.failed[pid] == nil && (runs(pid) || !a.o.Expects())
}
