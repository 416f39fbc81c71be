package luajit

import (
	"errors"

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

	index  *index
	passed uint64   // how far the copy was gone through
	at     []uint64 // addresses
	kinds  []uint8
	sizes  []uint32

	coroutines []uint64 // addresses
	fixed      []int32  // strings that are never collected

	Total  uint64     // gc.total: bytes in use, as the machine counts them
	Sweeps bool       // the collector was freeing what it has found dead
	Others []Overhead // what is in Total, but no object
	Code   uint64     // bytes of the traces' machine code, which are not in Total

	Broken  int // objects that make no sense
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
	for _, at := range h.coroutines {
		h.stacks[at] = h.vm.stackFrames(at, registers)
	}
	return h, nil
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
	count := h.index.number()
	h.at, h.sizes = memory.Long[uint64](h.space, count), memory.Long[uint32](h.space, count)
	kinds := memory.Make[uint8](h.space, count)
	h.Broken = 0
	h.index.each(func(i int, at uint64) {
		h.soon(at)
		h.at[i], kinds[i] = at, h.kindAt(at)
		size, ok := h.size(at, kinds[i])
		if !ok {
			h.Broken++
		}
		if at == h.vm.Global+h.layout.total+gcSize {
			size = 0 // the empty string
		}
		h.sizes[i] = uint32(min(size, 1<<32-1))
		switch kinds[i] {
		case typeTrace:
			h.Code += uint64(h.word(at + traceCodeSize))
		case typeString:
			if h.byte(at+objectMarks)&markFixed != 0 {
				h.fixed = append(h.fixed, int32(i))
			}
		case typeThread:
			h.coroutines = append(h.coroutines, at)
		case typeFunction:
			if h.byte(at+functionID) != 0 {
				kinds[i] |= inC
			}
		}
	})
	h.kinds = kinds
}

// soon tells where a pass over all objects is, in the order of their addresses, so that what comes next is read from
// the disk in large pieces.
func (h *Heap) soon(at uint64) {
	const piece = 4 << 20
	passed := at - h.passed
	if passed < piece {
		return
	}
	h.passed = at
	if passed < 2*piece { // not just any place
		h.space.Ahead(h.copy.Rest(at+piece, 2*piece))
	}
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
		return h.kind(n)
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

// inC marks the type of a function that is one in C.
const inC = 0x40

func (h *Heap) kind(object int) uint8 { return h.kinds[object] &^ inC }

// Type is the type of an object.
func (h *Heap) Type(object int) ObjectType { return ObjectType(h.kind(object)) }

// Size is how many bytes an object takes, with what belongs to it alone.
func (h *Heap) Size(object int) int64 { return int64(h.sizes[object]) }

// Leaf reports that an object is a string: it holds no others, and half of a heap are some.
func (h *Heap) Leaf(object int) bool { return h.kinds[object] == typeString }

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
	switch h.kinds[object] {
	case typeFunction:
		return "Lua function"
	case typeFunction | inC:
		return "C function"
	}
	return h.Type(object).String()
}

// Passing reports that an object is a coroutine: what it holds it holds while it runs.
func (h *Heap) Passing(object int) bool {
	return h.kinds[object] == typeThread && h.at[object] != h.main
}
