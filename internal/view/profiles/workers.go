package profiles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Progress is called with how far the sampling is; left is 0 where that is not known.
type Progress func(what string, elapsed, left time.Duration)

// A following is processes that are sampled side by side, and what became of each.
type following struct {
	follow.Follower
	way      *Way
	duration func(pid int) time.Duration // how long a process is sampled that has just been opened
	tick     func()                      // is called while they are, by one of them at a time; nil: by none

	lock sync.Mutex // of what follows, and of tick
	all  []Sampled  // by process ID, once all is over
}

// until samples processes as they come until ctx ends; others that come after finding has ended are left alone.
func (f *following) until(ctx, finding context.Context) []Sampled {
	f.Observe = func(ctx context.Context, w *worker.Worker) error {
		seen := f.way.sample(ctx, w, f.duration(w.PID), func(time.Duration) {
			f.lock.Lock()
			defer f.lock.Unlock()
			if f.tick != nil {
				f.tick()
			}
		})
		why := seen.err
		f.saw(ctx, seen)
		return why
	}
	f.Failed = func(pid int, err error) { f.saw(ctx, Sampled{pid: pid, err: err}) }
	f.RunUntil(ctx, finding)
	slices.SortStableFunc(f.all, func(a, b Sampled) int { return a.pid - b.pid })
	return f.all
}

func (f *following) saw(ctx context.Context, one Sampled) {
	if ctx.Err() != nil {
		one.err = nil // which is not the worker's fault
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.all = append(f.all, one)
	if f.way.opened != nil {
		f.way.opened()
	}
}

// Of processes that are known, and sampled until they end.
func fixed(pids ...int) func() ([]int, error) { return func() ([]int, error) { return pids, nil } }
func never() bool                             { return false }
func hours(int) time.Duration                 { return time.Hour }

// together are those of all, and why some of them failed that have not just ended.
func together(all []Sampled) (series sample.Series, err error) {
	for _, one := range all {
		if series = series.And(one.series); !errors.Is(one.err, worker.ErrEnded) {
			err = errors.Join(err, one.err)
		}
	}
	return series, err
}

// Workers samples the workers of a choice, which are pids by now, and those that a reload puts in their place.
func (w *Way) Workers(ctx context.Context, c *follow.Choice, pids []int, duration time.Duration, progress Progress) []Sampled {
	end := time.Now().Add(duration)
	finding, stop := context.WithDeadline(ctx, end)
	defer stop()
	f := following{way: w, Follower: follow.Follower{Find: c.Find, Expects: c.Expects, Patience: 5 * time.Second, Open: openWorker}}
	// The workers there are now are sampled for the whole duration, which begins when they are open: on an overloaded machine
	// that takes a while. Those that are started later are until the end.
	f.duration = func(pid int) time.Duration {
		if slices.Contains(pids, pid) {
			return duration
		}
		return time.Until(end)
	}
	f.tick = func() {
		left := max(0, time.Until(end))
		progress("sampling "+Name(pids), duration-left, left)
	}
	return f.until(ctx, finding)
}

func openWorker(pid int) (*worker.Worker, error) {
	w, err := worker.Open(pid)
	if errors.Is(err, os.ErrPermission) {
		err = fmt.Errorf("%w; what moonlap starts itself is profiled without: moonlap profile -- COMMAND", err)
	}
	return w, err
}

// Name names workers.
func Name(pids []int) string {
	if len(pids) == 1 {
		return fmt.Sprintf("worker %d", pids[0])
	}
	return fmt.Sprintf("%d workers", len(pids))
}
