package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// An Allocation is what a sample was taken at: Lua asked for memory, for a new block or a larger one.
type Allocation struct {
	probe.Allocation
	Bytes, Blocks float64 // for how many of the whole time it stands
}

// An allocationProbe looks at what a worker's Lua allocates, in windows.
type allocationProbe struct {
	*Worker
	probe   *probe.AllocationProbe
	hz      float64
	budget  float64
	windows []allocationWindow
	cost    time.Duration   // that it has taken from the worker
	costed  probe.Allocated // when cost was summed up
	err     error

	patience       patience
	attached, open bool
	release        func() // of the worker, which it has in hand while it is attached
	last           edge   // the end of the last window

	collector *collectorWatch
	began     Ledger        // at the beginning
	over      Ledger        // at the end
	start     time.Time     // when it began
	since     time.Duration // the same, since the machine started
	elapsed   time.Duration // from then to the end

	ended      chan struct{}
	heapBefore uint64 // bytes in use
	heapNow    uint64 // when it was read last
	served     uint64 // requests, by all workers of the master: before, and then meanwhile
}

// begin has the probe look until ctx ends; where it fails, stop is called.
func (a *allocationProbe) begin(ctx context.Context, stop func()) {
	if a == nil {
		return
	}
	a.ended = make(chan struct{})
	a.served = a.requests()
	a.keepHeap()
	a.heapBefore = a.heapNow
	a.collector = a.watchCollector(time.Millisecond, time.Millisecond)
	a.began, a.since = a.collector.read()
	a.start = time.Now().Add(a.since - probe.Now())
	var reading sync.WaitGroup
	reading.Go(func() { a.collector.run(ctx) })
	go func() {
		defer close(a.ended)
		a.run(ctx)
		reading.Wait()
		var now time.Duration
		a.over, now = a.collector.read()
		a.elapsed = now - a.since
		if a.err != nil {
			stop()
		}
	}()
}

// keepHeap notes how large the heap is, as long as the worker lives.
func (a *allocationProbe) keepHeap() {
	if a == nil {
		return
	}
	if now := a.heap(); now > 0 {
		a.heapNow = now
	}
}

// end waits until the probe is detached, after the end of begin's ctx, and reads what it has come to.
func (a *allocationProbe) end() {
	if a == nil {
		return
	}
	<-a.ended
	a.Forget() // what was kept is old
	a.keepHeap()
	a.served = max(a.requests(), a.served) - a.served
}

// heap is how many bytes are in use; 0 in a worker that has ended.
func (a *allocationProbe) heap() uint64 {
	status, _ := a.VM.Status()
	return status.InUse
}

// requests are those that all workers of the master have begun; 0 where it is not known.
func (a *allocationProbe) requests() uint64 {
	if a.Nginx == nil {
		return 0
	}
	c, err := a.Nginx.Counters()
	if err != nil {
		return 0
	}
	return c.Requests
}

// sum puts what was seen into the looks.
func (a *allocationProbe) sum(l *Looks) error {
	all := Allocations{
		Began: a.start, Elapsed: a.elapsed, Cost: a.cost, Each: a.each(), Budget: a.budget, HeapBefore: a.heapBefore, HeapAfter: a.heapNow,
	}
	all.Served = map[int]Served{}
	if a.served > 0 {
		all.Served[process.Parent(a.PID)] = Served{[]int{a.PID}, a.served}
	}
	whole, err := a.probe.Read()
	all.Traps, all.Lost = int(whole.Traps), int(whole.Lost)
	all.estimate(a.windows, a.over.Minus(a.began))
	l.Samples = all.weigh(l.Samples, a.windows)
	l.Allocations = &all
	if a.err != nil && !a.gone() {
		return a.err
	}
	return err
}

// gone tells that the worker has ended.
func (a *allocationProbe) gone() bool {
	stat, err := a.Stat()
	return err != nil || stat.Ended()
}

// probeAllocations prepares a probe in the function that the worker's Lua has its memory from. Its error may be probe.ErrDear.
func (w *Worker) probeAllocations(source *probe.Source, hz, budget float64) (*allocationProbe, error) {
	fail := func(err error) (*allocationProbe, error) { return nil, fmt.Errorf("--allocations: %w", err) }
	library, err := w.FindObject("lua_setallocf")
	if err != nil {
		return fail(err)
	}
	allocator, err := w.VM.Allocator(library)
	if err != nil {
		return fail(err)
	}
	place, err := w.Place(allocator.Function)
	if err != nil {
		return fail(fmt.Errorf("the function that allocates Lua's memory: %w", err))
	}
	at, err := probe.CheapInAllocator(place.Code)
	if err != nil {
		return fail(err)
	}
	p, err := source.Allocations(probe.AllocationTarget{
		PID: w.PID, Program: place.File, Offset: place.Offset + uint64(at), State: allocator.State,
	})
	return &allocationProbe{Worker: w, probe: p, hz: hz, budget: budget}, err
}

// Allocations is what workers' Lua has allocated, and what it took to know.
type Allocations struct {
	Began   time.Time
	Elapsed time.Duration // since then, of all workers together
	Probed  time.Duration // of that: in windows
	Windows int
	Traps   int           // into the kernel, one for each allocation
	Each    time.Duration // what one costs
	Cost    time.Duration // CPU time that all that took from the workers
	Inside  time.Duration // of that: in windows
	Used    time.Duration // CPU time in windows, with Inside
	Budget  float64       // which share of Elapsed the cost may be
	Lost    int           // looks that could not even be taken

	CountedBytes, CountedBlocks uint64 // in windows
	// Of the whole time: estimates. A block is what one allocation makes; a table may have three.
	Bytes, Blocks float64
	Low, High     float64 // of Bytes, 95 %: by how windows differ, and by what is not known of LuaJIT's books

	HeapBefore, HeapAfter uint64 // bytes in use

	Served map[int]Served // by master, where it counts
}

// Served is how many requests all workers of an nginx have served, and which of the workers were looked at.
type Served struct {
	Workers  []int
	Requests uint64
}

// And is what both have allocated.
func (a Allocations) And(o Allocations) Allocations {
	// As if what is not known of both went the same way: an upper bound.
	a.Low, a.High = a.Low+o.Low, a.High+o.High
	if !o.Began.IsZero() && o.Began.Before(a.Began) {
		a.Began = o.Began
	}
	a.Elapsed += o.Elapsed
	a.Probed += o.Probed
	a.Windows += o.Windows
	a.Traps += o.Traps
	a.Each = max(a.Each, o.Each)
	a.Cost += o.Cost
	a.Inside += o.Inside
	a.Used += o.Used
	a.Budget = max(a.Budget, o.Budget)
	a.Lost += o.Lost
	a.CountedBytes += o.CountedBytes
	a.CountedBlocks += o.CountedBlocks
	a.Bytes += o.Bytes
	a.Blocks += o.Blocks
	a.HeapBefore += o.HeapBefore
	a.HeapAfter += o.HeapAfter
	a.Served = maps.Clone(a.Served)
	for master, o := range o.Served {
		s := a.Served[master]
		a.Served[master] = Served{append(slices.Clip(s.Workers), o.Workers...), max(s.Requests, o.Requests)}
	}
	return a
}
