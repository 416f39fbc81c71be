package allocations

import (
	"math"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// kernelCounter is a counter by programs in the kernel.
type kernelCounter struct {
	probe.Loaded[*allocObjects]
	probe.Uprobes
	at      counterTarget
	windows uint64
}

var programs = probe.Beside[*allocObjects]{
	What: "allocations", Spec: loadAlloc, Objects: func() *allocObjects { return &allocObjects{} },
	Workers: []string{allocMapWindows, allocMapHeaps},
	Trial: func(l probe.Loaded[*allocObjects], pid int, file string, offset uint64) (func(), error) {
		c := newCounter(l, counterTarget{pid: pid, file: file, offset: offset})
		err := c.Attach()
		if err == nil {
			const seldom = 1 << 31 // bytes: no sample is taken
			err = c.Open(seldom)
		}
		return c.Detach, err
	},
}

// openCounter prepares to count at the source's worker.
func openCounter(source *probe.Source, at counterTarget) (counter, error) {
	l, err := programs.Load(source)
	if err != nil {
		return nil, err
	}
	return newCounter(l, at), nil
}

func newCounter(l probe.Loaded[*allocObjects], at counterTarget) *kernelCounter {
	return &kernelCounter{Loaded: l, at: at, Uprobes: probe.Uprobes{PID: at.pid, File: at.file, What: "the allocator"}}
}

// Attach implements counter.
func (c *kernelCounter) Attach() error {
	return c.Uprobes.Attach(probe.Site{Program: c.Objects.Allocates, Offset: c.at.offset, Cookie: uint64(c.Number)})
}

// Open implements counter.
func (c *kernelCounter) Open(mean float64) error {
	c.windows++
	const most = 31
	exponent := math.Round(math.Log2(max(1, mean)))
	return c.put(allocWindow{Number: c.windows, State: c.at.state, Mean: uint64(min(most, exponent))})
}

// Shut implements counter.
func (c *kernelCounter) Shut() error { return c.put(allocWindow{}) }

func (c *kernelCounter) put(w allocWindow) error {
	return probe.Explain("open a window", c.Objects.Windows.Put(uint32(c.Number), &w))
}

// Read implements counter.
func (c *kernelCounter) Read() (Allocated, error) {
	var h allocHeap
	err := c.Objects.Heaps.Lookup(uint32(c.Number), &h)
	return Allocated{h.Bytes, h.Blocks, h.Traps, time.Duration(h.Looks), h.Lost}, probe.Explain("read what was allocated", err)
}
