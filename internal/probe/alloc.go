package probe

import (
	"math"
	"time"
)

// AllocationTarget is the function that a worker's Lua has all its memory from, and where a probe in it sits.
type AllocationTarget struct {
	PID     int
	Program string // path of the file that has the function
	Offset  uint64 // in the file
	State   uint64 // the function's first argument
}

// Allocated is what a worker's Lua has allocated in windows since the beginning, and what it took to know.
type Allocated struct {
	Bytes, Blocks uint64
	Traps         uint64        // into the kernel, those outside of windows included
	Looks         time.Duration // that looks took
	Lost          uint64        // looks that were not even taken
}

// Minus is what has come since.
func (a Allocated) Minus(o Allocated) Allocated {
	return Allocated{a.Bytes - o.Bytes, a.Blocks - o.Blocks, a.Traps - o.Traps, a.Looks - o.Looks, a.Lost - o.Lost}
}

// An Allocation is what a snapshot of the kind Allocates was taken at.
type Allocation struct {
	Growth uint64 // bytes that the block has, or has more than before
	Grew   bool   // it was there before
	Mean   float64
}

// As in alloc.h.
const (
	grewAt = 55
	meanAt = 56
)

// Allocation is what was allocated at a snapshot of the kind Allocates.
func (m *Snapshot) Allocation() Allocation {
	return Allocation{
		Growth: m.Value & (1<<grewAt - 1), Grew: m.Value>>grewAt&1 == 1, Mean: math.Ldexp(1, int(m.Value>>meanAt)),
	}
}

// Stands is for how many allocations of its size the one that was looked at stands: the inverse of the probability that a
// look falls on it, where the distance from one look to the next has an exponential distribution.
func (a Allocation) Stands() float64 { return -1 / math.Expm1(-float64(a.Growth)/a.Mean) }
