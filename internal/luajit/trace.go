package luajit

import (
	"cmp"
	"slices"
	"sort"

	"github.com/moonlap/moonlap/internal/process"
)

// A trace is machine code that LuaJIT compiled: a GCtrace.
type trace struct {
	address     uint64
	number      int
	code        process.Interval
	stackAdjust uint16 // bytes of the machine stack that it uses
}

func (vm *VM) readTrace(r *process.Reader, address uint64) *trace {
	b := r.Bytes(address, traceNumber+2)
	if b == nil {
		return nil
	}
	code := le64(b[traceCode:])
	return &trace{
		address:     address,
		number:      int(le16(b[traceNumber:])),
		code:        process.Interval{From: code, To: code + uint64(le32(b[traceCodeSize:]))},
		stackAdjust: le16(b[traceStackAdj:]),
	}
}

// traceArray is where the traces' addresses stand, by number, and how many there may be.
func (vm *VM) traceArray(r *process.Reader) (array uint64, count int) {
	return r.U64(vm.Global + vm.Layout.Traces), int(min(r.U32(vm.Global+vm.Layout.Traces+tracesCount), maxTraces))
}

// traceOf reads the trace of a number; nil where there is none.
func (vm *VM) traceOf(r *process.Reader, number int) *trace {
	array, count := vm.traceArray(r)
	if number <= 0 || number >= count {
		return nil
	}
	address := r.U64(array+8*uint64(number)) & pointerMask
	if address == 0 {
		return nil
	}
	return vm.readTrace(r, address)
}

// traces reads every trace there is. There are up to 8,000 in OpenResty.
func (vm *VM) traces(r *process.Reader) []trace {
	array, count := vm.traceArray(r)
	if count == 0 || r.Err != nil {
		return nil
	}
	var all []trace
	list := r.Bytes(array, 8*count)
	for n := 1; n < count && list != nil; n++ {
		if address := le64(list[8*n:]) & pointerMask; address != 0 {
			if t := vm.readTrace(r, address); t != nil {
				all = append(all, *t)
			}
		}
	}
	return all
}

// compiledFrames describes the innermost functions of a running trace: the one it began in, and those that were inlined into it, at
// the machine code's address. Of a C function that the trace has called, returns reports that machine is right before the address that
// it returns to. Where the trace's own instructions do not tell the line, its snapshots tell between which lines it is.
func (vm *VM) compiledFrames(r *process.Reader, t *trace, machine, function uint64, returns bool) []Frame {
	known, at := vm.mapOf(t, function), spot{machine, function, returns}
	code := known.lines()
	frames := vm.seen(known, at)
	fresh := frames == nil
	trial := vm.reader()                       // another trace's would have to make no sense
	if fresh && (code == nil || !code.Unfit) { // else its snapshots may be as wrong
		frames = vm.framesAt(trial, t, known, machine, inlined{function: function}, returns)
	}
	switch {
	case len(frames) == 0 || !vm.lasts(t, function):
		frames = []Frame{vm.frame(r, function, 0)}
	case trial.Err != nil:
		r.Err = cmp.Or(r.Err, trial.Err)
	case fresh && frames[0].Line != 0:
		vm.keep(known, at, frames)
	}
	for i := range frames {
		frames[i].Compiled = true
	}
	return frames
}

// framesAt describes them by what is known of the trace's code, and by its snapshots. root is the function that it is in without any call.
func (vm *VM) framesAt(r *process.Reader, t *trace, known *traceMap, machine uint64, root inlined, returns bool) []Frame {
	var frames []Frame
	if code := known.lines(); code != nil {
		at := code.Sampled
		if returns {
			at = code.At
		}
		if place, ok := at(int(machine - t.code.From)); ok {
			guess := vm.reader() // what was read of the trace may be older than what it refers to
			if frames = vm.placeFrames(guess, place); guess.Err != nil {
				frames = nil
			}
		}
	}
	if len(frames) > 0 && frames[0].LastLine == 0 {
		return frames
	}
	// The snapshots around may know more where the walk through the bytecode has lost its way.
	if returns {
		if snap, exact := vm.snapshotReturned(t, machine+1, root.function); exact {
			return vm.entered(r, snap.frames, snap.pc, snap.root(root))
		}
	}
	if around := vm.bracketed(t, known, machine, root, returns); closer(around, frames) {
		return around
	}
	if len(frames) > 0 {
		return frames
	}
	return []Frame{vm.inlinedFrame(r, root, 0)}
}

