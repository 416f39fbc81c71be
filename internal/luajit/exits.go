package luajit

// An Exit is where a machine left a trace.
type Exit struct {
	Trace  int
	Number int
	Root   Place // where the trace begins, or the root trace that it is a branch of
	To     Frame // where the interpreter goes on
}

// findExit finds J.parent and J.exitno, which the machine sets when it leaves a trace. They stand between the
// bytecode that was last recorded from (startpc) and what the machine code areas begin with: right before patchpc,
// patchins and mcprot, or, since 2021, exitcode. 0: it is not known, as before anything was recorded.
func (vm *VM) findExit(state []uint64, area int) uint64 {
	const before, since = 3, 4 // words before the areas
	found := 0
	for _, words := range []int{before, since} {
		if area < words+1 {
			return 0
		}
		startPC, numbers := state[area-words-1], state[area-words]
		if startPC == 0 || startPC%4 != 0 || startPC > pointerMask || numbers&(1<<32-1) > maxTraces || numbers>>32 > maxTraces {
			continue
		}
		if _, ok := vm.protoOf(startPC); ok {
			if found != 0 {
				return 0
			}
			found = words
		}
	}
	if found == 0 {
		return 0
	}
	return vm.Layout.Traces + 8*uint64(area-found)
}

// Exit describes an exit that was read at ExitAt; false where there is no such trace, or no such exit of it.
func (vm *VM) Exit(numbers uint64) (e Exit, ok bool) {
	r := vm.reader()
	e.Trace, e.Number = int(numbers&(1<<32-1)), int(numbers>>32)
	t := vm.traceOf(r, e.Trace)
	if t == nil || e.Number >= int(r.U16(t.address+traceSnapshots)) {
		return e, false
	}
	root := t
	if number := int(r.U16(t.address + traceRoot)); number != 0 {
		if root = vm.traceOf(r, number); root == nil {
			return e, false
		}
	}
	proto, pc := r.U64(root.address+traceStart)&pointerMask, r.U64(root.address+traceStartPC)
	e.Root = vm.place(r, proto, pc)
	e.To = vm.snapshotFrame(t, root, e.Number)
	return e, r.Err == nil
}

// snapshotFrame is the innermost function, with its line, of a trace's snapshot. Its Kind is "" where that is not known.
func (vm *VM) snapshotFrame(t, root *trace, number int) Frame {
	r := vm.reader()
	snap, ok := vm.readSnapshot(r, t, number)
	if !ok {
		return Frame{}
	}
	for _, proto := range vm.protosOf(r, snap.frames, t, root) {
		if vm.within(r, proto, snap.pc) {
			if f := vm.protoFrame(r, proto, snap.pc+4); r.Err == nil {
				return f
			}
		}
	}
	return Frame{}
}
