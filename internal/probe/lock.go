package probe

import "time"

// Spans are times in a lock: waited for it, or held it.
type Spans struct {
	Histogram
	Sum, Least time.Duration // Least is 0 without any
}

// Add counts a time.
func (s *Spans) Add(d time.Duration) {
	s.Histogram.Add(d)
	s.Sum += d
	if s.Least == 0 || d < s.Least {
		s.Least = d
	}
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

// Taken is the locks that were taken since the beginning.
type Taken struct {
	Count int
	Least time.Duration // the shortest wait for one; 0 without any
	Last  time.Duration // when the last one was, see Now
}
