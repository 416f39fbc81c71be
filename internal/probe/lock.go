package probe

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// Spans are times in a lock: waited for it, or held it.
type Spans struct {
	Histogram
	Sum, Least time.Duration // Least is 0 without any
}

// And is the times of both.
func (s Spans) And(o Spans) Spans {
	s.Histogram = s.Histogram.And(o.Histogram)
	s.Sum += o.Sum
	if s.Least == 0 || o.Least != 0 && o.Least < s.Least {
		s.Least = o.Least
	}
	return s
}

// LockTimes are those of one lock in one worker.
type LockTimes struct {
	Address      uint64 // of the ngx_shmtx_t
	Waits, Holds Spans
}

// A LockFunction is where a probe sits: at so many bytes from the beginning of a function.
type LockFunction struct {
	Name   string
	Offset uint64
}

// LockTarget is a process whose locks are to be timed.
type LockTarget struct {
	PID          int
	Program      string // path of its program, which has the functions
	Lock, Unlock LockFunction
}

// ErrDear is the error of a function at which a probe would cost too much.
var ErrDear = errors.New("a probe would single-step its first instruction, which takes ten times as long")

// CheapAt finds where a probe at a function sits best. The kernel emulates push, nop, call and jmp; anything else it
// has the processor step through, at some 10 µs a call instead of one (see branch_setup_xol_ops in the kernel's
// arch/x86/kernel/uprobes.c). An endbr64 before such a push is left out.
func CheapAt(name string, code []byte) (LockFunction, error) {
	f := LockFunction{Name: name}
	endbr64 := []byte{0xf3, 0x0f, 0x1e, 0xfa}
	if bytes.HasPrefix(code, endbr64) {
		f.Offset = uint64(len(endbr64))
		code = code[len(endbr64):]
	}
	const wide, push, pushLast, nop, call, jump, jumpShort = 0x41, 0x50, 0x57, 0x90, 0xe8, 0xe9, 0xeb
	if len(code) > 1 && code[0] == wide { // r8 to r15
		code = code[1:]
		if code[0] < push || code[0] > pushLast {
			return f, fmt.Errorf("%s: %w", name, ErrDear)
		}
	}
	if len(code) > 0 {
		switch c := code[0]; {
		case c >= push && c <= pushLast, c == nop, c == call, c == jump, c == jumpShort:
			return f, nil
		}
	}
	return f, fmt.Errorf("%s: %w", name, ErrDear)
}
