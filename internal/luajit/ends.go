package luajit

import "github.com/moonlap/moonlap/internal/process"

// An End is a trace that ends where a C function is called that LuaJIT does not compile. Behind the call another
// trace may go on (trace stitching).
type End struct {
	At     Frame // of the call
	Called Frame
	GoesOn bool // another trace does
	Root   int  // number of the trace, or of the one that it is a branch of
	Branch bool
}

// What a trace leads to (LJ_TRLINK_*).
const (
	linkInterpreter = 6 // back at once: a branch that was given up
	linkReturn      = 7 // back to the interpreter, in the called function too
	linkStitch      = 8
)

// ends lists such traces; whole is false where some could not be read.
func (vm *VM) ends() (all []End, whole bool) {
	whole = true
	r := vm.reader()
	seen := map[int]bool{} // in memory that is garbage many may have one number
	for _, t := range vm.traces(r) {
		if seen[t.number] {
			continue
		}
		seen[t.number] = true
		kind := r.U8(t.address + traceLinkType)
		if kind != linkStitch && kind != linkReturn {
			continue
		}
		one := vm.reader()
		e := End{Root: t.number}
		root := &t
		if number := int(one.U16(t.address + traceRoot)); number != 0 {
			e.Root, e.Branch = number, true
			if root = vm.traceOf(one, number); root == nil {
				continue
			}
		}
		var ok bool
		e.At, e.Called, ok = vm.lastCall(one, &t, root)
		link := int(one.U16(t.address + traceLink)) // to itself: what follows was given up
		e.GoesOn = kind == linkStitch && link != 0 && link != t.number
		if ok && one.Err == nil {
			all = append(all, e)
		}
		whole = whole && one.Err == nil
	}
	return all, whole && r.Err == nil
}

// lastCall finds the C function that a trace's last snapshot is in, and the line that called it.
func (vm *VM) lastCall(r *process.Reader, t, root *trace) (at, called Frame, ok bool) {
	snap, ok := vm.readSnapshot(r, t, int(r.U16(t.address+traceSnapshots))-1)
	n := len(snap.frames) - 1
	if !ok || n < 0 {
		return at, called, false
	}
	f := snap.frames[n]
	if f.function == 0 || r.U8(f.function+objectType) != typeFunction || r.U8(f.function+functionID) == 0 {
		return at, called, false
	}
	pc := f.after // below a continuation, as stitching has it
	if f.link&frameLuaBits == frameLua {
		pc = f.link
	}
	for _, proto := range vm.protosOf(r, snap.frames[:n], t, root) {
		if vm.within(r, proto, pc-4) {
			return vm.protoFrame(r, proto, pc), vm.frame(r, f.function, 0), true
		}
	}
	return at, called, false
}

// protosOf lists which prototype the innermost of a snapshot's frames may have; the function that the trace began in
// is in no frame.
func (vm *VM) protosOf(r *process.Reader, frames []inlined, t, root *trace) []uint64 {
	for n := len(frames) - 1; n >= 0; n-- {
		f := frames[n]
		switch {
		case f.link&frameTypes == frameVararg:
			continue
		case f.proto != 0:
			return []uint64{f.proto}
		case f.function != 0 && r.U8(f.function+functionID) == 0:
			return []uint64{r.U64(f.function+functionPC) - protoSize}
		}
		return nil
	}
	return []uint64{r.U64(root.address+traceStart) & pointerMask, r.U64(t.address+traceStart) & pointerMask}
}

// within reports whether an instruction is one of a prototype's.
func (vm *VM) within(r *process.Reader, proto, pc uint64) bool {
	first := proto + protoSize
	return r.U8(proto+objectType) == typeProto && pc >= first && pc < first+4*uint64(r.U32(proto+protoSizeBC))
}
