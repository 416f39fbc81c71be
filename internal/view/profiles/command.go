package profiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Command is run to be sampled. Its stdout goes to Stderr, too.
type Command struct {
	Args     []string
	Path     string // of the program
	Duration time.Duration
	Bounded  bool // it is ended after Duration
	Stdin    io.Reader
	Stderr   io.Writer
}

// Command runs the command and samples those of its processes that have LuaJIT in them, until it ends, or its time is over. ended is
// how it ended, where that was not well; err is for a command that could not be run, or of which nothing was seen.
func (w *Way) Command(ctx context.Context, c Command, progress Progress) (all []Sampled, ended, err error) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.Bounded {
		running, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	cmd := runtime.Command{Path: c.Path, Args: c.Args, OutTo: c.Stderr, ErrTo: c.Stderr}
	if f, ok := c.Stderr.(*os.File); ok {
		cmd.Stdout, cmd.Stderr = f, f
	}
	// A process in the background is stopped for good when it reads from the terminal.
	if f, ok := c.Stdin.(*os.File); ok && !term.IsTerminal(int(f.Fd())) {
		cmd.Stdin = f
	}
	group := make(chan int, 2)
	cmd.Note = func(g int) { group <- g }
	var ran runtime.Ran
	var failed error
	over := make(chan struct{})
	go func() {
		ran, failed = runtime.Run(running, cmd)
		cancel()
		close(over)
	}()
	h := &hunt{Command: c, started: time.Now(), failed: map[int]error{}, progress: progress}
	select {
	case g := <-group:
		all = h.follow(running, w, g)
	case <-running.Done(): // it could not be started
	}
	<-over
	ours := errors.Is(failed, context.Canceled) || errors.Is(failed, context.DeadlineExceeded)
	switch {
	case failed != nil && !(ours && running.Err() != nil):
		return nil, nil, failed
	case failed != nil: // ended by us
	case ran.Signal != "":
		ended = fmt.Errorf("%s was killed by %s", c.Args[0], ran.Signal)
	case ran.Status != 0:
		ended = fmt.Errorf("%s ended with status %d", c.Args[0], ran.Status)
	}
	if len(all) == 0 && ctx.Err() == nil {
		return nil, nil, errors.Join(h.unseen(c.Args[0]), ended)
	}
	return all, ended, nil
}

// A hunt is for those processes of a command that have LuaJIT in them.
type hunt struct {
	Command
	started  time.Time
	progress Progress
	lock     sync.Mutex    // of what follows
	failed   map[int]error // why processes that run cannot be opened
}

// left is how long the command may still be sampled; 0: it is not known, or over.
func (h *hunt) left() time.Duration {
	if !h.Bounded {
		return 0
	}
	return max(0, h.Duration-time.Since(h.started))
}

// follow samples the command's processes until ctx ends.
func (h *hunt) follow(ctx context.Context, w *Way, group int) (seen []Sampled) {
	const long = 1000 * time.Hour
	f := following{way: w, Follower: follow.Follower{
		Find:    func() ([]int, error) { return append([]int{group}, process.Family(group)...), nil },
		Expects: func() bool { return true },
		Every:   h.every, Open: h.open, Young: true, Patience: long,
	}}
	f.duration = func(int) time.Duration {
		if h.Bounded {
			return h.left()
		}
		return long
	}
	f.tick = func() { h.progress("sampling "+h.Args[0], time.Since(h.started), h.left()) }
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
	if err == nil || !(&process.Process{PID: pid}).Ended() {
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
