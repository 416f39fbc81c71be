package luajit

import (
	"debug/elf"
	"errors"
	"slices"
	"sync"

	"github.com/moonlap/moonlap/internal/luajit/jit"
	"github.com/moonlap/moonlap/internal/process"
)

// knowsIR reports whether a build's intermediate representation is one that is known: its table of operations lies in its read-only
// data.
func knowsIR(library *process.Object) bool {
	const most = 1 << 20 // bytes
	for _, s := range library.ELF.Sections {
		if s.Name != ".rodata" || s.Type != elf.SHT_PROGBITS || s.Size > most {
			continue
		}
		if b, err := s.Data(); err == nil && jit.Known(b) {
			return true
		}
	}
	return false
}

// maxMaps bounds the traces whose lines are kept: OpenResty has 8,000 traces at most, and few of them are hot.
const maxMaps = 4096

// traceMaps keeps what was found out of traces, for a VM and its copies.
type traceMaps struct {
	lock   sync.Mutex
	traces map[uint64]*traceMap // by address
}

// A traceMap is of the trace that had this head; its map is nil where it could not be made.
type traceMap struct {
	head   jit.Head
	code   *jit.Map
	frames map[spot][]Frame // that were found there
	parts  *windows         // what was read for its windows, in a build whose operations are not known; nil: nothing yet
}

// A spot is one in the machine code of a trace that was entered from a function, or behind a call of C.
type spot struct {
	machine, function uint64
	returns           bool
}

// mostSpots bounds what is kept of one trace.
const mostSpots = 256

// seen are the frames that were found at a spot; nil: there are none yet.
func (vm *VM) seen(t *traceMap, at spot) []Frame {
	if t == nil {
		return nil
	}
	vm.maps.lock.Lock()
	defer vm.maps.lock.Unlock()
	return slices.Clone(t.frames[at])
}

// keep notes the frames at a spot. What snapshots tell is read from the process, which may end.
func (vm *VM) keep(t *traceMap, at spot, frames []Frame) {
	if t == nil {
		return
	}
	vm.maps.lock.Lock()
	defer vm.maps.lock.Unlock()
	if t.frames == nil || len(t.frames) >= mostSpots {
		t.frames = map[spot][]Frame{}
	}
	t.frames[at] = slices.Clone(frames)
}

// lasts reports whether the trace that ran at the moment of vm's memory is there still, so that what was read of it since is its own.
func (vm *VM) lasts(t *trace, function uint64) bool {
	past, ok := vm.Memory.(Past)
	if !ok {
		return true // it is of one moment
	}
	then, now := vm.reader(), vm.traceReader()
	head, present := jit.ReadHead(then, t.address), jit.ReadHead(now, t.address)
	switch {
	case then.Err != nil:
		return false
	case now.Err != nil: // the process has ended
		return vm.knows(t, head)
	case head != present:
		return false
	case past.Copied(t.address):
		return true
	}
	// The collector hid which trace ran. A root trace at least begins in the function that the stack then had.
	proto := then.U64(function+functionPC) - protoSize
	return le16(head[traceRoot:]) != 0 || le64(head[traceStart:])&pointerMask == proto && then.Err == nil
}

// knows reports whether the trace with this head has been read before.
func (vm *VM) knows(t *trace, head jit.Head) bool {
	if vm.maps == nil {
		return false
	}
	vm.maps.lock.Lock()
	defer vm.maps.lock.Unlock()
	known, ok := vm.maps.traces[t.address]
	return ok && known.head == head
}

// lines is the map of a trace's lines; nil: there is none.
func (t *traceMap) lines() *jit.Map {
	if t == nil {
		return nil
	}
	return t.code
}

