package luajit

// Offsets in objects that only the heap needs (lj_obj.h, lj_buf.h, lj_ctype.h).
const (
	objectNext   = 0x00 // nextgc
	objectMarks  = 0x08
	headerSize   = 0x10
	markFixed    = 0x20 // LJ_GC_FIXED: never collected
	markVariable = 0x80 // of C data: variable size or alignment, GCcdataVar before it

	upvalueValue   = 0x20 // v: where its value is
	upvalueSize    = 0x30
	upvalueOwn     = 0x10 // tv: its value when it is closed
	functionEnv    = 0x10
	functionCount  = 0x0b // nupvalues
	functionUp     = 0x28 // uvptr of a Lua function
	functionCUp    = 0x30 // upvalue of a C function
	userdataEnv    = 0x10
	userdataLength = 0x18
	userdataMeta   = 0x20
	userdataKind   = 0x0a // udtype
	userdataSize   = 0x30
	userdataBuffer = 3 // UDTYPE_BUFFER
	tableColo      = 0x0b
	tableMeta      = 0x20
	tableSize      = 0x40
	protoConstants = 0x20 // k: collectable ones below it
	protoUpInfo    = 0x58 // uvinfo
	protoCountGC   = 0x30 // sizekgc
	protoAllSize   = 0x38 // sizept
	protoTrace     = 0x3e
	traceSize      = 0x78
	traceFirst     = 0x28 // nk: the lowest constant
	traceMapSize   = 0x2c // nsnapmap
	traceLink      = 0x6a
	traceNextRoot  = 0x6e
	traceNextSide  = 0x70
	cdataType      = 0x0a // ctypeid
	cdataSize      = 0x10
	cdataVariable  = 8 // bytes of GCcdataVar: offset, extra, len

	// An SBuf: w, e, b, L; L's lowest bits say what becomes of the bytes.
	bufferEnd, bufferBegin, bufferFlags = 0x08, 0x10, 0x18
	bufferBorrows                       = 2 | 4 // copy on write, or borrowed: of somebody else
	bufferShared, bufferDict, bufferMT  = 0x20, 0x30, 0x38
)

const (
	typeUpvalue  = 5
	typeCData    = 10
	typeUserdata = 12
)

// size is how many bytes an object takes from gc.total, with all that belongs to it alone; ok is false
// where it makes no sense. The formulas are those that LuaJIT frees objects by: lj_str_free, lj_tab_free,
// lj_func_free, lj_state_free, lj_cdata_free, lj_udata_free, lj_trace_free.
func (h *Heap) size(address uint64, kind uint8) (size uint64, ok bool) {
	head := func(n int) []byte { return h.copy.View(address, n) }
	there := func(at, n uint64) bool { return n == 0 || n < maxVector && h.copy.View(at, int(n)) != nil }
	switch kind {
	case typeString:
		b := head(stringBytes)
		if b == nil {
			return 0, false
		}
		size = stringBytes + (uint64(le32(b[h.vm.stringLength():]))+4)&^3
		return size, there(address, size)
	case typeUpvalue:
		return upvalueSize, head(upvalueSize) != nil
	case typeThread:
		b := head(int(h.layout.threadSize))
		if b == nil {
			return 0, false
		}
		size = 8 * uint64(le32(b[h.vm.Layout.CFrame+8:])) // stacksize
		ok = size > 0 && there(le64(b[h.vm.Layout.Stack:]), size)
		if address != h.main { // that one is a part of GG_State
			size += h.layout.threadSize
		}
		return size, ok
	case typeProto:
		b := head(protoSize)
		if b == nil {
			return 0, false
		}
		size = uint64(le32(b[protoAllSize:]))
		return size, size >= protoSize && there(address, size)
	case typeFunction:
		b := head(functionCUp)
		if b == nil {
			return 0, false
		}
		size = functionUp + 8*uint64(b[functionCount])
		if b[functionID] != 0 {
			size += functionCUp - functionUp
		}
		return size, there(address, size)
	case typeTrace:
		b := head(traceSize)
		if b == nil {
			return 0, false
		}
		first, end := uint64(le32(b[traceFirst:])), uint64(le32(b[traceInstructions:]))
		if first > irBias || end < irBias || end > 1<<17 {
			return 0, false
		}
		return traceSize + irSize*(end-first) + snapshotSize*uint64(le16(b[traceSnapshots:])) + 4*uint64(le32(b[traceMapSize:])), true
	case typeCData:
		return h.cdataSize(address)
	case typeTable:
		return h.tableSize(address)
	case typeUserdata:
		return h.userdataSize(address)
	}
	return 0, false
}

const maxVector = 1 << 32 // bytes of one part of an object

func (h *Heap) tableSize(address uint64) (size uint64, ok bool) {
	b := h.copy.View(address, tableSize)
	if b == nil {
		return 0, false
	}
	size = tableSize
	// An array that was made with its table lies behind it (colo > 0), and its room stays there when the
	// array has moved away (the upper bit).
	colo := b[tableColo]
	if colo != 0 {
		size += 8 * uint64(colo&0x7f)
	}
	array, nodes := h.parts(b)
	if colo == 0 || colo >= 0x80 {
		size += uint64(len(array))
	}
	size += uint64(len(nodes))
	return size, array != nil && nodes != nil
}

// parts are a table's array and its hash part; nil where it can't be read, empty where there is none.
func (h *Heap) parts(table []byte) (array, nodes []byte) {
	array, nodes = []byte{}, []byte{}
	if n := uint64(le32(table[tableArraySize:])); n > 0 {
		array = h.vector(le64(table[tableArray:]), 8*n)
	}
	if mask := uint64(le32(table[tableHashMask:])); mask > 0 {
		nodes = h.vector(le64(table[tableNodes:]), nodeSize*(mask+1))
		if mask&(mask+1) != 0 {
			nodes = nil
		}
	}
	return array, nodes
}

func (h *Heap) vector(at, n uint64) []byte {
	if n >= maxVector {
		return nil
	}
	return h.copy.View(at, int(n))
}

func (h *Heap) userdataSize(address uint64) (size uint64, ok bool) {
	b := h.copy.View(address, userdataSize)
	if b == nil {
		return 0, false
	}
	size = userdataSize + uint64(le32(b[userdataLength:]))
	if h.vector(address, size) == nil {
		return size, false
	}
	if b[userdataKind] == userdataBuffer {
		size += h.bufferSize(address + userdataSize)
	}
	return size, true
}

// bufferSize is the memory of a string buffer's bytes, where they are its own.
func (h *Heap) bufferSize(at uint64) uint64 {
	b := h.copy.View(at, 0x20)
	if b == nil || le64(b[bufferFlags:])&bufferBorrows != 0 {
		return 0
	}
	n := le64(b[bufferEnd:]) - le64(b[bufferBegin:])
	if n >= maxVector {
		return 0
	}
	return n
}

func (h *Heap) cdataSize(address uint64) (size uint64, ok bool) {
	b := h.copy.View(address, cdataSize)
	if b == nil {
		return 0, false
	}
	if b[objectMarks]&markVariable != 0 {
		v := h.copy.View(address-cdataVariable, cdataVariable)
		if v == nil {
			return 0, false
		}
		return uint64(le32(v[4:])) + uint64(le16(v[2:])), true
	}
	n, ok := h.types.size(int(le16(b[cdataType:])))
	return cdataSize + n, ok
}
