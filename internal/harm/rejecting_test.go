package harm

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/probe"
)

// rejectVariable makes this program moonlap under a seccomp filter of its own, by which its trial process ends as on a kernel that asks
// filters about uretprobe: killed for a system call, on its way back from a probed function. No kernel that Debian packages does.
const rejectVariable = "MOONLAP_HARM_REJECT"

// rejectGoodEnds puts this program and all that it starts under a filter that kills who ends with the status 0. So does the trial
// process, once it is back from the function; moonlap ends with another one where it refuses something.
func rejectGoodEnds() {
	const number, argument = 0, 16 // in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_EXIT_GROUP, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: argument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const setFilter, allThreads = 1, 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); errno != 0 {
		panic(errno)
	}
}

// refuseReturns: where a trial process dies, each command that probes returns refuses workers under a filter, and says why. watch
// and doctor do the rest.
func (b *bed) refuseReturns(t *testing.T) {
	const refused, ended, whatever = 1, -1, -2 // well, by which the filter kills it; as the machine is
	for _, c := range []struct {
		line   string
		status int
	}{
		{"profile --locks --master MASTER --duration LONG --out FOLDER/p.html", refused},
		{"profile --resumes --master MASTER --duration LONG --out FOLDER/p.html", refused},
		{"watch --master MASTER --every 500ms --json --locks --once", ended},
		{"doctor --json", whatever},
	} {
		l := b.look(c.line, "env", rejectVariable+"=1")
		err := l.finish()
		if err == nil {
			if c.status == whatever {
				c.status = l.ProcessState.ExitCode()
			}
			err = l.exits(c.status, probe.ErrReturns.Error()+", as it killed a trial process just now (bad system call)")
		}
		if w := b.settled(l).err(); err != nil || w != nil {
			t.Errorf("%s: %v\n%v", c.line, err, w)
		}
	}
}
