package runtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watchPeak runs a child that was started with ptrace to its end and returns its peak
// memory in bytes, read when it has done its last work and its memory is still there. It
// must be called on the thread that started the child, and leaves the child to be waited
// for. It is 0 where the child had children of its own, whose peak may be the larger: theirs
// cannot be separated from that of the process which forked it (see [Run]).
func watchPeak(pid int) (peak int64) {
	set := false
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || info.Code != cldTrapped:
			return peak
		}
		// Only a stop is taken here; when it was killed in between, its end stays.
		if unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil) != nil {
			continue
		}
		if !set {
			const options = unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
			set = unix.PtraceSetOptions(pid, options) == nil
		}
		stop := stopOf(&info)
		signal, event := stop&0xff, stop>>8
		if event == unix.PTRACE_EVENT_EXIT {
			peak = peakOf(pid)
		}
		if event != 0 || signal == int(syscall.SIGTRAP) {
			signal = 0 // ptrace's own, not the program's
		}
		unix.PtraceCont(pid, signal)
	}
}

// cldTrapped says in a siginfo that a traced child has stopped; see sigaction(2).
const cldTrapped = 4

// stopOf is si_status: after signo, errno and code come, aligned to 8, pid, uid and it.
func stopOf(info *unix.Siginfo) int {
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), 24)))
}

// peakOf is a living process's peak memory, VmHWM; 0 when it has waited for children.
func peakOf(pid int) int64 {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// Behind the name, which may hold anything: state, ppid, …, minflt, cminflt; see proc(5).
	const cminflt = 8
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) <= cminflt || fields[cminflt] != "0" {
		return 0
	}
	return highWater(strconv.Itoa(pid))
}

// highWater is VmHWM in /proc/PID/status, in bytes; 0 where it is not there.
func highWater(pid string) int64 {
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, "\n")
	kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	return kilobytes << 10
}
