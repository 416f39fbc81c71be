package sample

import (
	"fmt"
)

// A Cause is what a thread slept for, as far as the kernel tells.
type Cause string

// Causes.
const (
	Program Cause = "a program"   // to start, or to end
	Pause   Cause = "a time"      // to pass
	Lock    Cause = "a lock"      // of another thread or process
	Locked  Cause = "a file lock" // of another process
	Disk    Cause = "the disk"    // to be read or written
	Network Cause = "a socket or pipe"
	Fault   Cause = "a page fault" // memory that is in a file or swapped out
	Memory  Cause = "memory"       // of the process, which another thread changes
	Other   Cause = "something else"
)

// calls are the system calls of x86-64 that put threads to sleep, and what for. Where a file may be
// one of a disk or a socket, the cause is "": the state of the thread tells.
var calls = map[int]struct {
	name  string
	cause Cause
}{
	-1: {"page fault", Fault},
	0:  {"read", ""}, 1: {"write", ""}, 17: {"pread64", ""}, 18: {"pwrite64", ""}, 19: {"readv", ""}, 20: {"writev", ""},
	295: {"preadv", ""}, 296: {"pwritev", ""}, 40: {"sendfile", ""}, 275: {"splice", ""}, 326: {"copy_file_range", Disk},
	2: {"open", Disk}, 257: {"openat", Disk}, 3: {"close", Disk}, 4: {"stat", Disk}, 5: {"fstat", Disk}, 6: {"lstat", Disk},
	262: {"newfstatat", Disk}, 332: {"statx", Disk}, 21: {"access", Disk}, 78: {"getdents", Disk}, 217: {"getdents64", Disk},
	76: {"truncate", Disk}, 77: {"ftruncate", Disk}, 82: {"rename", Disk}, 83: {"mkdir", Disk}, 87: {"unlink", Disk},
	263: {"unlinkat", Disk}, 264: {"renameat", Disk}, 285: {"fallocate", Disk}, 89: {"readlink", Disk}, 221: {"fadvise64", Disk},
	74: {"fsync", Disk}, 75: {"fdatasync", Disk}, 162: {"sync", Disk}, 277: {"sync_file_range", Disk}, 306: {"syncfs", Disk},
	26: {"msync", Disk},
	9:  {"mmap", Memory}, 10: {"mprotect", Memory}, 11: {"munmap", Memory}, 12: {"brk", Memory}, 28: {"madvise", Memory},
	7: {"poll", Network}, 271: {"ppoll", Network}, 23: {"select", Network}, 270: {"pselect6", Network},
	232: {"epoll_wait", Network}, 281: {"epoll_pwait", Network}, 441: {"epoll_pwait2", Network},
	42: {"connect", Network}, 43: {"accept", Network}, 288: {"accept4", Network}, 44: {"sendto", Network},
	45: {"recvfrom", Network}, 46: {"sendmsg", Network}, 47: {"recvmsg", Network}, 299: {"recvmmsg", Network}, 307: {"sendmmsg", Network},
	35: {"nanosleep", Pause}, 230: {"clock_nanosleep", Pause}, 34: {"pause", Pause}, 128: {"rt_sigtimedwait", Pause}, 130: {"rt_sigsuspend", Pause},
	202: {"futex", Lock}, 449: {"futex_waitv", Lock}, 65: {"semop", Lock}, 220: {"semtimedop", Lock},
	72: {"fcntl", Locked}, 73: {"flock", Locked},
	56: {"clone", Program}, 435: {"clone3", Program}, 57: {"fork", Program}, 58: {"vfork", Program}, 59: {"execve", Program},
	61: {"wait4", Program}, 247: {"waitid", Program},
}

// uninterruptible is the kernel's state of a thread that waits for a disk, mostly (TASK_UNINTERRUPTIBLE).
const uninterruptible = 2

// causeOf tells the system call by its name, and what it slept for, from its number and the state of the thread.
func causeOf(call int, state uint32) (string, Cause) {
	known, ok := calls[call]
	switch {
	case !ok:
		return fmt.Sprintf("system call %d", call), Other
	case known.cause == "" && state&uninterruptible != 0:
		return known.name, Disk
	case known.cause == "":
		return known.name, Network
	}
	return known.name, known.cause
}
