package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func isMainThread() bool { return unix.Gettid() == unix.Getpid() }

// A holding is this program's end of a holder.
type holding struct {
	in, out *os.File // requests, answers
	busy    bool

	cmd  *exec.Cmd     // nil: the holder is a thread of this program
	over chan struct{} // then: it has ended
}

// brief is how long this program, too, may go before all others while a process stands still.
const brief = 10 * time.Millisecond

// errCut is the error of a stop that the kernel ended, because its holder did nothing.
var errCut = errors.New("it went on before its time: moonlap's own holder of it stood still, or was killed")

// stopped is Stopped of a process that runs, on a thread that looks at nothing else.
func (p *Process) stopped(hold time.Duration, look func(Registers) error) (pause time.Duration, err error) {
	if p.holding != nil && p.holding.busy {
		return 0, p.explainTrace(unix.EPERM)
	}
	Hurry()
	if hold <= brief {
		unhindered()
	}
	began := time.Now()
	var g grip
	if g, err = p.hold(hold); err == nil && g.Outcome == refused && g.Errno == unix.EPERM && descends(p.PID) {
		p.letGo()
		p.holding, err = holdBeside(p.PID)
		if err == nil {
			g, err = p.hold(hold)
		}
	}
	switch {
	case err != nil:
		p.letGo()
		return time.Since(began), err
	case g.Outcome == refused:
		err = p.explainTrace(g.Errno)
	case g.Outcome == ended:
		err = fmt.Errorf("process %d has ended", p.PID)
	case g.Outcome == hangs:
		err = fmt.Errorf("process %d does not stop: it hangs in the kernel", p.PID)
	}
	if err != nil { // the holder has ended
		p.letGo()
		return 0, err
	}
	p.holding.busy = true
	r := g.Registers
	now := time.Now() // before the other clock: better too early than too late
	p.until = now.Add(g.Until - monotonic())
	p.kept.begin()
	if g.Errno != 0 {
		err = p.explainTrace(fmt.Errorf("its registers: %w", g.Errno))
	} else {
		err = look(Registers{
			RIP: r.Rip, RSP: r.Rsp, RBP: r.Rbp, RBX: r.Rbx, RDX: r.Rdx,
			R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RDI: r.Rdi,
		})
	}
	p.kept.end()
	p.until = time.Time{}
	p.holding.busy = false
	var f release
	if e := ask(p.holding, 0, &f, hold+stopPatience); e != nil {
		p.letGo()
		return time.Since(began), e // what was read may have changed while it was
	}
	if f.Errno != 0 && err == nil {
		err = p.explainTrace(fmt.Errorf("let it go on: %w", f.Errno))
	}
	return f.Pause, err
}

// hold asks the holder to stop the process, and starts one where there is none.
func (p *Process) hold(hold time.Duration) (g grip, err error) {
	if p.holding == nil {
		if p.holding, err = startHolder(p.PID); err != nil {
			return g, fmt.Errorf("process %d is not stopped, for want of a second process that lets it go on in any case: %w", p.PID, err)
		}
	}
	return g, ask(p.holding, uint64(hold), &g, hold+stopPatience)
}

// letGo ends the holder. What it holds goes on.
func (p *Process) letGo() {
	h := p.holding
	if p.holding = nil; h == nil {
		return
	}
	h.in.Close()
	if h.cmd != nil {
		h.cmd.Process.Kill()
		go h.cmd.Wait() // one that is frozen ends later
	} else {
		<-h.over
	}
	h.out.Close()
}

// ask sends a request to a holder and waits for the answer.
func ask[T any](h *holding, request uint64, answer *T, patience time.Duration) error {
	if !send(int(h.in.Fd()), &request) || !readable(int(h.out.Fd()), patience) || !receive(int(h.out.Fd()), answer) {
		return errCut
	}
	return nil
}

// startHolder starts a holder for a process.
func startHolder(pid int) (*holding, error) {
	cmd := exec.Command("/proc/self/exe", strconv.Itoa(pid))
	cmd.Args[0] = holderName
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return connect(func(in, out *os.File) (*holding, error) {
		defer in.Close()
		defer out.Close()
		cmd.Stdin, cmd.Stdout = in, out
		return &holding{cmd: cmd}, cmd.Start()
	})
}

// holdBeside makes a thread of this program the holder. Yama lets nobody but those who started a process trace it, where they
// are not privileged. Only the kernel's timer is missing then: it would end this program.
func holdBeside(pid int) (*holding, error) {
	return connect(func(in, out *os.File) (*holding, error) {
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer in.Close()
			defer out.Close()
			onThread(func() error {
				(&holder{pid: pid, in: int(in.Fd()), out: int(out.Fd())}).run()
				return nil
			})
		}()
		return &holding{over: over}, nil
	})
}

// connect makes two pipes for a holder, which start takes its ends of.
func connect(start func(in, out *os.File) (*holding, error)) (*holding, error) {
	in, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, out, err := os.Pipe()
	if err != nil {
		in.Close()
		requests.Close()
		return nil, err
	}
	h, err := start(in, out)
	if err != nil {
		requests.Close()
		answers.Close()
		return nil, err
	}
	h.in, h.out = requests, answers
	return h, nil
}

// descends reports whether a process is a child of this program's, or of such a one.
func descends(pid int) bool {
	for range 100 {
		switch pid = Parent(pid); pid {
		case os.Getpid():
			return true
		case 0, 1:
			return false
		}
	}
	return false
}

func (p *Process) explainTrace(err error) error {
	if errors.Is(err, unix.ESRCH) || p.Ended() { // a zombie may not be traced: the kernel says EPERM
		return fmt.Errorf("process %d has ended", p.PID)
	}
	if err == unix.EPERM {
		if tracer := p.tracer(); tracer != 0 {
			return fmt.Errorf("process %d is already traced, by process %d: a debugger or another moonlap", p.PID, tracer)
		}
	}
	return p.explain(fmt.Errorf("stop process %d: %w", p.PID, err))
}
