package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// A process's private folder is named after its owner, this moonlap:
// moonlap-NAMESPACE-PID-START-RANDOM, with the PID namespace and the owner's start
// time. So a later moonlap can tell that the owner is gone (a number alone could be
// somebody else's by then) and remove what a killed one left behind.

// NewFolder makes a folder for temporary files, which the caller is to remove. Should
// moonlap be killed before that, the next one removes it.
func NewFolder() (string, error) { return newFolder() }

// newFolder makes a private folder, and sweeps up after dead owners first.
func newFolder() (string, error) {
	sweepOnce.Do(func() { sweep(os.TempDir()) })
	self := os.Getpid()
	start, err := startTime(self)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp("", folderName(pidNamespace(), self, start))
}

var sweepOnce sync.Once

// sweep removes the folders in dir whose owners, of this PID namespace, are dead.
// What it cannot remove belongs to another user and is theirs to sweep.
func sweep(dir string) {
	folders, _ := filepath.Glob(filepath.Join(dir, "moonlap-*-*-*-*"))
	for _, folder := range folders {
		part := strings.Split(filepath.Base(folder), "-")
		if len(part) != 5 || part[1] != pidNamespace() {
			continue
		}
		pid, err := strconv.Atoi(part[2])
		if err != nil {
			continue
		}
		if start, err := startTime(pid); err != nil || start != part[3] {
			os.RemoveAll(folder)
		}
	}
}

// startTime is when a process began, in clock ticks since boot; see proc(5).
func startTime(pid int) (string, error) {
	fields, err := statFields(pid)
	if err != nil {
		return "", fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	const starttime = 22 - 3 // field 22; fields begins with field 3
	return fields[starttime], nil
}

// pidNamespace tells apart containers that share a temporary folder.
var pidNamespace = sync.OnceValue(func() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "0"
	}
	return strings.Trim(link, "pid:[]")
})
