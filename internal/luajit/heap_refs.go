package luajit

import (
	"cmp"
	"slices"
)

// A Ref says how an object holds another: a kind in the upper byte, and which of its kind.
type Ref = uint64

func ref(kind, n uint64) Ref { return kind<<56 | n }

func kindOf(r Ref) uint64   { return r >> 56 }
func numberOf(r Ref) uint64 { return r & (1<<56 - 1) }

// Kinds of references.
const (
	refRoot       = iota + 1 // which root
	refItem                  // of the array of a table
	refNode                  // value of a node of its hash part
	refKey                   // key of such a node
	refMeta                  // metatable
	refEnv                   // environment
	refCode                  // prototype of a function
	refUpvalue               // of a Lua function
	refCValue                // upvalue of a C function
	refValue                 // of an upvalue
	refConstant              // of a prototype
	refChunk                 // chunk's name
	refTrace                 // trace that starts in a prototype
	refStart                 // prototype that a trace starts in
	refTraceValue            // constant of a trace
	refLink                  // another trace
	refSlot                  // of a coroutine's stack
	refBuffer                // what a string buffer refers to
)

// References calls found with each object that an object keeps alive, in the order in which the collector
// would find them. An object may be found several times. Weak references of tables are left out. What a reference
// that makes no sense leads to is -1.
func (h *Heap) References(object int, found func(to int, how Ref)) {
	h.soon(h.at[object])
	h.eachRef(h.at[object], h.kind(object), func(to uint64, how Ref) {
		n, ok := h.index.of(to)
		if !ok {
			n = -1
		}
		found(n, how)
	})
}

// eachRef calls found with each address that an object refers to, or 0 where no object of the right type
// is (gc_mark, gc_traverse_tab, gc_traverse_func, gc_traverse_proto, gc_traverse_thread and
// gc_traverse_trace of lj_gc.c).
func (h *Heap) eachRef(at uint64, kind uint8, found func(to uint64, how Ref)) {
	object := func(to uint64, kind uint8, how Ref) {
		switch {
		case to == 0:
		case kind == 0 || h.typeAt(to) != kind:
			found(0, how)
		default:
			found(to, how)
		}
	}
	switch kind {
	case typeTable:
		h.eachOfTable(at, object)
	case typeFunction:
		h.eachOfFunction(at, object)
	case typeUpvalue:
		// The value of one that is open lies on a stack.
		if v := h.copy.View(h.pointer(at+upvalueValue), 8); v != nil {
			value(le64(v), ref(refValue, 0), object)
		}
	case typeThread:
		h.eachOfThread(at, object)
	case typeProto:
		h.eachOfProto(at, object)
	case typeTrace:
		h.eachOfTrace(at, object)
	case typeUserdata:
		h.eachOfUserdata(at, object)
	}
}

// value passes on the object in a tagged value, if there is one in it.
func value(tagged uint64, how Ref, object func(uint64, uint8, Ref)) {
	switch tag := tagOf(tagged); tag {
	case typeString, typeThread, typeProto, typeFunction, typeCData, typeTable, typeUserdata:
		object(tagged&pointerMask, uint8(tag), how)
	}
}

const (
	weakKeys   = 1
	weakValues = 2
	tagNil     = 0
)

func (h *Heap) eachOfTable(at uint64, object func(uint64, uint8, Ref)) {
	b := h.copy.View(at, tableSize)
	if b == nil {
		return
	}
	weak := uint8(0)
	if meta := le64(b[tableMeta:]); meta != 0 {
		object(meta, typeTable, ref(refMeta, 0))
		weak = h.weakness(meta)
		if at == h.types.finalizer { // its values stay, though the mode may say otherwise
			weak &^= weakValues
		}
	}
	if weak == weakKeys|weakValues {
		return
	}
	array, nodes := h.parts(b)
	if weak&weakValues == 0 {
		for n := uint64(0); len(array) >= 8; n, array = n+1, array[8:] {
			value(le64(array), ref(refItem, n), object)
		}
	}
	node := func(n uint64) {
		v := le64(nodes[n*nodeSize:])
		if tagOf(v) == tagNil {
			return
		}
		if weak&weakValues == 0 {
			value(v, ref(refNode, n), object)
		}
		if weak&weakKeys == 0 {
			value(le64(nodes[n*nodeSize+nodeKey:]), ref(refKey, n), object)
		}
	}
	if order := h.order(nodes); order != nil {
		for _, n := range order {
			node(n)
		}
		return
	}
	for n := range uint64(len(nodes) / nodeSize) {
		node(n)
	}
}

