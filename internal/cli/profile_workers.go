package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/worker"
)

// lookAtAll looks at the workers side by side, and at those that a reload puts in their place.
func lookAtAll(ctx context.Context, sys Sys, pids []int, o profileOptions, by looker) []looked {
	end := time.Now().Add(o.duration)
	p := newProgress(sys)
	var all []looked
	var lock sync.Mutex // of p and all
	var wait sync.WaitGroup
	// The workers there are now are looked at for the whole duration, which begins when they are open:
	// on an overloaded machine that takes a while. Those that are started later are until the end.
	look := func(pid int, duration func() time.Duration) {
		l := looked{pid: pid}
		w, err := worker.Open(pid)
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%w; what moonlap starts itself is profiled without: moonlap profile -- COMMAND", err)
		}
		if l.err = err; err == nil {
			defer w.Close()
			l = by.look(ctx, w, duration(), func(time.Duration) {
				lock.Lock()
				defer lock.Unlock()
				left := max(0, time.Until(end))
				p.Update("looking at "+plainPIDs(pids), o.duration-left, left)
			})
		}
		if ctx.Err() != nil { // not the worker's fault
			l.err = nil
		}
		lock.Lock()
		defer lock.Unlock()
		all = append(all, l)
	}
	for _, pid := range pids {
		wait.Go(func() { look(pid, func() time.Duration { return o.duration }) })
	}
	if len(o.pids) == 0 { // no certain ones
		o.follow(ctx, end, pids, func(pid int) {
			wait.Go(func() { look(pid, func() time.Duration { return time.Until(end) }) })
		})
	}
	wait.Wait()
	p.Clear()
	slices.SortFunc(all, func(a, b looked) int { return a.pid - b.pid })
	return all
}

func plainPIDs(pids []int) string {
	if len(pids) == 1 {
		return fmt.Sprintf("worker %d", pids[0])
	}
	return fmt.Sprintf("%d workers", len(pids))
}
