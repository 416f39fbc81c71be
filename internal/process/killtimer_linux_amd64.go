package process

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A killTimer is a timer of the kernel's that ends this process by SIGKILL: see timer_create(2).
type killTimer int32

func newKillTimer() (killTimer, error) {
	event := struct { // struct sigevent
		value          uint64
		signal, notify int32
		rest           [48]byte
	}{signal: int32(unix.SIGKILL)} // notify 0: SIGEV_SIGNAL
	var id int32
	if _, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&id))); errno != 0 {
		return 0, errno
	}
	return killTimer(id), nil
}

// arm has it run, from now on and once, however long it has run already.
func (t *killTimer) arm(after time.Duration) {
	if t != nil {
		t.set(after)
	}
}

func (t *killTimer) disarm() {
	if t != nil {
		t.set(0)
	}
}

func (t *killTimer) set(after time.Duration) {
	timing := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(*t), 0, uintptr(unsafe.Pointer(&timing)), 0, 0, 0)
}
