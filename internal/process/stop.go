package process

import (
	"fmt"
	"runtime"
	"time"
)

// Registers are those of x86-64 that walking stacks needs; all others may have been overwritten by
// the time a caller's frame is reached, and RDX and RDI, too, are the innermost frame's alone.
type Registers struct {
	RIP, RSP, RBP, RBX, RDX, R12, R13, R14, R15 uint64
	RDI                                         uint64 `json:",omitzero"` // first argument of a function that has just begun
}

// stopPatience is how long a process may take to stop. One that hangs in the kernel (state D) does
// not stop until the kernel lets it go.
const stopPatience = 2 * time.Second

// Stopped runs look while the process's main thread is stopped, with its registers, and lets it go
// on afterwards, as it was: a thread that slept in a system call goes on sleeping. It stands still for hold
// at most, whatever becomes of this program (see holder); then look goes on without it: what has been read is kept, by
// page, until look ends, and other memory is ErrLeftOut. So what look reads is of one moment.
// The duration is how long the process stood still, at most: from when it was last seen to run.
func (p *Process) Stopped(hold time.Duration, look func(Registers) error) (pause time.Duration, err error) {
	if p.Core != nil {
		return 0, look(p.Core.registers)
	}
	defer Touch()()
	err = onThread(func() error { pause, err = p.stopped(hold, look); return err })
	return pause, err
}

// errOver is the error of reading a process that goes on already.
var errOver = fmt.Errorf("the time that the process may stand still is over: %w", ErrLeftOut)

// goesOn reports that the process no longer stands still, although look reads it.
func (p *Process) goesOn() bool { return !p.until.IsZero() && time.Now().After(p.until) }

// onThread runs work on a thread of its own. ptrace knows threads, not processes: all its calls have
// to come from one. The thread is never unlocked, so it ends with the goroutine, and the kernel lets
// go whatever it still traces.
func onThread(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if isMainThread() {
			// This one outlives its goroutine. While it is locked, work gets another one.
			defer runtime.UnlockOSThread()
			done <- onThread(work)
			return
		}
		done <- work()
	}()
	return <-done
}
