package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/record"
)

// A Command is any program to be run whole, with no harness inside.
type Command struct {
	Path string   // of the program
	Args []string // with argv[0]
	Env  []string // "NAME=value", on top of our own environment
	Dir  string   // working folder; "" is ours

	// Without them stdin is empty, and what goes to stdout and stderr is read, counted,
	// and its beginning kept. Nobody copies what is an [os.File].
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// OutTo and ErrTo are given all that is read of stdout and stderr; they may be nil.
	OutTo, ErrTo io.Writer
	Timeout      time.Duration // 0 is no bound
	// Watch learns the peak memory of a small program, too; such a run is not for timing.
	Watch bool
	// Note is called with the command's process group when it has started, and 0 when it is gone.
	Note func(group int)
}

// A Ran is what became of a [Command]. Times are ns.
type Ran struct {
	PID              int
	Began            time.Time
	WallNS           float64 // from before the fork until the kernel reported its end
	SpawnNS          float64 // the part of it until the program was loaded: fork and exec
	UserNS, SystemNS float64 // CPU time, its waited-for children's with it
	// MaxRSS is the peak memory in bytes of its largest process; 0 where that is not
	// known, see [Run].
	MaxRSS int64
	// Switches are context switches: it gave up the CPU to wait, or it was taken away.
	Voluntary, Involuntary int
	Status                 int // -1 after a signal
	Signal                 string
	TimedOut               bool
	Stdout, Stderr         *record.Output // nil where nothing was printed, or not to us
}

// Run runs a command in a process group of its own that is gone when Run returns. The
// error is for a program that cannot be started, and ctx's: the command is then ended,
// first by SIGTERM. A command that fails is no error.
//
// The kernel counts the memory of the process that forked into the peak of the program
// that takes its place, so a peak below our own is not known (setmax_mm_hiwater_rss in
// the kernel's exec_mmap), unless the run is watched.
func Run(ctx context.Context, cmd Command) (Ran, error) {
	spec := childSpec{
		path: cmd.Path, name: cmd.Args[0], args: cmd.Args[1:], env: environ(cmd.Env...), dir: cmd.Dir,
		stdin: cmd.Stdin, stdout: cmd.Stdout, stderr: cmd.Stderr,
		parentDeath: syscall.SIGKILL, outliveOutputs: grace, watch: cmd.Watch, note: cmd.Note,
	}
	c, err := startChild(spec)
	if spec.watch && errors.Is(err, syscall.EPERM) { // ptrace is forbidden here
		spec.watch = false
		c, err = startChild(spec)
	}
	if err != nil {
		return Ran{}, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	var outputs sync.WaitGroup
	drain := func(pipe *os.File, to io.Writer) *capture {
		if pipe == nil {
			return nil
		}
		widen(pipe)
		kept := &capture{}
		var out io.Writer = kept
		if to != nil {
			out = io.MultiWriter(kept, to)
		}
		outputs.Go(func() { io.Copy(out, pipe) })
		return kept
	}
	stdout, stderr := drain(c.stdout, cmd.OutTo), drain(c.stderr, cmd.ErrTo)
	state, timedOut := c.await(ctx, cmd.Timeout)
	c.hurry(200 * time.Millisecond)
	outputs.Wait()
	c.closePipes()

	ran := ranOf(c, state)
	ran.TimedOut, ran.Stdout, ran.Stderr = timedOut, stdout.output(), stderr.output()
	return ran, ctx.Err()
}

// ranOf is what the kernel says of a child that is dead.
func ranOf(c *child, state *os.ProcessState) Ran {
	ran := Ran{
		PID: state.Pid(), Began: c.began, Status: state.ExitCode(),
		WallNS: float64(c.died.Sub(c.began)), SpawnNS: float64(c.ran.Sub(c.began)),
		UserNS: float64(state.UserTime()), SystemNS: float64(state.SystemTime()),
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		ran.Signal = shortSignal(status.Signal())
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		ran.Voluntary, ran.Involuntary = int(usage.Nvcsw), int(usage.Nivcsw)
		// The kernel's counters of our own memory are a little behind.
		if peak := usage.Maxrss << 10; peak > highWater("self")+1<<20 {
			ran.MaxRSS = peak
		}
		ran.MaxRSS = max(ran.MaxRSS, c.peak)
	}
	return ran
}

// widen makes a pipe hold more, so that a command which prints much waits less for us; see
// pipe(7). Where the limit of all pipes is reached it stays as it is.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

// await waits for the child's end, and brings it about when its time is over.
func (c *child) await(ctx context.Context, timeout time.Duration) (state *os.ProcessState, timedOut bool) {
	var late, kill <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	cancelled := ctx.Done()
	for {
		select {
		case state = <-c.exited:
			return state, timedOut
		case <-late:
			timedOut, late = true, nil
			c.kill()
		case <-cancelled:
			cancelled = nil
			c.term(true)
			kill = time.After(grace)
		case <-kill:
			c.kill()
		}
	}
}