// mapOf is what is known of a trace's lines; nil: nothing can be. A trace that has taken another's place has another head.
func (vm *VM) mapOf(t *trace, function uint64) *traceMap {
	if !vm.Layout.SnapshotPC || vm.maps == nil {
		return nil
	}
	vm.maps.lock.Lock()
	defer vm.maps.lock.Unlock()
	r := vm.reader()
	head := jit.ReadHead(r, t.address)
	if r.Err != nil {
		return nil
	}
	if known, ok := vm.maps.traces[t.address]; ok && known.head == head {
		return known
	}
	if len(vm.maps.traces) >= maxMaps {
		clear(vm.maps.traces)
	}
	one := &traceMap{head: head}
	if !vm.Layout.KnownIR {
		vm.maps.traces[t.address] = one
		return one
	}
	now := vm.At(vm.now())
	read, err := jit.Read(now.Memory, t.address)
	if jit.ReadHead(now.reader(), t.address) != head {
		return &traceMap{code: &jit.Map{Unfit: true}} // another one has taken its place
	}
	switch {
	case err == nil:
		now.findParent(read, mostParents)
		one.code = jit.NewMap(read, now.Bytecode(), function)
	case errors.Is(err, jit.ErrTrace): // it was damaged
		one.code = &jit.Map{Unfit: true}
	}
	vm.maps.traces[t.address] = one
	return one
}

// mostParents bounds how many side traces that go on from each other are read.
const mostParents = 8

// findParent notes from which trace a side trace goes on that makes objects for it. No trace says so, but the branch of its parent does.
func (vm *VM) findParent(t *jit.Trace, deep int) {
	if deep == 0 || !t.Replays() {
		return
	}
	r := vm.reader()
	for _, one := range vm.traces(r) {
		if one.number != t.Root && int(r.U16(one.address+traceRoot)) != t.Root {
			continue
		}
		parent, err := jit.Read(vm.Memory, one.address)
		if err != nil {
			continue
		}
		if exit, ok := parent.ExitTo(t.Address); ok {
			t.Parent, t.Exit = parent, exit
			vm.findParent(parent, deep-1)
			return
		}
	}
}

// bytecodeSource reads the functions of one trace.
type bytecodeSource struct {
	vm     *VM
	protos map[uint64]*jit.Proto
}

// Proto reads a prototype with its constants.
func (s *bytecodeSource) Proto(address uint64) *jit.Proto {
	const (
		parameters    = 0x0a // numparams
		slots         = 0x0b // framesize
		constants     = 0x20 // k
		objects       = 0x30 // sizekgc
		numbers       = 0x34 // sizekn
		mostConstants = 1 << 16
		protoVararg   = 0x02
	)
	if p, ok := s.protos[address]; ok || address == 0 {
		return p
	}
	s.protos[address] = nil
	r := s.vm.reader()
	c, ok := s.vm.readCode(r, address)
	if !ok {
		return nil
	}
	p := &jit.Proto{Address: address, First: address + protoSize, Code: c.plain, Vararg: c.flags&protoVararg != 0,
		Slots: int(r.U8(address + slots)), Parameters: int(r.U8(address + parameters))}
	k, nObjects, nNumbers := r.U64(address+constants), uint64(r.U32(address+objects)), uint64(r.U32(address+numbers))
	if r.Err != nil || nObjects > mostConstants || nNumbers > mostConstants {
		return nil
	}
	b := r.Bytes(k-8*nObjects, int(8*(nObjects+nNumbers)))
	if r.Err != nil {
		return nil
	}
	for n := range nObjects { // they count downwards
		p.Objects = append(p.Objects, le64(b[8*(nObjects-1-n):])&pointerMask)
	}
	for n := range nNumbers {
		p.Numbers = append(p.Numbers, le64(b[8*(nObjects+n):]))
	}
	s.protos[address] = p
	return p
}

// At is the prototype that an instruction belongs to.
func (s *bytecodeSource) At(pc uint64) *jit.Proto {
	if proto, ok := s.vm.protoOf(pc); ok {
		return s.Proto(proto)
	}
	return nil
}

// Lua is the prototype of a function of Lua; 0: it is none.
func (s *bytecodeSource) Lua(function uint64) uint64 {
	r := s.vm.reader()
	if function == 0 || r.U8(function+objectType) != typeFunction || r.U8(function+functionID) != 0 || r.Err != nil {
		return 0
	}
	proto := r.U64(function+functionPC) - protoSize
	if r.Err != nil {
		return 0
	}
	return proto
}

