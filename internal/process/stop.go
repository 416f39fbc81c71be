package process

import (
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
// on afterwards, as it was: a thread that slept in a system call goes on sleeping. The process does
// nothing meanwhile, so look should be quick; what it reads is kept until it ends, so that reading
// close to it again costs nothing. If this program is killed, the kernel lets the process go on.
// The duration is how long the process stood still, at most: the time until it stopped counts.
func (p *Process) Stopped(look func(Registers) error) (pause time.Duration, err error) {
	if p.Core != nil {
		return 0, look(p.Core.registers)
	}
	err = onThread(func() error { pause, err = p.stopped(look); return err })
	return pause, err
}

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
