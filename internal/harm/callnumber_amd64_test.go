package harm

import "golang.org/x/sys/unix"

// callNumber is the system call that a traced thread is about to make.
func callNumber(thread int) (uint64, bool) {
	var r unix.PtraceRegs
	err := unix.PtraceGetRegs(thread, &r)
	return r.Orig_rax, err == nil
}
