package memory

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// What commands take at most before they know how much they will read, as measured with a hundred megabytes of Lua and two workers.
const (
	toLook  = 32 << 20 // stacks by ptrace, a process's symbols
	toProbe = 48 << 20 // eBPF's programs and maps, and what they tell
)

// A TightError says that this program does not begin, because others may need the memory.
type TightError struct {
	Needed int64
	Limit  Limit // that is in the way
}

func (e *TightError) Error() string {
	together := ""
	if e.Limit.Together {
		together = ", whose processes the kernel ends all at once (memory.oom.group)"
	}
	return fmt.Sprintf("moonlap needs about %s of memory to begin, and %v has %s to spare%s: raise that limit, or start moonlap outside of this cgroup",
		Size(e.Needed), e.Limit, Size(e.Limit.Spare), together)
}

// room reports whether the memory cgroups of this program have so much to spare. Where one cannot be read, only the kernel knows.
func (s System) room(needed int64) error {
	for _, l := range s.Groups("self") {
		if l.Err == nil && l.Spare < needed {
			return &TightError{Needed: needed, Limit: l}
		}
	}
	return nil
}

// together reports whether the kernel ends this process and another one at once, and why not otherwise: a cgroup that both are in.
func (s System) together(pid int) (Limit, bool) {
	theirs := map[string]bool{}
	for _, l := range s.Groups(strconv.Itoa(pid)) {
		theirs[l.Name] = l.Together
	}
	for _, l := range s.Groups("self") {
		if l.Together && theirs[l.Name] {
			return l, true
		}
	}
	return Limit{}, false
}

var roomToLook = sync.OnceValue(func() error { return System{}.room(toLook) })

// Beside prepares to look at a process: this program is the first that the kernel ends where memory runs out, and does not begin
// where that is about to be. What it has read of its own code stays in memory. In a cgroup whose processes end together it must not
// be the first, and has twice the room.
func Beside(pid int) error {
	keepCode()
	l, together := System{}.together(pid)
	switch {
	case !together:
		EndFirst()
	case l.Spare < 2*toLook:
		endAsOthers()
		return &TightError{Needed: 2 * toLook, Limit: l}
	default:
		endAsOthers()
	}
	return roomToLook()
}

// RoomToProbe reports whether this program may take what eBPF needs. The kernel frees that some time after this program's end only,
// when the process that it was to be saved for may have been ended, too.
func RoomToProbe() error { return System{}.room(toProbe) }

const mostExpendable = 1000

// EndFirst has the kernel end this process before all others where memory runs out: who looks at a process
// must not cost it its life. It costs nothing and needs no right; where it fails, nothing is different.
func EndFirst() { setScore(strconv.Itoa(mostExpendable)) }

// endAsOthers undoes that: the score is that of the process which started this one.
func endAsOthers() {
	endDecoy()
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", os.Getppid())); err == nil {
		setScore(strings.TrimSpace(string(text)))
	}
}

func setScore(text string) { os.WriteFile("/proc/self/oom_score_adj", []byte(text), 0) }
