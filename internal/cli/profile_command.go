package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/moonlap/moonlap/internal/doctor"
	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/worker"
)

// sampleCommand runs the command and samples those of its processes that have LuaJIT in them, until
// it ends, or its time is over. ended is how it ended, where that was not well; err is for a command
// that could not be run, or of which nothing was seen.
func sampleCommand(ctx context.Context, sys Sys, o profileOptions, by way) (all []sampled, ended, err error) {
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
	h := &hunt{started: time.Now(), failed: map[int]error{}}
	select {
	case g := <-group:
		all = h.follow(running, sys, o, by, g)
	case <-running.Done(): // it could not be started
	}
	r := <-over
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
	if len(all) == 0 && ctx.Err() == nil {
		return nil, nil, errors.Join(h.unseen(o.command[0]), ended)
	}
	return all, ended, nil
}

// A hunt is for those processes of a command that have LuaJIT in them.
type hunt struct {
	started time.Time
	lock    sync.Mutex    // of what follows
	failed  map[int]error // why processes that run cannot be opened
}

// follow samples the command's processes until ctx ends.
func (h *hunt) follow(ctx context.Context, sys Sys, o profileOptions, by way, group int) (seen []sampled) {
	const long = 1000 * time.Hour
	p := newProgress(sys)
	defer p.Clear()
	f := following{by: by, Follower: follow.Follower{
		Find:    func() ([]int, error) { return append([]int{group}, process.Family(group)...), nil },
		Expects: func() bool { return true },
		Every:   h.every, Open: h.open, Young: true, Patience: long,
	}}
	f.duration = func(int) time.Duration {
		if o.bounded {
			return o.duration - time.Since(h.started)
		}
		return long
	}
	f.tick = func() {
		passed, left := time.Since(h.started), time.Duration(0) // not known
		if o.bounded {
			left = max(0, o.duration-passed)
		}
		p.Update("looking at "+o.command[0], passed, left)
	}
	for _, one := range f.until(ctx, ctx) {
		if errors.Is(one.err, worker.ErrEnded) {
			one.err = nil // it has run to its end
		}
		if one.err != nil {
			h.note(one.pid, one.err)
		}
		if one.series.Elapsed > 0 {
			seen = append(seen, one)
		}
	}
	return seen
}

// every is how often new processes are looked for: more rarely when the command is no longer young.
func (h *hunt) every() time.Duration {
	const young = 2 * time.Second
	if time.Since(h.started) < young {
		return 2 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// open opens a process, and keeps why it cannot be as long as it runs.
func (h *hunt) open(pid int) (*worker.Worker, error) {
	w, err := worker.OpenProgram(pid)
	if err == nil || runs(pid) {
		h.note(pid, err)
	}
	return w, err
}

func (h *hunt) note(pid int, err error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.failed[pid] = err
}

// unseen says why nothing was seen.
func (h *hunt) unseen(command string) error {
	why := errors.New("it has ended too soon, or it has gone into the background: let it run there, as nginx with -g 'daemon off;'")
	for pid, err := range h.failed {
		if err != nil {
			why = fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return fmt.Errorf("no process of %s could be looked into: %w", command, why)
}
