package luajit

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// A VM is one virtual machine of a process: one global_State.
type VM struct {
	Layout  Layout
	Memory  process.Memory
	Library string           // file that it runs from
	Global  uint64           // address of its global_State
	Asm     process.Interval // machine code of the interpreter

	builtins map[uint64]string // names by address of the C function, or by ID
	settled  bool              // where the traces are, and what their snapshots know
	maps     *traceMaps        // lines in traces
}

// Attach makes a VM of the main thread's address, and verifies that the layout fits it.
func Attach(memory process.Memory, library *process.Object, layout Layout, mainThread uint64) (*VM, error) {
	asm, err := interpreter(library)
	if err != nil {
		return nil, err
	}
	vm := &VM{Layout: layout, Memory: memory, Library: library.Path, Asm: asm}
	vm.maps = &traceMaps{traces: map[uint64]*traceMap{}}
	r := vm.reader()
	vm.Global = r.U64(mainThread + layout.GlobalState)
	vm.Layout.Total = layout.totalBehind(vm.Global - mainThread)
	// The machine may run meanwhile: one that is just about to add a trace does not fit, but soon does; on a busy machine, when
	// it gets a processor again.
	const longest = 256 * time.Millisecond // pause; all of them come to twice that
	for pause := time.Millisecond; ; pause *= 2 {
		_, err := vm.verify(mainThread)
		if err == nil {
			return vm, nil
		}
		if pause > longest {
			return nil, err
		}
		time.Sleep(pause)
	}
}

// At is the machine as a memory has it: that of a moment, say.
func (vm *VM) At(memory process.Memory) *VM {
	at := *vm
	at.Memory = memory
	return &at
}

func (vm *VM) reader() *process.Reader { return &process.Reader{Memory: vm.Memory} }

// A Past is the memory of a moment that is over. What was not copied then is as it was read at some time since, or shortly before.
type Past interface {
	process.Memory
	Copied(address uint64) bool // then
	Now() process.Memory        // as it is now
}

// now is the memory in which the rest of a trace is read whose head is known. LuaJIT may have flushed the trace since: see lasts.
func (vm *VM) now() process.Memory {
	if past, ok := vm.Memory.(Past); ok {
		return past.Now()
	}
	return vm.Memory
}

// traceReader reads now.
func (vm *VM) traceReader() *process.Reader { return &process.Reader{Memory: vm.now()} }

// interpreter finds the interpreter's code, which is written in assembly: its unwinding rules are by
// far the longest of those with the interpreter's constant frame.
func interpreter(library *process.Object) (process.Interval, error) {
	var largest process.Interval
	for _, f := range library.Functions() {
		if f.Size() > largest.Size() && f.ConstantFrame == cframeSize {
			largest = f.Interval
		}
	}
	const least = 10_000 // bytes; the interpreter has 16,000, and no C function of this frame a tenth
	if largest.Size() < least {
		return largest, fmt.Errorf("%s: %w: its interpreter was not found", library.Path, ErrLayout)
	}
	return largest, nil
}

const maxTraces = 1 << 16 // traces have 16-bit numbers

// Status is what the machine is doing at the moment.
type Status struct {
	State   State
	Trace   int    // number of the running trace, with State Compiled
	Current uint64 // coroutine that runs; 0: none
	Running bool   // Lua is on the stack
	InUse   uint64 // bytes of the Lua heap
}

// Status reads the machine's status.
func (vm *VM) Status() (Status, error) {
	r := vm.reader()
	var s Status
	s.State, s.Trace = stateOf(int32(r.U32(vm.Global + vm.Layout.VMState)))
	s.InUse = r.U64(vm.Global + vm.total())
	if s.Current = r.U64(vm.Global + vm.Layout.CurrentL); s.Current != 0 {
		s.Running = r.U64(s.Current+vm.Layout.CFrame)&^3 != 0
	}
	return s, r.Err
}

// Record is the Lua module's record of a coroutine; 0: there is none.
func (vm *VM) Record(coroutine uint64) (uint64, error) {
	if vm.Layout.Record == 0 {
		return 0, nil
	}
	r := vm.reader()
	return r.U64(coroutine + vm.Layout.Record), r.Err
}

// Request is what OpenResty attached to a coroutine: nginx's request, or 0.
func (vm *VM) Request(coroutine uint64) (uint64, error) {
	if vm.Layout.ExtraData == 0 {
		return 0, nil
	}
	r := vm.reader()
	return r.U64(coroutine + vm.Layout.ExtraData), r.Err
}
