package probe

import (
	"math"
	"time"

	"github.com/cilium/ebpf"
)

// allocating is the programs that see what workers allocate.
type allocating struct {
	objects allocObjects
	each    time.Duration // what a trap costs
}

// loadAllocating loads the programs, which write to the session's ring.
func (s *Session) loadAllocating() (*allocating, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.allocating != nil {
		return s.allocating, nil
	}
	spec, err := loadAlloc()
	if err != nil {
		return nil, err
	}
	const ourselves = 1 // number mostWorkers, to know what a trap costs
	spec.Maps[allocMapWindows].MaxEntries = mostWorkers + ourselves
	spec.Maps[allocMapHeaps].MaxEntries = mostWorkers + ourselves
	// Scratches of its own: ticks of a clock may come while it uses them.
	processors := s.objects.Scratches.MaxEntries()
	spec.Maps[allocMapScratches].MaxEntries = processors
	spec.Maps[allocMapBusy].MaxEntries = processors
	shared := map[string]*ebpf.Map{allocMapRing: s.objects.Ring, allocMapTallies: s.objects.Tallies, allocMapWorkers: s.objects.Workers}
	for name, m := range shared {
		spec.Maps[name].MaxEntries = m.MaxEntries()
	}
	loaded := allocating{}
	if err := Load("allocations", spec, &loaded.objects, &ebpf.CollectionOptions{MapReplacements: shared}); err != nil {
		return nil, err
	}
	if loaded.each, err = loaded.trapCost(); err != nil {
		loaded.objects.Close()
		return nil, err
	}
	s.allocating = &loaded
	return s.allocating, nil
}

// An AllocationProbe counts what one worker's Lua allocates while it is attached and a window is open, and looks at its stack
// now and then. Each allocation traps into the kernel while it is attached.
type AllocationProbe struct {
	allocating *allocating
	target     AllocationTarget
	number     int
	windows    uint64
	uprobes    Uprobes
}

// Allocations prepares a probe of the source's worker. Its snapshots are of the kind Allocates.
func (s *Source) Allocations(t AllocationTarget) (*AllocationProbe, error) {
	a, err := s.session.loadAllocating()
	if err != nil {
		return nil, err
	}
	return a.probe(t, s.number), nil
}

func (a *allocating) probe(t AllocationTarget, number int) *AllocationProbe {
	return &AllocationProbe{allocating: a, target: t, number: number, uprobes: Uprobes{PID: t.PID, File: t.Program, What: "the allocator"}}
}

// Attach begins to trap.
func (p *AllocationProbe) Attach() error {
	return p.uprobes.Attach(Site{Program: p.allocating.objects.Allocates, Offset: p.target.Offset, Cookie: uint64(p.number)})
}

// Detach ends what Attach began.
func (p *AllocationProbe) Detach() { p.uprobes.Detach() }

// Each is what a trap costs the worker: see trapCost.
func (p *AllocationProbe) Each() time.Duration { return p.allocating.each }

// Open opens a window in which allocations count, and looks are N bytes apart on average, as a power of two.
func (p *AllocationProbe) Open(mean float64) error {
	p.windows++
	const most = 31
	exponent := math.Round(math.Log2(max(1, mean)))
	return p.put(allocWindow{Number: p.windows, State: p.target.State, Mean: uint64(min(most, exponent))})
}

// Shut closes the window.
func (p *AllocationProbe) Shut() error { return p.put(allocWindow{}) }

func (p *AllocationProbe) put(w allocWindow) error {
	return Explain("open a window", p.allocating.objects.Windows.Put(uint32(p.number), &w))
}

// Read returns what has been allocated in windows.
func (p *AllocationProbe) Read() (Allocated, error) {
	var h allocHeap
	err := p.allocating.objects.Heaps.Lookup(uint32(p.number), &h)
	return Allocated{h.Bytes, h.Blocks, h.Traps, time.Duration(h.Looks), h.Lost}, Explain("read what was allocated", err)
}