// Upvalue is the value of a function's variable outside, as it is now.
func (s *bytecodeSource) Upvalue(function uint64, n int) uint64 {
	const first = 0x28 // uvptr
	r := s.vm.reader()
	if n >= int(r.U8(function+functionCount)) {
		return 0
	}
	v := r.U64(r.U64(function+first+8*uint64(n)) + upvalueValue)
	v = r.U64(v)
	if r.Err != nil {
		return 0
	}
	return v
}

// Builtin is what a function of LuaJIT's own is called.
func (s *bytecodeSource) Builtin(function uint64) string {
	r := s.vm.reader()
	if function == 0 || r.U8(function+objectType) != typeFunction {
		return ""
	}
	name := s.vm.builtins[uint64(r.U8(function+functionID))]
	if r.Err != nil {
		return ""
	}
	return name
}

// TypeName is the string that type() returns: its names are those of the types of values, from nil to numbers, which count as one.
func (s *bytecodeSource) TypeName(function uint64, kind int) uint64 {
	const typeID, names = 3, 0x30 // FF_type; upvalues of a C function
	r := s.vm.reader()
	if function == 0 || r.U8(function+objectType) != typeFunction || r.U8(function+functionID) != typeID || kind >= int(r.U8(function+functionCount)) {
		return 0
	}
	name := r.U64(function+names+8*uint64(kind)) & pointerMask
	if r.Err != nil {
		return 0
	}
	return name
}

// placeFrames describes the functions of a place in a trace, innermost first.
func (vm *VM) placeFrames(r *process.Reader, place jit.Place) []Frame {
	var frames []Frame
	for i := len(place) - 1; i >= 0; i-- {
		c := place[i]
		f := vm.protoFrame(r, c.Proto, c.To+4)
		if c.Whole {
			f.Line, f.LastLine = f.FirstLn, f.FirstLn+int(r.U32(c.Proto+protoLines))
		} else {
			f.Line, f.LastLine = vm.lineRange(r, c.Proto, c.From, c.To)
		}
		frames = append(frames, f)
	}
	return frames
}

// lineRange is the first and the last line of the instructions between two, both included; last is 0 where it is one line.
func (vm *VM) lineRange(r *process.Reader, proto, from, to uint64) (first, last int) {
	const most = 4096 // instructions
	for pc := from; pc <= to && pc <= from+4*most; pc += 4 {
		line := vm.line(r, proto, pc+4)
		if line == 0 {
			continue
		}
		if first == 0 || line < first {
			first = line
		}
		last = max(last, line)
	}
	if last == first {
		last = 0
	}
	return first, last
}

// Bytecode is what package jit reads of the functions of a trace.
func (vm *VM) Bytecode() jit.Source { return &bytecodeSource{vm: vm, protos: map[uint64]*jit.Proto{}} }

// Lines are those of a prototype's instructions, in their order.
func (vm *VM) Lines(proto uint64) (all []int) {
	const most = 1 << 16 // instructions
	r := vm.reader()
	for n := range min(uint64(r.U32(proto+protoSizeBC)), most) {
		all = append(all, vm.line(r, proto, proto+protoSize+4*(n+1)))
	}
	return all
}

// Compiled describes the functions in which a clock's interrupt has found the trace that lies at an address: see compiledFrames. It is nil
// where the function is not known that the trace is in without any call: a stack would tell.
func (vm *VM) Compiled(address, machine uint64) []Frame {
	r := vm.reader()
	t := vm.readTrace(r, address)
	if t == nil {
		return nil
	}
	known := vm.mapOf(t, 0)
	code := known.lines()
	first, ok := vm.readSnapshot(r, t, 0)
	if !ok || code != nil && code.Unfit {
		return nil
	}
	var root inlined
	one, ok := vm.windowsOf(t, nil).at(max(machine, t.code.From+1)-1, false)
	if ok && len(first.frames) == 0 && !returnsBetween(r, t, irBias, one.before.ref) {
		root.proto = r.U64(t.address+traceStart) & pointerMask
	}
	if root.proto == 0 && code == nil {
		return nil
	}
	return vm.framesAt(r, t, known, machine, root, false)
}
