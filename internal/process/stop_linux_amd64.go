package process

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

func isMainThread() bool { return unix.Gettid() == unix.Getpid() }

// stopped is Stopped, on a thread of its own.
func (p *Process) stopped(look func(Registers) error) (pause time.Duration, err error) {
	Hurry()
	if err := p.seize(); err != nil {
		return 0, p.explainTrace(err)
	}
	began := time.Now()
	defer func() { pause = time.Since(began) }()
	if err := unix.PtraceInterrupt(p.PID); err != nil {
		return 0, p.explainTrace(err)
	}
	signal, err := p.awaitStop()
	if err != nil {
		return 0, err
	}
	p.kept.begin()
	defer func() {
		p.kept.end()
		if e := detach(p.PID, signal); e != nil && err == nil {
			err = p.explainTrace(fmt.Errorf("let it go on: %w", e))
		}
	}()
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(p.PID, &r); err != nil {
		return 0, p.explainTrace(fmt.Errorf("its registers: %w", err))
	}
	return 0, look(Registers{
		RIP: r.Rip, RSP: r.Rsp, RBP: r.Rbp, RBX: r.Rbx, RDX: r.Rdx,
		R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RDI: r.Rdi,
	})
}

// seize begins to trace the process. Another moonlap that looks at it is done soon.
func (p *Process) seize() error {
	const tries = 20
	for n := 1; ; n++ {
		err := unix.PtraceSeize(p.PID)
		if err != unix.EPERM || n == tries || p.ended() {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// What a waited-for child did: codes of waitid(2).
const (
	cldTrapped = 4
	cldStopped = 5
)

// awaitStop waits for the stop that was asked for. A signal other than 0 came first and stopped the
// thread; it has to reach it all the same.
func (p *Process) awaitStop() (signal unix.Signal, err error) {
	pause := 10 * time.Microsecond
	for deadline := time.Now().Add(stopPatience); ; {
		// The process may be our own child, whose end is somebody else's to wait for.
		var about unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.PID, &about, unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err == nil && about.Signo != 0 && about.Code != cldTrapped && about.Code != cldStopped {
			return 0, fmt.Errorf("process %d has ended", p.PID)
		}
		var status unix.WaitStatus
		pid := 0
		if err == nil && about.Signo != 0 {
			pid, err = unix.Wait4(p.PID, &status, unix.WNOHANG|unix.WALL, nil)
		}
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, p.explainTrace(err)
		case pid == 0 && time.Now().After(deadline):
			return 0, fmt.Errorf("process %d does not stop: it hangs in the kernel", p.PID)
		case pid == 0:
			time.Sleep(pause)
			pause = min(2*pause, time.Millisecond)
		case !status.Stopped():
			return 0, fmt.Errorf("process %d has ended", p.PID)
		case int(status)>>16 == unix.PTRACE_EVENT_STOP:
			return 0, nil
		default:
			return status.StopSignal(), nil
		}
	}
}

func detach(pid int, signal unix.Signal) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (p *Process) explainTrace(err error) error {
	if errors.Is(err, unix.ESRCH) || p.ended() { // a zombie may not be traced: the kernel says EPERM
		return fmt.Errorf("process %d has ended", p.PID)
	}
	if err == unix.EPERM {
		if tracer := p.tracer(); tracer != 0 {
			return fmt.Errorf("process %d is already traced, by process %d: a debugger or another moonlap", p.PID, tracer)
		}
	}
	return p.explain(fmt.Errorf("stop process %d: %w", p.PID, err))
}
