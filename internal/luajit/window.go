package luajit

import (
	"errors"
	"slices"
	"sync"

	"github.com/moonlap/moonlap/internal/process"
)

// A window is what lies between two snapshots of a trace: machine code that runs between two places of the bytecode.
type window struct {
	before, after snapshot
	begins        uint64 // bytecode that the trace begins with, before that of its first snapshot; 0: it is not at its beginning
}

// pieces is memory of which parts were read at once: a read of another process takes longer than what is done with it.
type pieces struct {
	process.Memory
	parts []piece
}

// over reports that the time is over in which the process may be read, so that something may be missing.
func (p *pieces) over(at uint64) bool {
	return errors.Is(p.Memory.ReadAt(make([]byte, 8), at), process.ErrLeftOut)
}

type piece struct {
	at    uint64
	bytes []byte
}

// add reads a part.
func (p *pieces) add(at uint64, size int) {
	const most = 1 << 20
	if size <= 0 || size > most {
		return
	}
	b := make([]byte, size)
	if p.Memory.ReadAt(b, at) == nil {
		p.parts = append(p.parts, piece{at, b})
	}
}

// ReadAt implements process.Memory.
func (p *pieces) ReadAt(b []byte, address uint64) error {
	for _, one := range p.parts {
		if from := address - one.at; from < uint64(len(one.bytes)) && uint64(len(b)) <= uint64(len(one.bytes))-from {
			copy(b, one.bytes[from:])
			return nil
		}
	}
	const small, most = 16, 256
	err := p.Memory.ReadAt(b, address)
	if err == nil && len(b) <= small && len(p.parts) < most {
		p.parts = append(p.parts, piece{address, slices.Clone(b)})
	}
	return err
}

// windows are those of one trace, as it is now.
type windows struct {
	lock   sync.Mutex
	vm     *VM // in the memory that was read at once
	memory *pieces
	then   *process.Reader // of the moment of the sample
	t      *trace
	ways   map[uint64]*way // by prototype; nil: it has none that is known
}

// windowsOf reads what is needed of a trace. In a build whose operations are not known it is kept, as all of its lines come from there, and
// the process may end.
func (vm *VM) windowsOf(t *trace, known *traceMap) *windows {
	if known != nil && !vm.Layout.KnownIR {
		vm.maps.lock.Lock()
		defer vm.maps.lock.Unlock()
		if known.parts != nil {
			return known.parts
		}
	}
	memory := &pieces{Memory: vm.now()}
	w := &windows{vm: vm.At(memory), memory: memory, then: vm.reader(), t: t, ways: map[uint64]*way{}}
	table := vm.Global + vm.Layout.Traces
	if b := w.then.Bytes(table, tracesCount+4); b != nil { // the kernel has copied that, and where the running trace is
		memory.parts = append(memory.parts, piece{table, b})
		entry := le64(b) + 8*uint64(t.number)
		if one := w.then.Bytes(entry, 8); one != nil {
			memory.parts = append(memory.parts, piece{entry, one})
		}
	}
	memory.add(t.address, traceLinkType+4)
	r := w.vm.reader()
	low, end := uint64(r.U32(t.address+traceConstants)), uint64(r.U32(t.address+traceInstructions))
	snapshots, entries := int(r.U16(t.address+traceSnapshots)), int(r.U32(t.address+traceSnapMapSize))
	ir, snaps, snapMap := r.U64(t.address+traceIR), r.U64(t.address+traceSnaps), r.U64(t.address+traceSnapMap)
	if r.Err == nil && low < end && end <= 1<<16 {
		memory.add(ir+irSize*low, int(end-low)*irSize)
		memory.add(snaps, snapshots*snapshotSize)
		memory.add(snapMap, 4*entries)
		if known != nil && !vm.Layout.KnownIR {
			known.parts = w
		}
	}
	return w
}

// through is the way through a function; nil: it is not known, or would take too long.
func (w *windows) through(proto uint64, folds bool) *way {
	const most = 1 << 12 // instructions
	known, ok := w.ways[proto]
	if !ok {
		r := w.vm.reader()
		if b := w.then.Bytes(proto, protoSize); b != nil { // the kernel may have copied it
			w.memory.parts = append(w.memory.parts, piece{proto, b})
		}
		if count := r.U32(proto + protoSizeBC); count <= most {
			if c, ok := w.vm.readCode(r, proto); ok {
				one := newWay(c, w.t.number, int(r.U16(w.t.address+traceRoot)))
				known = &one
				w.memory.add(r.U64(proto+protoLineInfo), w.lineBytes(r, proto)*(len(c.ins)-1))
			}
		}
		w.ways[proto] = known
	}
	if known != nil {
		known.folds = folds
	}
	return known
}

// lineBytes is how many bytes a function has for the line of an instruction.
func (w *windows) lineBytes(r *process.Reader, proto uint64) int {
	switch lines := r.U32(proto + protoLines); {
	case lines < 1<<8:
		return 1
	case lines < 1<<16:
		return 2
	}
	return 4
}

