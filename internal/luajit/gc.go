package luajit

// Phase is what the garbage collector is at (gc.state).
type Phase int

var phaseNames = [...]string{"pause", "propagate", "atomic", "sweep strings", "sweep", "finalize"}

func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return "unknown"
	}
	return phaseNames[p]
}

// gcThreshold follows gc.total.
const gcThreshold = 0x08

// GC is the state of the garbage collector.
type GC struct {
	InUse     uint64 // bytes of the Lua heap
	Threshold uint64 // bytes at which the collector goes on; very large: it is stopped
	Phase     Phase
}

// Stopped tells that the collector was told to stop: collectgarbage("stop") sets a threshold that no
// heap reaches.
func (g GC) Stopped() bool { return g.Threshold > 1<<46 }

// GC reads the state of the garbage collector.
func (vm *VM) GC() (GC, error) {
	r := vm.reader()
	g := GC{
		InUse:     r.U64(vm.Global + vm.total()),
		Threshold: r.U64(vm.Global + vm.total() + gcThreshold),
		Phase:     Phase(r.U8(vm.Global + vm.total() + gcState)),
	}
	if r.Err == nil && g.Phase.String() == "unknown" {
		return g, ErrLayout
	}
	return g, r.Err
}
