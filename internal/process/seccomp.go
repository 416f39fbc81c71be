package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Filtered reports whether a thread of a process may not make every system call: whether seccomp is on. See proc_pid_status(5).
func Filtered(pid int) (bool, error) {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(folder)
	if err != nil {
		return false, (&Process{PID: pid}).explain(err)
	}
	for _, t := range threads {
		status, err := os.ReadFile(folder + "/" + t.Name() + "/status")
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended
		}
		if err != nil {
			return false, err
		}
		if filtered(string(status)) {
			return true, nil
		}
	}
	return false, nil
}

// filtered reads the line "Seccomp:" of a thread: 0 is off. A kernel without seccomp has no such line.
func filtered(status string) bool {
	for line := range strings.Lines(status) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode) != "0"
		}
	}
	return false
}
