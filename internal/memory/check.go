package memory

import (
	"fmt"
	"strconv"
	"strings"
)

// A Need is memory that is going to be taken.
type Need struct {
	Own    int64 // by this process
	Theirs int64 // by another one, because what it has in swap is read
	PID    int   // that other one; 0: none
}

// A ShortError says that there is less memory than is needed. Nothing was taken.
type ShortError struct {
	Needed int64
	Limit  Limit // that is in the way
	Theirs bool  // it is the other process that would take it
}

func (e *ShortError) Error() string {
	who := "moonlap needs"
	if e.Theirs {
		who = "what the process has in swap would come back and take"
	}
	if e.Limit.Err != nil {
		return fmt.Sprintf("%s about %s of memory, and how much is free is not known: %v", who, Size(e.Needed), e.Limit)
	}
	return fmt.Sprintf("%s about %s of memory, and %v has %s to spare", who, Size(e.Needed), e.Limit, Size(e.Limit.Spare))
}

// small is what may be taken even where no limit can be read: Go's own memory grows by more.
const small = 16 << 20

// Check reports whether so much memory can be taken, of the machine and of all cgroups that pay for it. The
// error is a ShortError.
func (s System) Check(n Need) error {
	halve := n.PID != 0 && s.expendable(n.PID)
	machine := s.Machine()
	if halve { // the kernel may choose the other one
		machine.Spare /= 2
	}
	if err := short(machine, n.Own+n.Theirs, false); err != nil {
		return err
	}
	shared := map[string]bool{}
	if n.PID != 0 {
		theirs := s.Groups(strconv.Itoa(n.PID))
		for _, l := range theirs {
			shared[l.Name] = true
			if err := short(l, n.Theirs, true); err != nil {
				return err
			}
		}
	}
	for _, l := range s.Groups("self") {
		needed := n.Own
		if shared[l.Name] {
			needed += n.Theirs
			if halve {
				l.Spare /= 2
			}
		}
		if err := short(l, needed, false); err != nil {
			return err
		}
	}
	return nil
}

func short(l Limit, needed int64, theirs bool) error {
	if needed <= l.Spare || needed == 0 || needed <= small && l.Err != nil {
		return nil
	}
	return &ShortError{Needed: needed, Limit: l, Theirs: theirs}
}

// expendable reports that a process is as ready to be ended by the kernel as this one, as those of pods of the
// class BestEffort are.
func (s System) expendable(pid int) bool {
	text, err := s.read(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	n, err2 := strconv.Atoi(strings.TrimSpace(text))
	return err == nil && err2 == nil && n >= mostExpendable
}
