package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/moonlap/moonlap/internal/doctor"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/worker"
)

// lookAtCommand runs the command and looks at those of its processes that have LuaJIT in them, until
// it ends, or its time is over. ended is how it ended, where that was not well; err is for a command
// that could not be run, or of which nothing was seen.
func lookAtCommand(ctx context.Context, sys Sys, o profileOptions, by looker) (all []looked, ended, err error) {
	path, err := doctor.Program(o.command[0], sys.Getenv("PATH"))
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.bounded {
		running, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	cmd := runtime.Command{Path: path, Args: o.command, OutTo: sys.Stderr, ErrTo: sys.Stderr}
	if f, ok := sys.Stderr.(*os.File); ok {
		cmd.Stdout, cmd.Stderr = f, f
	}
	// A process in the background is stopped for good when it reads from the terminal.
	if f, ok := sys.Stdin.(*os.File); ok && !term.IsTerminal(int(f.Fd())) {
		cmd.Stdin = f
	}
	h := &hunt{o: o, by: by, progress: newProgress(sys), started: time.Now(), tried: map[int]*attempt{}}
	group := make(chan int, 2)
	cmd.Note = func(g int) { group <- g }
	type result struct {
		ran runtime.Ran
		err error
	}
	over := make(chan result, 1)
	go func() {
		ran, err := runtime.Run(running, cmd)
		cancel()
		over <- result{ran, err}
	}()
	select {
	case g := <-group:
		h.follow(running, g)
	case <-running.Done(): // it could not be started
	}
	r := <-over
	h.wait.Wait()
	h.progress.Clear()
	switch {
	case r.err != nil && running.Err() == nil:
		return nil, nil, r.err
	case r.err != nil && !errors.Is(r.err, context.Canceled) && !errors.Is(r.err, context.DeadlineExceeded):
		return nil, nil, r.err
	case r.err != nil: // ended by us
	case r.ran.Signal != "":
		ended = fmt.Errorf("%s was killed by %s", o.command[0], r.ran.Signal)
	case r.ran.Status != 0:
		ended = fmt.Errorf("%s ended with status %d", o.command[0], r.ran.Status)
	}
	if len(h.all) == 0 && ctx.Err() == nil {
		return nil, nil, errors.Join(h.unseen(), ended)
	}
	return h.all, ended, nil
}

// A hunt looks for the processes of a command that have LuaJIT in them, and looks at them.
type hunt struct {
	o       profileOptions
	by      looker
	started time.Time

	tried map[int]*attempt

	lock     sync.Mutex // of what follows
	wait     sync.WaitGroup
	progress *progress
	all      []looked
}

// An attempt to open a process is made again, ever more rarely: it may be starting, or load LuaJIT
// late, or run another program next.
type attempt struct {
	again time.Time
	pause time.Duration
	err   error
	open  bool // it is looked at
}

const (
	firstPause = 2 * time.Millisecond
	lastPause  = 500 * time.Millisecond
	young      = 2 * time.Second // after that, new processes are looked for more rarely
)

// follow opens the command's processes until ctx ends.
func (h *hunt) follow(ctx context.Context, group int) {
	h.try(ctx, group)
	for ctx.Err() == nil {
		for _, pid := range process.Family(group) {
			h.try(ctx, pid)
		}
		every := 100 * time.Millisecond
		if time.Since(h.started) < young {
			every = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

func (h *hunt) try(ctx context.Context, pid int) {
	h.lock.Lock()
	defer h.lock.Unlock()
	a := h.tried[pid]
	if a == nil {
		a = &attempt{pause: firstPause}
		h.tried[pid] = a
	}
	if a.open || time.Now().Before(a.again) {
		return
	}
	w, err := worker.OpenProgram(pid)
	if err != nil {
		if runs(pid) {
			a.err = err
		}
		a.pause = min(2*a.pause, lastPause)
		a.again = time.Now().Add(a.pause)
		return
	}
	a.open, a.err = true, nil
	h.wait.Go(func() { h.look(ctx, w, a) })
}

// look looks at a process until it ends.
func (h *hunt) look(ctx context.Context, w *worker.Worker, a *attempt) {
	defer w.Close()
	const long = 1000 * time.Hour
	duration := long
	if h.o.bounded {
		duration = h.o.duration - time.Since(h.started)
	}
	seen := h.by.look(ctx, w, duration, func(time.Duration) {
		h.lock.Lock()
		defer h.lock.Unlock()
		passed := time.Since(h.started)
		left := max(0, duration-passed)
		if !h.o.bounded {
			left = 0 // not known
		}
		h.progress.Update("looking at "+h.o.command[0], passed, left)
	})
	h.lock.Lock()
	defer h.lock.Unlock()
	if errors.Is(seen.err, worker.ErrEnded) || ctx.Err() != nil {
		seen.err = nil // it has run to its end, or was ended
	}
	a.err = seen.err
	a.open, a.again = false, time.Now().Add(firstPause) // another program may run in it now
	if seen.looks.Elapsed > 0 {
		h.all = append(h.all, seen)
		slices.SortStableFunc(h.all, func(a, b looked) int { return a.pid - b.pid })
	}
}

// unseen says why nothing was seen.
func (h *hunt) unseen() error {
	why := errors.New("it has ended too soon, or it has gone into the background: let it run there, as nginx with -g 'daemon off;'")
	for pid, a := range h.tried {
		if a.err != nil {
			why = fmt.Errorf("process %d: %w", pid, a.err)
		}
	}
	return fmt.Errorf("no process of %s could be looked into: %w", h.o.command[0], why)
}
