package luajit

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"

	"github.com/moonlap/moonlap/internal/process"
)

// maxRecord is how many places the hash part of a table may have for its keys to be names. Those of a
// larger one are data, as in a cache: all its values count together.
const maxRecord = 256

// StepClass is the same number for all references that Step names alike, unless exactly; the name itself may
// be expensive. From -1 are the roots.
func (h *Heap) StepClass(from int, how Ref) uint64 {
	kind, which := kindOf(how), numberOf(how)
	switch kind {
	case refItem, refKey, refCValue, refConstant, refTraceValue:
		which = 0
	case refNode:
		which = 0
		if key, record := h.key(from, how); record {
			which = key
		}
	case refSlot:
		which ^= h.at[from] << 16
	case refUpvalue:
		which ^= h.pointer(h.at[from]+functionPC) << 8
	}
	return mix(kind, which)
}

// ObjectClass is the same number for all objects that Describe describes alike.
func (h *Heap) ObjectClass(object int) uint64 {
	at := h.at[object]
	switch kind := h.kind(object); kind {
	case typeFunction:
		if h.byte(at+functionID) == 0 {
			return mix(uint64(kind), h.pointer(at+functionPC))
		}
		return mix(uint64(kind), h.pointer(at+functionC)^uint64(h.byte(at+functionID)))
	case typeCData:
		return mix(uint64(kind), uint64(h.word(at+cdataType)&0xffff))
	case typeThread, typeProto:
		return mix(uint64(kind), at)
	case typeUserdata:
		return mix(uint64(kind), uint64(h.byte(at+userdataKind)))
	default:
		return uint64(kind)
	}
}

