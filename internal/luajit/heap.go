package luajit

import (
	"errors"
	"slices"

	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/process"
)

// An Object's type, as the collector knows it.
type ObjectType uint8

// Types of objects.
const (
	String    ObjectType = typeString
	Upvalue   ObjectType = typeUpvalue
	Coroutine ObjectType = typeThread
	Prototype ObjectType = typeProto
	Function  ObjectType = typeFunction
	Trace     ObjectType = typeTrace
	CData     ObjectType = typeCData
	Table     ObjectType = typeTable
	Userdata  ObjectType = typeUserdata
)

var typeNames = map[ObjectType]string{
	String: "string", Upvalue: "upvalue", Coroutine: "coroutine", Prototype: "prototype", Function: "function",
	Trace: "trace", CData: "cdata", Table: "table", Userdata: "userdata",
}

func (t ObjectType) String() string { return typeNames[t] }

// A Heap is all objects of a machine, as a copy of its memory holds them. Objects are numbered from 0
// in the order of their addresses. It is for one goroutine at a time.
type Heap struct {
	vm     VM // reads from the copy
	copy   *process.Copy
	space  *memory.Space
	layout heapLayout
	types  ctypes
	main   uint64 // main thread
	weak   map[uint64]uint8
	stacks map[uint64][]stackFrame // of coroutines, for names

	roots []root
	known [2]uint64         // package.loaded, _G
	names map[uint64]string // of functions, by prototype

	// Sources and Request give names to functions and to what coroutines run for, where they are set.
	Sources *Sources
	Request func(coroutine uint64) string

	index *index
	at    []uint64 // addresses
	kinds []uint8
	sizes []uint32

	Total  uint64     // gc.total: bytes in use, as the machine counts them
	Sweeps bool       // the collector was freeing what it has found dead
	Others []Overhead // what is in Total, but no object
	Code   uint64     // bytes of the traces' machine code, which are not in Total

	Broken  int // objects and references that make no sense
	Cut     int // lists of objects whose end was not found
	Strings int // strings that the machine counts
}

// An Overhead is memory of the machine's own.
type Overhead struct {
	Name  string
	Bytes uint64
}

// ReadHeap finds all objects in a copy of the process's memory. The registers are those of the moment of
// the copy, or zero where the process was not stopped.
// What makes no sense is counted, not followed; nothing loops for ever.
// What is kept of each object lies in the space: call it within memory.Run.
func (vm *VM) ReadHeap(copied *process.Copy, registers process.Registers, space *memory.Space) (*Heap, error) {
	h := &Heap{vm: *vm, copy: copied, space: space, index: newIndex(copied, space), weak: map[uint64]uint8{}, names: map[uint64]string{}}
	h.vm.Memory = copied
	var err error
	if h.layout, err = h.vm.findHeap(); err != nil {
		return nil, err
	}
	r := h.vm.reader()
	h.main = r.U64(vm.Global + vm.Layout.MainThread)
	h.Total = r.U64(vm.Global + h.layout.total)
	phase := r.U8(vm.Global + h.layout.total + gcState)
	const sweepStrings, sweep = 3, 4
	h.Sweeps = phase == sweepStrings || phase == sweep
	if r.Err != nil {
		return nil, r.Err
	}
	h.types = h.readTypes()
	h.known = [2]uint64{h.vm.field(h.pointer(vm.Global+h.layout.registry)&pointerMask, "_LOADED"), h.pointer(h.main + environment)}
	h.readLists()
	h.discover()
	if h.index.count == 0 {
		return nil, errors.New("no object of the heap was found: its list is broken")
	}
	h.measure()
	h.Others = h.overheads()
	h.stacks = map[uint64][]stackFrame{}
	for i := range h.at {
		if ObjectType(h.kinds[i]) == Coroutine {
			h.stacks[h.at[i]] = h.vm.stackFrames(h.at[i], registers)
		}
	}
	return h, nil
}

// readLists follows the lists that the collector has: of all objects, of the open upvalues of each
// coroutine, of what waits for its finalizer, and of the strings.
func (h *Heap) readLists() {
	g := h.vm.Global
	h.list(h.pointer(g+h.layout.total+gcRoot), 0)
	if first := h.pointer(g + h.layout.total + gcFinalize); first != 0 {
		h.list(first, first)
	}
	table, mask := h.pointer(g+h.layout.strings), h.word(g+h.layout.strings+8)
	h.Strings = int(h.word(g + h.layout.strings + 12))
	anchors := h.vector(table, 8*(uint64(mask)+1))
	if anchors == nil {
		h.Cut++
	}
	var heads []uint64
	for ; len(anchors) >= 8; anchors = anchors[8:] {
		if first := le64(anchors) &^ 1; first != 0 { // the lowest bit tells the hash function
			heads = memory.Push(h.space, heads, first)
		}
	}
	h.chains(heads)
	memory.Release(h.space, heads)
	// The empty string is a part of global_State.
	if empty := g + h.layout.total + gcSize; h.kindAt(empty) == typeString {
		h.index.add(empty)
	}
}

