package cli

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/moonlap/moonlap/internal/process"
)

// suspendable has moonlap let go of all workers before Ctrl-Z suspends it, or the terminal does that it writes to or reads
// from in the background. Whoever started it with such a signal ignored wants it to go on.
func suspendable() {
	suspended := make(chan os.Signal, 3)
	for _, s := range []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		if !signal.Ignored(s) {
			signal.Notify(suspended, s)
		}
	}
	go func() {
		runtime.LockOSThread()
		for s := range suspended {
			process.Suspend(func() { stopBy(s.(syscall.Signal)) })
		}
	}()
}