// mix makes one number of two (the finalizer of MurmurHash3).
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// key is the key of a node, and whether its table is a record: few keys, or a table that people know.
func (h *Heap) key(table int, how Ref) (key uint64, record bool) {
	at := h.at[table]
	nodes := h.pointer(at + tableNodes)
	record = h.word(at+tableHashMask) < maxRecord || at == h.known[0] || at == h.known[1]
	return h.pointer(nodes + numberOf(how)*nodeSize + nodeKey), record
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Step says in words how an object holds another: ".name", "[12]", "upvalue store". Unless it shall be
// exact, the keys of arrays and of large tables are all "[…]".
func (h *Heap) Step(from int, how Ref, exact bool) string {
	n := numberOf(how)
	switch kindOf(how) {
	case refRoot:
		return h.roots[n].name
	case refItem:
		if exact {
			return fmt.Sprintf("[%d]", n)
		}
		return "[…]"
	case refNode:
		key, record := h.key(from, how)
		if !exact && (!record || isNumber(key)) {
			return "[…]"
		}
		if name := h.nginxTable(from, how, key); name != "" {
			return "[" + name + "]"
		}
		return h.keyName(key)
	case refKey:
		return "key"
	case refMeta:
		return "metatable"
	case refEnv:
		return "environment"
	case refCode:
		return "code"
	case refUpvalue:
		return "upvalue " + h.upvalueName(h.pointer(h.at[from]+functionPC)-protoSize, int(n))
	case refCValue:
		return "C function's value"
	case refConstant, refTraceValue:
		return "constant"
	case refChunk:
		return "chunk's name"
	case refTrace, refLink:
		return "trace"
	case refStart:
		return "trace's prototype"
	case refSlot:
		return h.slotName(h.at[from], n)
	case refBuffer:
		return "shared with buffer"
	}
	return "" // an upvalue's value is the upvalue
}

// Tags of values that are no objects.
const (
	tagFalse, tagTrue, tagLight = 1, 2, 3
	tagNumber                   = 13 // or no tag at all
)

func isNumber(v uint64) bool { tag := tagOf(v); return tag >= tagNumber || tag < 0 }

// nginxTable names the tables that nginx's Lua module keeps in the registry, by what is in them: their keys
// are addresses in the module.
func (h *Heap) nginxTable(from int, how Ref, key uint64) string {
	if tagOf(key) != tagLight || h.at[from] != h.pointer(h.vm.Global+h.layout.registry)&pointerMask {
		return ""
	}
	v := h.pointer(h.pointer(h.at[from]+tableNodes) + numberOf(how)*nodeSize)
	b := h.copy.View(v&pointerMask, tableSize)
	if tagOf(v) != typeTable || b == nil {
		return ""
	}
	array, nodes := h.parts(b)
	values := make([]uint64, 0, 8)
	for ; len(array) >= 8 && len(values) < cap(values); array = array[8:] {
		values = append(values, le64(array))
	}
	for ; len(nodes) >= nodeSize && len(values) < cap(values); nodes = nodes[nodeSize:] {
		if isNumber(le64(nodes[nodeKey:])) { // what it keeps is numbered; modules have names
			values = append(values, le64(nodes))
		}
	}
	for _, v := range values {
		switch tagOf(v) {
		case typeThread:
			return "nginx's coroutines"
		case typeFunction:
			return "nginx's loaded code"
		}
	}
	return ""
}

func (h *Heap) keyName(key uint64) string {
	switch tag := tagOf(key); {
	case tag == typeString:
		name := h.text(key & pointerMask)
		if identifier.MatchString(name) {
			return "." + name
		}
		if len(name) > 60 {
			name = strings.ToValidUTF8(name[:60], "") + "…"
		}
		return fmt.Sprintf("[%q]", name)
	case tag == tagFalse:
		return "[false]"
	case tag == tagTrue:
		return "[true]"
	case tag == tagLight:
		return "[lightuserdata]"
	case tag >= typeString && tag < tagNumber:
		return "[" + typeNames[ObjectType(tag)] + "]"
	case tag == tagNumber: // an integer, where a build has them
		return fmt.Sprintf("[%d]", int32(key))
	}
	return fmt.Sprintf("[%v]", math.Float64frombits(key))
}

// Describe says in words what an object is: "table", "function get@cache.lua:3", "cdata int[]".
func (h *Heap) Describe(object int) string {
	at := h.at[object]
	switch h.kind(object) {
	case typeFunction:
		if h.byte(at+functionID) != 0 {
			r := h.vm.reader()
			f := h.vm.frame(r, at, 0)
			if f.Function == "" {
				return "C function"
			}
			return "C function " + f.Function
		}
		return "function " + h.functionName(h.pointer(at+functionPC)-protoSize)
	case typeProto:
		return "code of " + h.functionName(at)
	case typeCData:
		return "cdata " + h.types.name(int(h.word(at+cdataType)&0xffff))
	case typeThread:
		if h.Request != nil {
			if r := h.Request(at); r != "" {
				return "coroutine (" + r + ")"
			}
		}
	case typeUserdata:
		if name := userdataNames[h.byte(at+userdataKind)]; name != "" {
			return name
		}
	}
	return h.Type(object).String()
}

var userdataNames = [...]string{1: "file", 2: "C library", 3: "string buffer", 255: ""}

// functionName is a prototype's name, file and line.
func (h *Heap) functionName(proto uint64) string {
	if name, ok := h.names[proto]; ok {
		return name
	}
	r := h.vm.reader()
	f := h.vm.protoFrame(r, proto, 0)
	name := ""
	if h.Sources != nil {
		name = h.Sources.Name(f)
	}
	name += "@" + path.Base(f.File)
	if f.FirstLn > 0 {
		name += fmt.Sprint(":", f.FirstLn)
	}
	if r.Err != nil {
		name = "?"
	}
	h.names[proto] = name
	return name
}

// upvalueName reads the name of a prototype's upvalue: uvinfo is a list of names that end with 0.
func (h *Heap) upvalueName(proto uint64, n int) string {
	const most = 1 << 14 // bytes of 60 names, of which none is sensibly long
	info := h.pointer(proto + protoUpInfo)
	for i := 0; info != 0 && i < most; i++ {
		c := h.copy.View(info, 1)
		if c == nil {
			break
		}
		if n == 0 {
			var name []byte
			for ; c != nil && c[0] != 0 && len(name) < maxText; info++ {
				name = append(name, c[0])
				c = h.copy.View(info+1, 1)
			}
			return strings.ToValidUTF8(string(name), "\uFFFD")
		}
		if c[0] == 0 {
			n--
		}
		info++
	}
	return fmt.Sprintf("#%d", n+1) // stripped bytecode
}

// A stackFrame is a function on a coroutine's stack: from which slot on its locals are.
type stackFrame struct {
	base     uint64
	function uint64
	pc       uint64
}

// stackFrames lists the functions of a coroutine, innermost first, as far as they make sense.
func (vm *VM) stackFrames(coroutine uint64, registers process.Registers) []stackFrame {
	r := vm.reader()
	s := start{base: r.U64(coroutine + vm.Layout.Base)}
	status, err := vm.Status()
	if err == nil && status.Running && status.Current == coroutine && registers.RIP != 0 {
		s = vm.begin(r, registers, status, r.U64(coroutine+vm.Layout.CFrame)&^3)[0]
	}
	var frames []stackFrame
	vm.eachCall(vm.reader(), coroutine, s, func(base, function, pc uint64) {
		frames = append(frames, stackFrame{base, function, pc})
	})
	return frames
}

// slotName says whose local a slot of a coroutine's stack is.
func (h *Heap) slotName(coroutine, slot uint64) string {
	at := h.pointer(coroutine+h.vm.Layout.Stack) + 8*slot
	for _, f := range h.stacks[coroutine] {
		switch {
		case at < f.base-16:
			continue
		case at < f.base:
			return "called"
		case h.byte(f.function+functionID) != 0:
			return "argument of C"
		}
		return "local of " + h.functionName(h.pointer(f.function+functionPC)-protoSize)
	}
	return "stack"
}
