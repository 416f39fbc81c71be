package allocations

import (
	"math"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// A counter counts, in the kernel, what one worker's Lua allocates while it is attached and a window is open, and takes a sample now
// and then. Each allocation traps into the kernel while it is attached.
type counter interface {
	Attach() error
	Detach()
	Each() time.Duration     // what a trap costs the worker
	Open(mean float64) error // a window, with a sample in N bytes on average, as a power of two
	Shut() error
	Read() (Allocated, error) // in windows
}

// A counterTarget is the function that a worker's Lua has all its memory from, and where a probe in it sits.
type counterTarget struct {
	pid    int
	file   string // that has the function
	offset uint64 // in the file
	state  uint64 // the function's first argument
}

// Allocated is what a worker's Lua has allocated in windows since the beginning, and what it took to know.
type Allocated struct {
	Bytes, Blocks uint64
	Traps         uint64        // into the kernel, those outside of windows included
	Looks         time.Duration // that samples took
	Lost          uint64        // samples that were not even taken
}

// Minus is what has come since.
func (a Allocated) Minus(o Allocated) Allocated {
	return Allocated{a.Bytes - o.Bytes, a.Blocks - o.Blocks, a.Traps - o.Traps, a.Looks - o.Looks, a.Lost - o.Lost}
}

// allocating is the kind of a snapshot that was taken at an allocation: see alloc.h.
const allocating probe.Kind = 16

// An allocation is what a snapshot was taken at.
type allocation struct {
	Growth uint64 // bytes that the block has, or has more than before
	Grew   bool   // it was there before
	Mean   float64
}

// allocationAt is what was allocated at a snapshot.
func allocationAt(m *probe.Snapshot) allocation {
	const grewAt, meanAt = 55, 56 // as in alloc.h
	return allocation{
		Growth: m.Value & (1<<grewAt - 1), Grew: m.Value>>grewAt&1 == 1, Mean: math.Ldexp(1, int(m.Value>>meanAt)),
	}
}

// Stands is how many allocations of its size the sampled one represents: the inverse of the probability that a sample falls on it,
// where the distance from one sample to the next has an exponential distribution.
func (a allocation) Stands() float64 { return -1 / math.Expm1(-float64(a.Growth)/a.Mean) }
