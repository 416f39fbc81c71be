package process

import (
	"runtime"
	"time"
)

// Registers are those of x86-64 that walking stacks needs; all others may have been overwritten by
// the time a caller's frame is reached.
type Registers struct {
	RIP, RSP, RBP, RBX, RDX, R12, R13, R14, R15 uint64
}

// stopPatience is how long a process may take to stop. One that hangs in the kernel (state D) does
// not stop until the kernel lets it go.
const stopPatience = 2 * time.Second

// Stopped runs look while the process's main thread is stopped, with its registers, and lets it go
// on afterwards, as it was: a thread that slept in a system call goes on sleeping. The process does
// nothing meanwhile, so look should be quick. If this program is killed, the kernel lets the
// process go on.
func (p *Process) Stopped(look func(Registers) error) error {
	done := make(chan error)
	go func() {
		// ptrace knows threads, not processes: all its calls have to come from one. The thread is
		// never unlocked, so it ends with the goroutine, and whatever it still traces is let go.
		runtime.LockOSThread()
		done <- p.stopped(look)
	}()
	return <-done
}