// entered describes the functions that a trace has entered, innermost first, and the one that it began in; pc is behind the
// instruction that the innermost is at.
func (vm *VM) entered(r *process.Reader, all []inlined, pc uint64, root inlined) []Frame {
	var frames []Frame
	for _, f := range slices.Backward(all) {
		frames = append(frames, vm.inlinedFrame(r, f, pc))
		switch {
		case f.link&frameLuaBits == frameLua:
			pc = f.link
		case f.link&frameTypes == frameCont:
			pc = f.after
		default:
			pc = 0
		}
	}
	return append(frames, vm.inlinedFrame(r, root, pc))
}

// inlinedFrame describes a function that a trace has entered.
func (vm *VM) inlinedFrame(r *process.Reader, f inlined, pc uint64) Frame {
	switch {
	case f.function != 0:
		return vm.frame(r, f.function, pc)
	case f.proto != 0:
		return vm.protoFrame(r, f.proto, pc)
	}
	return Frame{Kind: Builtin, Function: "(unknown function)"}
}

// bracketed describes the functions that a trace is surely in at an address: those that the snapshots before and behind it have in
// common, the innermost with the lines between the two. It is nil where they do not tell. Time that a clock's interrupt finds is that
// of the instruction before.
func (vm *VM) bracketed(t *trace, known *traceMap, machine uint64, root inlined, returns bool) []Frame {
	if !returns && machine > t.code.From {
		machine--
	}
	r := vm.reader() // what was read of the trace may be older than what it refers to
	root.proto = vm.protoOfFrame(r, root)
	w := vm.windowsOf(t, known)
	w.lock.Lock()
	defer w.lock.Unlock()
	w.memory.Memory, w.then = vm.now(), vm.reader() // of this sample, where another one's has been kept
	one, ok := w.at(machine, returns)
	if one.before.pc == 0 || !w.sameRoot(one, root) {
		return nil // a tail call may have put another function in its place
	}
	if !ok { // somewhere in it
		f := vm.inlinedFrame(r, root, 0)
		f.Line, f.LastLine = f.FirstLn, f.FirstLn+int(r.U32(f.proto+protoLines))
		if r.Err != nil {
			return nil
		}
		return []Frame{f}
	}
	if f := one.before.function; f != 0 && f != root.function { // a tail call has put it there
		root = inlined{function: f}
		root.proto = vm.protoOfFrame(r, root)
	}
	folds := w.folds(root)
	calls, proto := w.common(one, root, folds)
	frames := vm.entered(r, one.before.frames[:calls], 0, root)
	frames[0].Line, frames[0].LastLine = w.lines(one, calls, proto, folds)
	if r.Err != nil || w.memory.over(t.address) || frames[0].Line == 0 || frames[0].Kind != Lua {
		return nil
	}
	return frames
}

// closer reports whether a says more than b of where a trace is: a function further in, or fewer lines of the same.
func closer(a, b []Frame) bool {
	span := func(f Frame) int { return max(f.LastLine-f.Line, 0) }
	return len(a) > len(b) || len(a) > 0 && len(a) == len(b) && span(a[0]) < span(b[0])
}

// A snapshot is the state of the Lua stack at a point of a trace, as far as it is needed here.
type snapshot struct {
	offset   uint64    // of the machine code that it belongs to
	ref      uint64    // of the trace's instructions, the first one behind it
	pc       uint64    // bytecode that runs next
	function uint64    // that a tail call has put in the place of the one in which the trace began; 0: none
	frames   []inlined // that the trace has entered since it began, outermost first
}

// root is the function that is the outermost one there: a tail call may have put it in the place of another.
func (s snapshot) root(other inlined) inlined {
	if s.function != 0 {
		return inlined{function: s.function}
	}
	return other
}

// call is the instruction that has called the function, or its metamethod.
func (f inlined) call() uint64 {
	if f.link&frameTypes == frameCont {
		return f.after - 4
	}
	return f.link - 4
}

