package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// tracer is the process that traces p already, or 0.
func (p *Process) tracer() int {
	thread := statusOf(p.PID, "TracerPid:") // the kernel names the thread
	if thread == 0 {
		return 0
	}
	if process := statusOf(thread, "Tgid:"); process != 0 {
		return process
	}
	return thread
}

// statusOf reads a number from /proc/PID/status; 0 where there is none.
func statusOf(pid int, field string) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(value))
			return n
		}
	}
	return 0
}
