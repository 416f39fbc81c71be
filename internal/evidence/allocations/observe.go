package allocations

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// Kind is what Lua allocates, which is counted in windows by a probe in the allocator.
var Kind = observe.Kind{
	Name: Name, Usage: "what Lua allocates, by line, in bytes",
	Conflicts: []string{"locks", "resumes"}, Programs: true, Counts: profile.Bytes, Observe: observeAllocations,
}

// An observer counts what a worker's Lua allocates, in windows, and takes samples at allocations.
type observer struct {
	at        observe.At
	probe     counter
	cycle     probe.Cycle
	windows   []window
	uncounted time.Duration // that detaching has taken from the worker, besides what the kernel has counted
	err       error

	plan     plan          // of the last window
	planned  time.Duration // what everything had cost before it
	unpaid   bool          // its own cost is not known yet
	patience patience
	opened   bool
	last     edge // its end

	collector *collector.Watch
	books     collector.Ledger // of the whole time
	start     time.Time
	elapsed   time.Duration // from then to the end
	before    uint64        // bytes of the heap that were in use at the beginning
	heap      uint64        // at the end
	requests  uint64        // that all workers of the master have begun meanwhile

	taken []taken
}

// observeAllocations prepares a probe in the function that the worker's Lua has its memory from. Its error may be probe.ErrDear.
func observeAllocations(at observe.At) (observe.Observer, error) {
	library, err := at.FindObject("lua_setallocf")
	if err != nil {
		return nil, err
	}
	function, err := at.VM.Allocator(library)
	if err != nil {
		return nil, err
	}
	place, err := at.Place(function.Function)
	if err != nil {
		return nil, fmt.Errorf("the function that allocates Lua's memory: %w", err)
	}
	offset, err := probe.CheapInAllocator(place.Code)
	if err != nil {
		return nil, err
	}
	a := &observer{at: at, collector: collector.NewWatch(at.Worker, time.Millisecond, time.Millisecond)}
	a.cycle = probe.Cycle{Probe: a, Schedule: a, Budget: at.Budget}
	at.Sampling.Take(allocating, a.take)
	a.probe, err = openCounter(at.Sampling.Source, counterTarget{
		pid: at.PID, file: place.File, offset: place.Offset + uint64(offset), state: function.State,
	})
	return a, err
}

// take takes a sample at an allocation.
func (a *observer) take(m *probe.Snapshot) {
	s, ok := a.at.Sampling.Sample(m)
	if !ok {
		return
	}
	if len(s.Stack) > 0 {
		s.Stack = s.Stack[1:] // the allocator is in every one
	}
	a.taken = append(a.taken, taken{s, allocationAt(m)})
}

// Run opens windows until ctx ends.
func (a *observer) Run(ctx context.Context) error {
	served := a.served()
	began, inUse, since := a.collector.Read()
	a.before, a.heap = inUse, inUse
	a.start = time.Now().Add(since - probe.Now())
	during, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { a.collector.Run(during) })
	a.fail(a.cycle.Run(ctx))
	stop()
	reading.Wait()
	over, inUse, now := a.collector.Read()
	a.books, a.heap, a.elapsed = over.Minus(began), inUse, now-since
	a.requests = max(a.served(), served) - served
	return a.err
}

// Close does nothing: the sampler has the programs.
func (a *observer) Close() {}

// served are the requests that all workers of the master have begun; 0 where it is not known.
func (a *observer) served() uint64 {
	if a.at.Nginx == nil {
		return 0
	}
	c, err := a.at.Nginx.Counters()
	if err != nil {
		return 0
	}
	return c.Requests
}

// Result is what was allocated, once Run is over.
func (a *observer) Result() (evidence.Result, error) {
	duty, failed := a.cycle.Duty()
	duty.Elapsed, duty.Probed = a.elapsed, 0
	out := &Result{
		Duty: duty, Began: a.start.UTC(), Duration: a.elapsed, Each: a.each(),
		HeapBefore: a.before, HeapAfter: a.heap,
	}
	if a.requests > 0 {
		master := process.Parent(a.at.PID)
		all, err := nginx.WorkersOf(master)
		out.served = map[int]served{master: {workers: []int{a.at.PID}, all: all, known: err == nil, requests: a.requests}}
	}
	whole, err := a.probe.Read()
	out.Traps = int(whole.Traps)
	out.estimate(a.windows, a.books)
	a.taken = out.weigh(a.taken, a.windows)
	out.of(a.Samples())
	if failed != nil && !a.at.Ended() {
		err = errors.Join(failed, err)
	}
	return out, err
}

// Samples are those in windows, once there was a Result.
func (a *observer) Samples() (all []sample.Sample) {
	for _, t := range a.taken {
		all = append(all, t.Sample)
	}
	return all
}
