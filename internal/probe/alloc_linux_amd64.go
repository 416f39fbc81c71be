package probe

import (
	"fmt"
	"math"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
)

// allocating is the programs that see what workers allocate.
type allocating struct {
	objects allocObjects
	multi   bool          // the kernel has links of several probes, whose end removes them at once
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
	loaded := allocating{multi: features.HaveBPFLinkUprobeMulti() == nil}
	if loaded.multi {
		spec.Programs[allocProgram].AttachType = ebpf.AttachTraceUprobeMulti
	}
	if err := spec.LoadAndAssign(&loaded.objects, &ebpf.CollectionOptions{MapReplacements: shared}); err != nil {
		return nil, explain("load the programs for allocations", err)
	}
	if loaded.each, err = loaded.trapCost(); err != nil {
		loaded.objects.Close()
		return nil, err
	}
	s.allocating = &loaded
	return s.allocating, nil
}

const allocProgram = "allocates"

// An AllocationProbe counts what one worker's Lua allocates while it is attached and a window is open, and looks at its stack
// now and then. Each allocation traps into the kernel while it is attached.
type AllocationProbe struct {
	allocating *allocating
	target     AllocationTarget
	number     int
	windows    uint64
	links      []link.Link
}

// Allocations prepares a probe of the source's worker. Its moments are of the kind Allocates.
func (s *Source) Allocations(t AllocationTarget) (*AllocationProbe, error) {
	a, err := s.session.loadAllocating()
	if err != nil {
		return nil, err
	}
	return &AllocationProbe{allocating: a, target: t, number: s.number}, nil
}

// Attach begins to trap.
func (p *AllocationProbe) Attach() error {
	program, err := link.OpenExecutable(p.target.Program)
	if err != nil {
		return fmt.Errorf("attach to the allocator: %w", err)
	}
	var one link.Link
	if t, b := p.target, p.allocating.objects.Allocates; p.allocating.multi {
		one, err = program.UprobeMulti(nil, b, &link.UprobeMultiOptions{
			Addresses: []uint64{t.Offset}, PID: uint32(t.PID), Cookies: []uint64{uint64(p.number)},
		})
	} else {
		one, err = program.Uprobe("", b, &link.UprobeOptions{Address: t.Offset, PID: t.PID, Cookie: uint64(p.number)})
	}
	if err != nil {
		return explain("attach to the allocator", err)
	}
	p.links = append(p.links, one)
	return nil
}

// Detach ends what Attach began.
func (p *AllocationProbe) Detach() { detach(&p.links) }

// Each is what a trap costs the worker: see trapCost.
func (p *AllocationProbe) Each() time.Duration { return p.allocating.each }

// Prompt tells that Detach ends the traps at once. Before Linux 6.6 they go on until it returns, and are not counted.
func (p *AllocationProbe) Prompt() bool { return p.allocating.multi }

// Open opens a window in which allocations count, and looks are so many bytes apart on average, as a power of two.
func (p *AllocationProbe) Open(mean float64) error {
	p.windows++
	const most = 31
	exponent := math.Round(math.Log2(max(1, mean)))
	return p.put(allocWindow{Number: p.windows, State: p.target.State, Mean: uint64(min(most, exponent))})
}

// Shut closes the window.
func (p *AllocationProbe) Shut() error { return p.put(allocWindow{}) }

func (p *AllocationProbe) put(w allocWindow) error {
	return explain("open a window", p.allocating.objects.Windows.Put(uint32(p.number), &w))
}

// Read returns what has been allocated in windows.
func (p *AllocationProbe) Read() (Allocated, error) {
	var h allocHeap
	err := p.allocating.objects.Heaps.Lookup(uint32(p.number), &h)
	return Allocated{h.Bytes, h.Blocks, h.Traps, time.Duration(h.Looks), h.Lost}, explain("read what was allocated", err)
}
