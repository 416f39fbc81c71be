package harm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// explain says what moonlap's processes do that should have ended: the state of each thread, and where in the kernel it waits. The
// first of them, where it runs, says in its output where each of its goroutines is, and ends.
func (l *look) explain() string {
	var out strings.Builder
	pids := l.processes()
	for _, pid := range pids {
		fmt.Fprintf(&out, "\n%d %q, parent %d:", pid, (&process.Process{PID: pid}).Title(), process.Parent(pid))
		for _, thread := range threads(pid) {
			out.WriteString("\n" + threadState(thread))
		}
	}
	if !l.stay(0) {
		l.signal(syscall.SIGQUIT, l.Process.Pid)
		l.stay(time.Second)
	}
	return out.String()
}

// threadState is what the kernel tells of a thread.
func threadState(id int) string {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(id), name))
		if err != nil {
			return err.Error()
		}
		return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", ")
	}
	kept := []string{fmt.Sprintf("  thread %d waits in %s", id, read("wchan"))}
	for field := range strings.SplitSeq(read("status"), ", ") {
		for _, wanted := range []string{"State:", "TracerPid:", "SigPnd:", "ShdPnd:", "SigBlk:"} {
			if strings.HasPrefix(field, wanted) {
				kept = append(kept, strings.Join(strings.Fields(field), " "))
			}
		}
	}
	return strings.Join(append(kept, "syscall "+read("syscall"), read("stack")), "; ")
}
