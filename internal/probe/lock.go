package probe

import "time"

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

// Since is the times that have come since an earlier one, without the least.
func (s Spans) Since(o Spans) Spans {
	s.Histogram = s.Histogram.Since(o.Histogram)
	s.Sum -= o.Sum
	s.Least = 0
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
