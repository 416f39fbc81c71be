package process

import "golang.org/x/sys/unix"

// Hurry has this thread, which has to end with what it is for (runtime.LockOSThread), go before others: when it waits for a
// processor, another process stands still, or is looked at too late. Where that is not allowed, it is as it was.
func Hurry() {
	const first = -20
	unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), first)
}
