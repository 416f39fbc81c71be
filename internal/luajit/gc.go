package luajit

import (
	"encoding/binary"
	"slices"
)

// Phase is what the garbage collector is at (gc.state).
type Phase int

// Phases that others ask for. Between them a cycle marks what is in use, and sweeps the rest.
const (
	Pause    Phase = 0 // no cycle is under way
	Finalize Phase = 5 // finalizers run
)

var phaseNames = [...]string{"pause", "propagate", "atomic", "sweep strings", "sweep", "finalize"}

func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return "unknown"
	}
	return phaseNames[p]
}

// MarshalText is its name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads its name.
func (p *Phase) UnmarshalText(name []byte) error {
	*p = Phase(slices.Index(phaseNames[:], string(name))) // -1: unknown
	return nil
}

// Of the collector's state (GCState in lj_obj.h), which begins with gc.total.
const (
	gcThreshold = 0x08
	gcWhite     = 0x10
	gcEstimate  = 0x50
	gcStateSize = 0x58 // as much of it as is read
)

// GC is the state of the garbage collector.
type GC struct {
	InUse     uint64 // bytes of the Lua heap
	Threshold uint64 // bytes at which the collector goes on; very large: it is stopped
	Phase     Phase
	White     uint8 // another one since the last cycle has marked what is in use
	// Estimate is InUse at the last moment when all was marked (atomic in lj_gc.c), less what has been swept since: so
	// InUse - Estimate grows by what is allocated, and by nothing else that the collector does.
	Estimate uint64
}

// Stopped reports that the collector was told to stop: collectgarbage("stop") sets a threshold that no
// heap reaches.
func (g GC) Stopped() bool { return g.Threshold > 1<<46 }

// GC reads the state of the garbage collector, at once.
func (vm *VM) GC() (GC, error) {
	var b [gcStateSize]byte
	if err := vm.Memory.ReadAt(b[:], vm.Global+vm.total()); err != nil {
		return GC{}, err
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	g := GC{
		InUse: number(0), Threshold: number(gcThreshold), Phase: Phase(b[gcState]), White: b[gcWhite], Estimate: number(gcEstimate),
	}
	if g.Phase.String() == "unknown" {
		return g, ErrLayout
	}
	return g, nil
}

// State is what the machine is doing.
func (vm *VM) State() (State, error) {
	r := vm.reader()
	s, _ := stateOf(int32(r.U32(vm.Global + vm.Layout.VMState)))
	return s, r.Err
}
