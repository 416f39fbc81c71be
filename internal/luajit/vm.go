package luajit

import (
	"fmt"

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
}

// Attach makes a VM of the main thread's address, and verifies that the layout fits it.
func Attach(memory process.Memory, library *process.Object, layout Layout, mainThread uint64) (*VM, error) {
	asm, err := interpreter(library)
	if err != nil {
		return nil, err
	}
	vm := &VM{Layout: layout, Memory: memory, Library: library.Path, Asm: asm}
	r := vm.reader()
	vm.Global = r.U64(mainThread + layout.GlobalState)
	if err := vm.verify(mainThread); err != nil {
		return nil, err
	}
	return vm, nil
}

func (vm *VM) reader() *process.Reader { return &process.Reader{Memory: vm.Memory} }

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

// verify follows the pointers that have to lead back to where they came from.
func (vm *VM) verify(mainThread uint64) error {
	r := vm.reader()
	bad := func(what string) error {
		if r.Err != nil {
			return fmt.Errorf("%s: %w: %s (%w)", vm.Library, ErrLayout, what, r.Err)
		}
		return fmt.Errorf("%s: %w: %s", vm.Library, ErrLayout, what)
	}
	if r.U8(mainThread+objectType) != typeThread {
		return bad("the main thread is no coroutine")
	}
	if r.U64(vm.Global+vm.Layout.MainThread) != mainThread {
		return bad("the machine does not know its main thread")
	}
	if current := r.U64(vm.Global + vm.Layout.CurrentL); current != 0 && r.U64(current+vm.Layout.GlobalState) != vm.Global {
		return bad("the running coroutine is of another machine")
	}
	if env := r.U64(mainThread + environment); r.U8(env&pointerMask+objectType) != typeTable {
		return bad("the globals are no table")
	}
	if r.Err != nil {
		return bad("memory cannot be read")
	}
	return vm.verifyTraces()
}

// verifyTraces settles which of the two known places the array of traces has: the one whose entries
// are traces that know their number. Without any trace both fit, and it does not matter.
func (vm *VM) verifyTraces() error {
	newer := vm.Layout.Traces
	older := newer + jitTracesOld - jitTraces
	for _, at := range []uint64{newer, older} {
		vm.Layout.Traces = at
		if vm.tracesFit() {
			vm.Layout.SnapshotPC = at == newer
			return nil
		}
	}
	return fmt.Errorf("%s: %w: its traces were not found", vm.Library, ErrLayout)
}

func (vm *VM) tracesFit() bool {
	r := vm.reader()
	count := r.U32(vm.Global + vm.Layout.Traces + tracesCount)
	array := r.U64(vm.Global + vm.Layout.Traces)
	if r.Err != nil || count > maxTraces || (array == 0) != (count == 0) {
		return false
	}
	for n := uint64(1); n < uint64(count); n++ {
		if t := r.U64(array+8*n) & pointerMask; t != 0 {
			if r.U8(t+objectType) != typeTrace || uint64(r.U16(t+traceNumber)) != n {
				return false
			}
		}
	}
	return r.Err == nil
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
	s.InUse = r.U64(vm.Global + gcTotal)
	if s.Current = r.U64(vm.Global + vm.Layout.CurrentL); s.Current != 0 {
		s.Running = r.U64(s.Current+vm.Layout.CFrame)&^3 != 0
	}
	return s, r.Err
}

// Request is what OpenResty attached to a coroutine: nginx's request, or 0.
func (vm *VM) Request(coroutine uint64) (uint64, error) {
	if vm.Layout.ExtraData == 0 {
		return 0, nil
	}
	r := vm.reader()
	return r.U64(coroutine + vm.Layout.ExtraData), r.Err
}