// An inlined function's frame has a slot for the function and one for the link to the frame before.
// Where a trace serves all closures of a prototype, it computes the function, and proto is known.
// Below a frame of a continuation, as a metamethod has it, stands the bytecode after the one that called.
type inlined struct{ function, link, proto, after uint64 }

// Entries of a snapshot (lj_jit.h): slot<<24 | flags | reference into the trace's instructions.
const (
	snapFrame = 0x010000 // SNAP_FRAME: the slot holds a frame
	irBias    = 0x8000   // REF_BIAS: constants lie below
	irSize    = 8
)

// snapshotIndex is the number of that snapshot.
func (vm *VM) snapshotIndex(r *process.Reader, t *trace, machine uint64) (n int, ok bool) {
	if !vm.Layout.SnapshotPC {
		return 0, false
	}
	count := int(r.U16(t.address + traceSnapshots))
	snaps := r.U64(t.address + traceSnaps)
	offset := (machine - t.code.From) / max(vm.Layout.CodeWord, 1)
	n = sort.Search(count, func(i int) bool { // the first one behind the address
		return uint64(r.U16(snaps+uint64(i)*snapshotSize+snapshotOffset)) > offset
	})
	return max(n-1, 0), count > 0 && r.Err == nil
}

// readSnapshot reads the trace's snapshot of a number.
func (vm *VM) readSnapshot(r *process.Reader, t *trace, number int) (snapshot, bool) {
	at := r.U64(t.address+traceSnaps) + uint64(number)*snapshotSize
	ir := r.U64(t.address + traceIR)
	entries := r.U64(t.address+traceSnapMap) + 4*uint64(r.U32(at))
	n := uint64(r.U8(at + snapshotEntries))
	if r.Err != nil {
		return snapshot{}, false
	}
	// Behind the entries stand the bytecode address and, in its lowest byte, the base slot.
	s := snapshot{offset: uint64(r.U16(at+snapshotOffset)) * max(vm.Layout.CodeWord, 1), ref: uint64(r.U16(at + snapshotRef)), pc: r.U64(entries+4*n) >> 8}
	var constants, computed [256]uint64 // by slot: a value, or else a reference to what computes it
	for i := range n {
		entry := r.U32(entries + 4*i)
		slot := entry >> 24
		if reference := uint64(entry & 0xffff); reference < irBias {
			constants[slot] = r.U64(ir + irSize*reference + irSize)
		} else { // the trace computes it
			computed[slot] = reference
		}
		if entry&snapFrame != 0 && slot > 1 {
			f := inlined{function: constants[slot-1] & pointerMask, link: constants[slot], after: constants[slot-2]}
			if f.function == 0 {
				f.proto = vm.guardedProto(t, ir, computed[slot-1])
			}
			if f.link&frameTypes != frameVararg { // that is a second frame of the same function
				s.frames = append(s.frames, f)
			}
		}
	}
	if f := constants[0] & pointerMask; f != 0 {
		if guess := vm.reader(); guess.U8(f+objectType) == typeFunction && guess.Err == nil {
			s.function = f
		}
	}
	return s, r.Err == nil
}

// guardedProto finds the prototype that a trace has made sure a computed function is of: it loads the
// address of the function's bytecode and compares it with a constant. 0: there is none.
func (vm *VM) guardedProto(t *trace, ir, function uint64) uint64 {
	r := vm.traceReader() // a guess that fails spoils nothing
	end := uint64(r.U32(t.address + traceInstructions))
	if function == 0 || end <= irBias || end > 1<<16 {
		return 0
	}
	all := r.Bytes(ir+irSize*irBias, int(end-irBias)*irSize)
	for i := 0; i+irSize <= len(all); i += irSize {
		if uint64(le16(all[i:])) != function {
			continue
		}
		load := irBias + uint64(i)/irSize
		for j := i + irSize; j+irSize <= len(all); j += irSize {
			left, right := uint64(le16(all[j:])), uint64(le16(all[j+2:]))
			if left != load || right >= irBias {
				continue
			}
			guess := vm.reader()
			proto := guess.U64(ir+irSize*right+irSize) - protoSize
			if guess.U8(proto+objectType) == typeProto && guess.Err == nil {
				return proto
			}
		}
	}
	return 0
}

// TraceCount is the number of traces there are.
func (vm *VM) TraceCount() int { return len(vm.traces(vm.reader())) }