// number is the window of a number. Behind the last snapshot the trace goes back to its first one, or has come to its end. There is none
// where the trace returns to a lower frame meanwhile: no snapshot knows which that is.
func (w *windows) number(n int) (one window, ok bool) {
	t, r := w.t, w.vm.reader()
	if one.before, ok = w.vm.readSnapshot(r, t, n); !ok {
		return one, false
	}
	root := r.U16(t.address+traceRoot) == 0
	if first, ok := w.vm.readSnapshot(r, t, 0); ok && root && first.pc == one.before.pc { // or the loop begins again
		one.begins = r.U64(t.address + traceStartPC)
	}
	end := uint64(r.U32(t.address + traceInstructions))
	switch {
	case n+1 < int(r.U16(t.address+traceSnapshots)):
		one.after, ok = w.vm.readSnapshot(r, t, n+1)
		end = one.after.ref
	case r.U32(t.address+traceLoop) != 0:
		one.after, ok = w.vm.readSnapshot(r, t, 0)
	default:
		one.after = one.before
	}
	if !ok || end < one.before.ref || one.before.ref < irBias || end > 1<<16 {
		return one, false
	}
	return one, !returnsBetween(r, t, one.before.ref, end) && r.Err == nil
}

// at is the window that an address of the trace's machine code lies in, or behind a call of C, which returns there.
func (w *windows) at(machine uint64, returns bool) (one window, ok bool) {
	n, ok := w.vm.snapshotIndex(w.vm.reader(), w.t, machine)
	if !ok {
		return one, false
	}
	one, ok = w.number(n)
	if n > 0 && returns { // where a loop begins again, values are moved between registers, and nothing is called
		one.begins = 0
	}
	return one, ok
}

// returnsBetween reports whether a trace returns to a lower frame between two of its instructions: RETF does, whose number is the same in
// all versions.
func returnsBetween(r *process.Reader, t *trace, from, to uint64) bool {
	const operation, returns = 5, 11
	for ir := r.Bytes(r.U64(t.address+traceIR)+irSize*from, int(to-from)*irSize); len(ir) >= irSize; ir = ir[irSize:] {
		if ir[operation] == returns {
			return true
		}
	}
	return false
}

// common is how many calls two snapshots have in common, so that the trace surely is in these functions: where a caller may have come
// to the same call again meanwhile, it is in that one for sure, and not in what it called. outer is the function that the trace is in
// without any; proto is that of the innermost.
func (w *windows) common(one window, outer inlined, folds bool) (calls int, proto uint64) {
	proto = outer.proto
	for n := range min(len(one.before.frames), len(one.after.frames)) {
		f := one.before.frames[n]
		if f != one.after.frames[n] {
			break
		}
		through := w.through(proto, folds)
		if through == nil {
			break
		}
		if at := through.positions(one.before, n)[0].at; at < 0 || through.again(at) {
			break
		}
		next := w.vm.protoOfFrame(w.vm.reader(), f)
		if next == 0 {
			break
		}
		calls, proto = n+1, next
	}
	return calls, proto
}

// folds reports that constants decide comparisons of the trace, so that it has no guards for them, and no snapshots: between two
// snapshots there is no way without such a one, somewhere in the trace.
func (w *windows) folds(outer inlined) bool {
	const most = 256 // snapshots; longer ones are taken for one that does
	count := int(w.vm.reader().U16(w.t.address + traceSnapshots))
	if count > most {
		return true
	}
	for n := range count {
		one, ok := w.number(n)
		if !ok || !w.sameRoot(one, outer) {
			continue
		}
		calls, proto := w.common(one, outer, false)
		if through := w.through(proto, false); through != nil && through.between(one, calls) == nil {
			return true
		}
	}
	return false
}

// sameRoot reports that the outermost function is the same one at both ends of a window. other is the one where a snapshot says nothing.
func (w *windows) sameRoot(one window, other inlined) bool {
	proto := func(s snapshot) uint64 {
		if s.function == 0 || s.function == other.function {
			return other.proto
		}
		return w.vm.protoOfFrame(w.vm.reader(), inlined{function: s.function})
	}
	first, last := proto(one.before), proto(one.after)
	return first == last && first != 0
}

// lines are the first and the last line of what runs in a window, in the function at that depth of calls; last is 0 where they are one
// line. Where that is not known, it is all of the function.
func (w *windows) lines(one window, depth int, proto uint64, folds bool) (first, last int) {
	r := w.vm.reader()
	if through := w.through(proto, folds); through != nil {
		for _, n := range through.between(one, depth) {
			line := w.vm.line(r, proto, proto+protoSize+4*uint64(n+1))
			if line == 0 {
				continue
			}
			if first == 0 || line < first {
				first = line
			}
			last = max(last, line)
		}
	}
	if first == 0 {
		first = int(int32(r.U32(proto + protoFirstLine)))
		last = first + int(r.U32(proto+protoLines))
	}
	if r.Err != nil {
		return 0, 0
	}
	if last == first {
		last = 0
	}
	return first, last
}

// protoOfFrame is the prototype of a function that a trace has entered; 0: it is none of Lua.
func (vm *VM) protoOfFrame(r *process.Reader, f inlined) uint64 {
	switch {
	case f.proto != 0 || f.function == 0:
		return f.proto
	case r.U8(f.function+functionID) != 0 || r.Err != nil:
		return 0
	}
	return r.U64(f.function+functionPC) - protoSize
}
