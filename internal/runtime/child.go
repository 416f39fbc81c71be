package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child is the operating system's side of a process: a program in a process group
// of its own that dies with us, with a pipe for each channel.
type child struct {
	cmd      *exec.Cmd
	guard    *guard
	group    bool       // it leads a process group
	channels []*os.File // read ends; the child has the write ends from 3 on
	stdout   *os.File   // read ends, nil where the code has its own
	stderr   *os.File
	exited   chan *os.ProcessState

	// When it was asked for, when its program ran, and when it was seen to be dead: to be
	// read after exited has spoken.
	began, ran, died time.Time
	watch            bool
	note             func(group int) // called with the group's number at once when it exists, and 0 when it is gone
	cpus             []int           // it may run on; none: where we may
	peak             int64           // of a child that is watched: its peak memory in bytes, or 0
}

// A childSpec says how to start one.
type childSpec struct {
	path, name     string // name is its argv[0]
	dir            string // working folder; "" is ours
	args, env      []string
	channels       int
	stdin          io.Reader
	stdout, stderr io.Writer // nil: a pipe to read from
	parentDeath    syscall.Signal
	shareTerminal  bool // stay in our process group
	outliveOutputs time.Duration
	watch          bool // by ptrace, for its peak memory
	note           func(group int)
	cpus           []int // it may run on; none: where we may
}

func startChild(spec childSpec) (c *child, err error) {
	over, err := guarded()
	if err != nil {
		return nil, err
	}
	c = &child{
		guard:  over,
		cmd:    exec.Command(spec.path, spec.args...),
		group:  !spec.shareTerminal,
		watch:  spec.watch,
		note:   spec.note,
		cpus:   spec.cpus,
		exited: make(chan *os.ProcessState, 1),
	}
	c.cmd.Args[0] = spec.name
	c.cmd.Dir = spec.dir
	c.cmd.Env = spec.env
	c.cmd.Stdin = spec.stdin
	c.cmd.Stdout, c.cmd.Stderr = spec.stdout, spec.stderr
	c.cmd.WaitDelay = spec.outliveOutputs
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.group, Pdeathsig: spec.parentDeath, Ptrace: spec.watch}

	theirs, err := c.openPipes(spec)
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			c.closePipes()
		}
	}()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go c.live(started)
	return c, <-started
}

// openPipes makes the child's channels, and a pipe for each output that it has none for. It returns
// the child's ends, which we close once it has them, also after an error.
func (c *child) openPipes(spec childSpec) (theirs []*os.File, err error) {
	pipe := func() (read, write *os.File, err error) {
		read, write, err = newPipe()
		if err == nil {
			theirs = append(theirs, write)
		}
		return read, write, err
	}
	for range spec.channels {
		read, write, err := pipe()
		if err != nil {
			return theirs, err
		}
		c.channels = append(c.channels, read)
		c.cmd.ExtraFiles = append(c.cmd.ExtraFiles, write)
	}
	if spec.stdout == nil {
		read, write, err := pipe()
		if err != nil {
			return theirs, err
		}
		c.stdout, c.cmd.Stdout = read, write
	}
	if spec.stderr == nil {
		read, write, err := pipe()
		if err != nil {
			return theirs, err
		}
		c.stderr, c.cmd.Stderr = read, write
	}
	return theirs, nil
}

// newPipe is os.Pipe with a write end that blocks, as programs expect of theirs; a
// read end that does not takes deadlines.
func newPipe() (read, write *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fd[0], true); err != nil {
		unix.Close(fd[0])
		unix.Close(fd[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd[0]), "|0"), os.NewFile(uintptr(fd[1]), "|1"), nil
}

// trapped is the code of a child that a tracer has stopped, CLD_TRAPPED of waitid(2).
const trapped = 4

// live starts the program and waits for its end. The signal at the parent's death
// comes at the death of the *thread* that started the child (golang/go#27505), so
// this goroutine keeps its thread for as long as the child lives.
func (c *child) live(started chan<- error) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	release := bindThread(c.cpus) // a child begins where the thread that starts it may run
	c.began = time.Now()
	err := withLimit(c.cmd.Start) // returns when the program has taken the place of our code
	c.ran = time.Now()
	release()
	unguard := func() {}
	if err == nil {
		what := c.cmd.Process.Pid
		if c.note != nil {
			c.note(what)
		}
		if !c.group {
			what = -what
		}
		unguard = c.guard.add(what)
	}
	started <- err
	if err != nil {
		return
	}
	if c.watch {
		c.peak = watchPeak(c.cmd.Process.Pid)
	}
	// While the dead leader is not waited for, its number can't become another
	// group's, so the rest of the group is killed in between.
	for {
		var about unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, &about, unix.WEXITED|unix.WNOWAIT, nil)
		// Where we trace our own child, in a profile, its stops are reported here, too.
		if stopped := err == nil && about.Code == trapped; stopped {
			time.Sleep(time.Millisecond)
		} else if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	c.died = time.Now()
	c.kill()
	c.cmd.Wait()
	unguard()
	if c.note != nil {
		c.note(0)
	}
	c.exited <- c.cmd.ProcessState
}

// term asks the program to end; all tells its whole group.
func (c *child) term(all bool) {
	c.signal(syscall.SIGTERM, all)
}

// kill ends the program and its group.
func (c *child) kill() {
	c.signal(syscall.SIGKILL, true)
}

// killChildren ends the program's own children, and not the program. Where the kernel
// does not list them, it ends none.
func (c *child) killChildren() {
	pid := c.cmd.Process.Pid
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return
	}
	for field := range strings.FieldsSeq(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			syscall.Kill(child, syscall.SIGKILL)
		}
	}
}

func (c *child) signal(s syscall.Signal, all bool) {
	pid := c.cmd.Process.Pid
	if all && c.group {
		pid = -pid
	}
	syscall.Kill(pid, s)
}

// hurry makes reads from the pipes end within d, also when somebody who escaped
// still holds the other ends.
func (c *child) hurry(d time.Duration) {
	end := time.Now().Add(d)
	for _, f := range c.pipes() {
		f.SetReadDeadline(end)
	}
}

func (c *child) closePipes() {
	for _, f := range c.pipes() {
		f.Close()
	}
}

func (c *child) pipes() []*os.File {
	pipes := append([]*os.File{}, c.channels...)
	if c.stdout != nil {
		pipes = append(pipes, c.stdout)
	}
	if c.stderr != nil {
		pipes = append(pipes, c.stderr)
	}
	return pipes
}

// shortSignal is SIGSEGV, …
func shortSignal(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}

// bindThread lets our thread run on these CPUs alone, until it is released. Where the kernel refuses, it runs where it did.
func bindThread(cpus []int) (release func()) {
	var before, set unix.CPUSet
	if len(cpus) == 0 || unix.SchedGetaffinity(0, &before) != nil {
		return func() {}
	}
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if unix.SchedSetaffinity(0, &set) != nil {
		return func() {}
	}
	return func() { unix.SchedSetaffinity(0, &before) }
}
