package cli

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopBy does what the kernel does by itself on such a signal: it stops all threads, unless nobody could have moonlap go on.
// It returns when they go on. signal.Reset leaves the handler of Go's, which then takes the signal and does nothing.
func stopBy(s syscall.Signal) {
	const maskSize = 8
	var standard, ours struct{ handler, flags, restorer, mask uintptr } // of the kernel's struct sigaction; all 0 is SIG_DFL
	set := func(to, was unsafe.Pointer) {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(to), uintptr(was), maskSize, 0, 0)
	}
	set(unsafe.Pointer(&standard), unsafe.Pointer(&ours))
	unix.Tgkill(os.Getpid(), unix.Gettid(), s)
	set(unsafe.Pointer(&ours), nil)
}
