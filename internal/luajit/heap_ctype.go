package luajit

import (
	"fmt"
	"strings"
)

// A ctypes is the table of C types of a machine (CTState), empty where FFI was never used.
type ctypes struct {
	heap  *Heap
	state uint64
	table []byte
	// Where CTState knows the table of finalizers; 0: since 2023 that is a root of its own.
	finalizer uint64
}

// Offsets in CTState and CType.
const (
	ctypesTop, ctypesRoom = 0x08, 0x0c // types, and room for types
	ctypesMachine         = 0x18
	ctypesTable           = 0x20 // finalizer, then miscmap, or miscmap alone
	ctypesCallbacks       = 0xf8 // room for callbacks, behind both
	ctypesSize            = 0x208
	ctypeSize             = 0x18
	ctypeBytes, ctypeName = 0x04, 0x10
	ctypeShift            = 28
	ctypeNoSize           = 1<<32 - 1
)

// Kinds of C types (CT_NUM …).
const (
	ctNumber = iota
	ctStruct
	ctPointer
	ctArray
	ctVoid
	ctEnum
	ctFunction
	ctTypedef
	ctAttribute
)

func (h *Heap) readTypes() ctypes {
	t := ctypes{heap: h}
	r := h.vm.reader()
	at := r.U64(h.vm.Global + h.vm.Layout.CurrentL + 0x10) // ctype_state, after jit_base
	state := h.copy.View(at, ctypesSize)
	if at == 0 || state == nil || le64(state[ctypesMachine:]) != h.vm.Global {
		return t
	}
	t.state = at
	if h.kindAt(le64(state[ctypesTable+8:])) == typeTable {
		t.finalizer = le64(state[ctypesTable:])
	}
	t.table = h.vector(le64(state), ctypeSize*uint64(le32(state[ctypesTop:])))
	return t
}

// bytes is the memory of the table and of its state.
func (t ctypes) bytes() uint64 {
	state := t.heap.copy.View(t.state, ctypesSize)
	if t.state == 0 || state == nil {
		return 0
	}
	size, callbacks := uint64(ctypesSize), uint64(ctypesCallbacks)
	if t.finalizer == 0 { // and six registers less are kept for callbacks
		size, callbacks = size-7*8, callbacks-7*8
	}
	const most = 4096 // callbacks; a page of code holds less
	if n := uint64(le32(state[callbacks:])); n <= most {
		size += 2 * n
	}
	return size + ctypeSize*uint64(le32(state[ctypesRoom:]))
}

// misc is the table of metatables of C types and of callbacks.
func (t ctypes) misc() uint64 {
	if t.state == 0 {
		return 0
	}
	if t.finalizer != 0 {
		return t.heap.pointer(t.state + ctypesTable + 8)
	}
	return t.heap.pointer(t.state + ctypesTable)
}

func (t ctypes) get(id int) (info, size uint32, name string, ok bool) {
	if (id+1)*ctypeSize > len(t.table) {
		return 0, 0, "", false
	}
	b := t.table[id*ctypeSize:]
	if s := le64(b[ctypeName:]); s != 0 {
		name = t.heap.text(s)
	}
	return le32(b), le32(b[ctypeBytes:]), name, true
}

const maxNesting = 16 // of C types; deeper ones are garbage

// size is what an object of a type holds, in bytes (ctype_raw, lj_cdata_free).
func (t ctypes) size(id int) (uint64, bool) {
	for range maxNesting {
		info, size, _, ok := t.get(id)
		if !ok {
			return 0, false
		}
		switch kind := info >> ctypeShift; {
		case kind == ctAttribute || kind == ctTypedef:
			id = int(info & 0xffff)
		case kind <= ctEnum && size != ctypeNoSize:
			return uint64(size), true
		case kind == ctFunction || kind > ctAttribute:
			return 8, true // a pointer
		default:
			return 0, false
		}
	}
	return 0, false
}

// name is a type in C's words, as far as they fit into a line.
func (t ctypes) name(id int) string {
	after := ""
	for range maxNesting {
		info, size, name, ok := t.get(id)
		if !ok {
			break
		}
		child := int(info & 0xffff)
		switch info >> ctypeShift {
		case ctStruct:
			if name == "" {
				name = fmt.Sprintf("(%d bytes)", size)
			}
			return "struct " + name + after
		case ctEnum:
			return "enum " + name + after
		case ctPointer:
			after, id = " *"+strings.TrimPrefix(after, " "), child
		case ctArray:
			after, id = "[]"+after, child
		case ctFunction:
			return "function" + after
		case ctVoid:
			return "void" + after
		case ctNumber, ctTypedef:
			if name != "" {
				return name + after
			}
			if info>>ctypeShift == ctNumber {
				return numberName(info, size) + after
			}
			id = child
		default:
			id = child
		}
	}
	return "C type " + fmt.Sprint(id) + after
}

// Flags of number types.
const ctBool, ctFloat, ctUnsigned = 0x0800_0000, 0x0400_0000, 0x0080_0000

func numberName(info, size uint32) string {
	switch {
	case info&ctBool != 0:
		return "bool"
	case info&ctFloat != 0 && size == 4:
		return "float"
	case info&ctFloat != 0:
		return "double"
	case info&ctUnsigned != 0:
		return fmt.Sprintf("uint%d_t", 8*size)
	}
	return fmt.Sprintf("int%d_t", 8*size)
}
