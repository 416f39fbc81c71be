package memory

import "syscall"

// decoyEnd is the descriptor by which a decoy of this program's lives: see entry_linux_amd64.s, which sets it. 0: there is none.
//
// A decoy is a small process, of some pages, that is as ready to be ended as this one and does nothing but wait for this one's end.
// When the kernel ends a process for want of memory, there is a moment in which it no longer counts as being ended, and its memory
// is not yet free: its last thread has ended, and waits for a processor, perhaps. Whoever needs memory then has the kernel end
// another one. That is the decoy, in place of a worker.
var decoyEnd int32

// endDecoy ends the decoy.
func endDecoy() {
	if decoyEnd != 0 {
		syscall.Close(int(decoyEnd))
		decoyEnd = 0
	}
}