// order sorts the nodes of a module by their keys; of other tables it is nil. What several functions hold is
// found through the first of them, which then is the same in every process.
func (h *Heap) order(nodes []byte) []uint64 {
	count := uint64(len(nodes) / nodeSize)
	if count > maxRecord {
		return nil
	}
	module := false
	for n := uint64(0); n < count && !module; n++ {
		module = tagOf(le64(nodes[n*nodeSize:])) == typeFunction
	}
	if !module {
		return nil
	}
	order := make([]uint64, count)
	keys := make([]string, count)
	for n := range count {
		order[n] = n
		if key := le64(nodes[n*nodeSize+nodeKey:]); tagOf(key) == typeString {
			keys[n] = h.text(key & pointerMask)
		}
	}
	slices.SortFunc(order, func(a, b uint64) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
	return order
}

// weakness reads the mode of a metatable.
func (h *Heap) weakness(meta uint64) uint8 {
	weak, known := h.weak[meta]
	if known {
		return weak
	}
	if b := h.copy.View(meta, tableSize); b != nil {
		_, nodes := h.parts(b)
		for ; len(nodes) >= nodeSize; nodes = nodes[nodeSize:] {
			key, v := le64(nodes[nodeKey:]), le64(nodes)
			if tagOf(key) != typeString || tagOf(v) != typeString || h.text(key&pointerMask) != "__mode" {
				continue
			}
			for _, c := range h.text(v & pointerMask) {
				switch c {
				case 'k':
					weak |= weakKeys
				case 'v':
					weak |= weakValues
				}
			}
		}
	}
	h.weak[meta] = weak
	return weak
}

func (h *Heap) eachOfFunction(at uint64, object func(uint64, uint8, Ref)) {
	b := h.copy.View(at, functionCUp)
	if b == nil {
		return
	}
	object(le64(b[functionEnv:]), typeTable, ref(refEnv, 0))
	count := uint64(b[functionCount])
	if b[functionID] != 0 {
		values := h.vector(at+functionCUp, 8*count)
		for n := uint64(0); len(values) >= 8; n, values = n+1, values[8:] {
			value(le64(values), ref(refCValue, n), object)
		}
		return
	}
	object(le64(b[functionPC:])-protoSize, typeProto, ref(refCode, 0))
	values := h.vector(at+functionUp, 8*count)
	for n := uint64(0); len(values) >= 8; n, values = n+1, values[8:] {
		object(le64(values), typeUpvalue, ref(refUpvalue, n))
	}
}

func (h *Heap) eachOfThread(at uint64, object func(uint64, uint8, Ref)) {
	const dummies = 2 // slots at the bottom
	slots, sure := h.stackInUse(at)
	for n := uint64(dummies); (n+1)*8 <= uint64(len(slots)); n++ {
		value(le64(slots[8*n:]), ref(refSlot, n), func(to uint64, kind uint8, how Ref) {
			if n < sure || h.index.has(to) && h.kindAt(to) == kind {
				object(to, kind, how)
			}
		})
	}
	object(h.pointer(at+environment), typeTable, ref(refEnv, 0))
}

// stackInUse are the slots of a coroutine's stack up to its top. Of one that runs, the top is known to the
// interpreter alone: it is less than a frame above base, and the slots from the sure ones on may hold what
// was left there.
func (h *Heap) stackInUse(at uint64) (slots []byte, sure uint64) {
	l := h.vm.Layout
	stack, top, base := h.pointer(at+l.Stack), h.pointer(at+l.Top), h.pointer(at+l.Base)
	size := 8 * uint64(h.word(at+l.CFrame+8))
	if top < stack {
		return nil, 0
	}
	used := top - stack
	sure = used / 8
	if frames := h.stacks[at]; len(frames) > 0 {
		base = max(base, frames[0].base) // the interpreter may be ahead of what it has written down
	}
	if h.pointer(at+l.CFrame) != 0 && base >= stack {
		const frame = 8 * 256
		used = max(used, base-stack+frame)
		sure = min(sure, (base-stack)/8)
	}
	return h.vector(stack, min(used, size)), sure
}

func (h *Heap) eachOfProto(at uint64, object func(uint64, uint8, Ref)) {
	b := h.copy.View(at, protoSize)
	if b == nil {
		return
	}
	object(le64(b[protoChunkName:]), typeString, ref(refChunk, 0))
	count := uint64(le32(b[protoCountGC:]))
	constants := h.vector(le64(b[protoConstants:])-8*count, 8*count)
	for n := uint64(0); len(constants) >= 8; n, constants = n+1, constants[8:] {
		if to := le64(constants); to != 0 {
			object(to, h.typeAt(to), ref(refConstant, n)) // a string, prototype, table or C data
		}
	}
	h.trace(uint64(le16(b[protoTrace:])), ref(refTrace, 0), object)
}

// trace passes on a trace by its number.
func (h *Heap) trace(number uint64, how Ref, object func(uint64, uint8, Ref)) {
	traces := h.vm.Global + h.vm.Layout.Traces
	if number > 0 && number < uint64(h.word(traces+tracesCount)) {
		object(h.pointer(h.pointer(traces)+8*number)&pointerMask, typeTrace, how)
	}
}

func (h *Heap) eachOfTrace(at uint64, object func(uint64, uint8, Ref)) {
	b := h.copy.View(at, traceSize)
	if b == nil || le16(b[traceNumber:]) == 0 {
		return
	}
	object(le64(b[traceStart:]), typeProto, ref(refStart, 0))
	first := uint64(le32(b[traceFirst:]))
	if first > irBias {
		return
	}
	const (
		constants = irBias - 3 // nil, false and true follow
		opcode    = 5          // in an instruction
		objectIn  = 24         // IR_KGC: the object's address is in the next place
	)
	ir := h.vector(le64(b[traceIR:])+irSize*first, irSize*(irBias-first))
	for n := first; n < constants && len(ir) >= 2*irSize; n, ir = n+1, ir[irSize:] {
		if ir[opcode] != objectIn {
			continue
		}
		// The result's type is that of the object; other opcodes of other versions do not pass.
		if to := le64(ir[irSize:]); h.kindAt(to) != 0 && h.kindAt(to) == ir[opcode-1]&0x1f {
			object(to, h.kindAt(to), ref(refTraceValue, n))
		}
	}
	for _, link := range []int{traceLink, traceNextRoot, traceNextSide} {
		h.trace(uint64(le16(b[link:])), ref(refLink, 0), object)
	}
}

func (h *Heap) eachOfUserdata(at uint64, object func(uint64, uint8, Ref)) {
	b := h.copy.View(at, userdataSize)
	if b == nil {
		return
	}
	object(le64(b[userdataMeta:]), typeTable, ref(refMeta, 0))
	object(le64(b[userdataEnv:]), typeTable, ref(refEnv, 0))
	if b[userdataKind] != userdataBuffer {
		return
	}
	if v := h.vector(at+userdataSize, 0x40); v != nil {
		for n, field := range []int{bufferShared, bufferDict, bufferMT} {
			if to := le64(v[field:]); to != 0 && h.kindAt(to) != 0 {
				object(to, h.kindAt(to), ref(refBuffer, uint64(n)))
			}
		}
	}
}
