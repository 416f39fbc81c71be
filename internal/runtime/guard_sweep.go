package runtime

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Marks are what reports that a process was started by us, or by what we had started.
type marks struct {
	variable string // in guardVariable
	limit    uint64 // see limits
}

// watchOver is the guard's work once we are gone: it ends all that is noted, or has a mark, and what descends from that, and
// removes our folders. Who has left its process group, wiped its environment, lost its parents and set all its limits anew is not
// found; nor is what another program starts that was there before, as systemd or a container's.
func watchOver(note *os.File, mark marks, folders string) {
	groups, processes := readNote(note)
	if groups == nil {
		return
	}
	// nginx's master got a signal with our end, and gives back its users' sockets. The others are gone.
	for end := time.Now().Add(4 * grace); slices.ContainsFunc(slices.Concat(groups, processes), alive) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	const passes = 200 // of some milliseconds: what is killed may have started another one
	for range passes {
		for _, group := range groups {
			syscall.Kill(-group, syscall.SIGKILL)
		}
		if !killMarked(mark, processes) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	left, _ := filepath.Glob(quoteGlob(folders) + "*")
	for _, folder := range left {
		os.RemoveAll(folder)
	}
}

// alive reports that a process runs, and is no zombie.
func alive(pid int) bool {
	s, err := statFields(pid)
	return err == nil && s[0] != "Z" && s[0] != "X"
}

// statFields are those of /proc/PID/stat from the third on, the state; see proc_pid_stat(5).
func statFields(pid int) ([]string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	return parseStat(stat)
}

// parseStat reads /proc/PID/stat: the second field, the program's name, may hold anything, also blanks and ")".
func parseStat(stat []byte) ([]string, error) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return nil, syscall.EINVAL
	}
	return fields, nil
}

// killMarked ends the processes, those with a mark, and the descendants of both, and reports whether there were any.
func killMarked(mark marks, processes []int) (found bool) {
	parents := map[int]int{}
	doomed := map[int]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		fields, err := statFields(pid)
		if err != nil || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		env, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		doomed[pid] = slices.Contains(processes, pid) || hasMark(env, mark.variable) || hasLimit(pid, mark.limit)
	}
	for pid := range parents {
		// A number that ends the chain is not among them; a chain longer than there are processes is none.
		for above, n := pid, 0; above > 1 && n <= len(parents); above, n = parents[above], n+1 {
			if doomed[above] {
				found = killSame(pid, parents[pid]) || found
				break
			}
		}
	}
	return found
}

// killSame ends a process if its parent is still the one that was seen: its number may be another's by now.
func killSame(pid, parent int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	fields, err := statFields(pid)
	if err != nil {
		return false
	}
	// A parent that has just been killed leaves its child to another one.
	if now, _ := strconv.Atoi(fields[1]); now != parent && alive(parent) {
		return false
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// hasMark reports whether an environment, as /proc shows it, has the mark among its marks.
func hasMark(env []byte, mark string) bool {
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		if marks, ok := bytes.CutPrefix(variable, []byte(guardVariable+"=")); ok {
			return slices.Contains(strings.Split(string(marks), ","), mark)
		}
	}
	return false
}

// quoteGlob makes a path of a pattern that stands for itself.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