// list adds a list of objects, which ends with 0 or where it began.
func (h *Heap) list(at, end uint64) {
	for first := true; at != 0 && (first || at != end); first = false {
		kind := h.kindAt(at)
		if kind == 0 || !h.index.add(at) {
			h.Cut++ // garbage, or a circle
			return
		}
		if kind == typeThread {
			h.list(h.pointer(at+h.vm.Layout.Stack+8), 0) // openupval
		}
		at = h.pointer(at + objectNext)
	}
}

// chains adds strings of equal hash, of all chains at once: the first of each in the order of their addresses, then
// the second of each, and so on. One chain after the other would go to and fro in the whole copy, which may be on a disk.
func (h *Heap) chains(heads []uint64) {
	for len(heads) > 0 {
		slices.Sort(heads)
		next := heads[:0]
		for _, at := range heads {
			if h.kindAt(at) != typeString || !h.index.add(at) {
				h.Cut++
				continue
			}
			if at = h.pointer(at + objectNext); at != 0 {
				next = append(next, at)
			}
		}
		heads = next
	}
}

// discover adds the objects that only references lead to: all those behind a place where a list is cut.
func (h *Heap) discover() {
	if h.Cut == 0 {
		return
	}
	seen := newIndex(h.copy, h.space)
	defer seen.release()
	var open []uint64
	defer func() { memory.Release(h.space, open) }()
	visit := func(to uint64, _ Ref) {
		if seen.add(to) {
			h.index.add(to)
			open = memory.Push(h.space, open, to)
		}
	}
	for _, root := range h.rootAddresses() {
		visit(root.address, 0)
	}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		h.eachRef(at, h.kindAt(at), visit)
	}
}

// measure numbers the objects and computes their sizes.
func (h *Heap) measure() {
	h.at = h.index.number()
	kinds := memory.Make[uint8](h.space, len(h.at))
	h.sizes = memory.Make[uint32](h.space, len(h.at))
	h.Broken = 0 // references are counted again when they are followed
	for i, at := range h.at {
		kinds[i] = h.kindAt(at)
		size, ok := h.size(at, kinds[i])
		if !ok {
			h.Broken++
		}
		if at == h.vm.Global+h.layout.total+gcSize {
			size = 0 // the empty string
		}
		h.sizes[i] = uint32(min(size, 1<<32-1))
		if kinds[i] == typeTrace {
			h.Code += uint64(h.word(at + traceCodeSize))
		}
	}
	h.kinds = kinds
}

// kindAt is the type of the object at an address, or 0 where none can be.
func (h *Heap) kindAt(at uint64) uint8 {
	b := h.copy.View(at, headerSize)
	if b == nil || at%granule != 0 || b[objectType] < typeString || b[objectType] > typeUserdata {
		return 0
	}
	return b[objectType]
}

// typeAt is kindAt. Where all objects are numbered it does not read the copy, of which it would need a page for every
// reference.
func (h *Heap) typeAt(at uint64) uint8 {
	if h.kinds == nil {
		return h.kindAt(at)
	}
	if n, ok := h.index.of(at); ok {
		return h.kinds[n]
	}
	return h.kindAt(at) // what is no object that the lists have
}

// pointer reads a pointer, 0 where it can't be read.
func (h *Heap) pointer(at uint64) uint64 {
	if b := h.copy.View(at, 8); b != nil {
		return le64(b)
	}
	return 0
}

func (h *Heap) word(at uint64) uint32 {
	if b := h.copy.View(at, 4); b != nil {
		return le32(b)
	}
	return 0
}

// text reads a string for a name.
func (h *Heap) text(at uint64) string {
	r := h.vm.reader()
	return h.vm.text(r, at)
}

// Len is the number of objects.
func (h *Heap) Len() int { return len(h.at) }

// Type is the type of an object.
func (h *Heap) Type(object int) ObjectType { return ObjectType(h.kinds[object]) }

// Size is how many bytes an object takes, with what belongs to it alone.
func (h *Heap) Size(object int) int64 { return int64(h.sizes[object]) }

// Entries is how many values a table holds.
func (h *Heap) Entries(table int) (n int64) {
	b := h.copy.View(h.at[table], tableSize)
	if b == nil {
		return 0
	}
	array, nodes := h.parts(b)
	for ; len(array) >= 8; array = array[8:] {
		if tagOf(le64(array)) != tagNil {
			n++
		}
	}
	for ; len(nodes) >= nodeSize; nodes = nodes[nodeSize:] {
		if tagOf(le64(nodes)) != tagNil {
			n++
		}
	}
	return n
}

// TypeName is an object's type, with functions told apart by their language.
func (h *Heap) TypeName(object int) string {
	if h.kinds[object] == typeFunction {
		if h.byte(h.at[object]+functionID) == 0 {
			return "Lua function"
		}
		return "C function"
	}
	return h.Type(object).String()
}

// Passing tells that an object is a coroutine: what it holds it holds while it runs.
func (h *Heap) Passing(object int) bool {
	return h.kinds[object] == typeThread && h.at[object] != h.main
}
