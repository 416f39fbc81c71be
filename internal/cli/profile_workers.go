package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/worker"
)

// sampleAll samples workers, and those that a reload puts in their place.
func sampleAll(ctx context.Context, sys Sys, pids []int, o profileOptions, by way) []sampled {
	end := time.Now().Add(o.duration)
	finding, stop := context.WithDeadline(ctx, end)
	defer stop()
	p := newProgress(sys)
	defer p.Clear()
	f := following{by: by, Follower: follow.Follower{Find: o.Find, Expects: o.Expects, Patience: 5 * time.Second, Open: openWorker}}
	// The workers there are now are sampled for the whole duration, which begins when they are open: on an overloaded machine
	// that takes a while. Those that are started later are until the end.
	f.duration = func(pid int) time.Duration {
		if slices.Contains(pids, pid) {
			return o.duration
		}
		return time.Until(end)
	}
	f.tick = func() {
		left := max(0, time.Until(end))
		p.Update("looking at "+plainPIDs(pids), o.duration-left, left)
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

func plainPIDs(pids []int) string {
	if len(pids) == 1 {
		return fmt.Sprintf("worker %d", pids[0])
	}
	return fmt.Sprintf("%d workers", len(pids))
}
