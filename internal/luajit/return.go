package luajit

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// Instructions that call.
const (
	opCALLM = 65
	opCALL  = 66
	opITERC = 69
)

// snapshotReturned returns the snapshot that a trace makes right after a C function has returned to it:
// LuaJIT records one behind each call that may have had effects, and it knows the instruction after the
// call, and the inlined function that called. The one before may be far off: nothing has to be guarded
// where a function is inlined, or left, whose identity is known.
//
// It may have been merged with a later one, where no guard needed it. So it has to be reached by nothing
// but moves of registers, and what stands before its instruction has to be a call, and not that of an
// inlined function in which the snapshot before is: that has returned, and the C function may have been
// called there.
func (vm *VM) snapshotReturned(t *trace, back uint64, function uint64) (snapshot, bool) {
	r := vm.traceReader() // what is missing spoils nothing: there is the snapshot before
	n, ok := vm.snapshotIndex(r, t, back-1)
	if !ok || n+1 >= int(r.U16(t.address+traceSnapshots)) {
		return snapshot{}, false
	}
	before, _ := vm.readSnapshot(r, t, n)
	after, ok := vm.readSnapshot(r, t, n+1)
	if !ok || !movesOnly(r, back, t.code.From+after.offset) {
		return snapshot{}, false
	}
	depth := len(after.frames)
	if len(before.frames) > depth && before.frames[depth].link == after.pc {
		return snapshot{}, false
	}
	inner := inlined{function: function}
	if depth > 0 {
		inner = after.frames[depth-1]
	}
	proto := inner.proto
	if inner.function != 0 {
		proto = r.U64(inner.function+functionPC) - protoSize
	}
	return after, vm.isCall(r, proto, after.pc-4)
}

// movesOnly reports whether machine code does nothing but move values: no guard, call or computation.
func movesOnly(r *process.Reader, from, to uint64) bool {
	const most = 256 // bytes; after a call, all 32 registers may have to be had back
	if to < from || to-from > most {
		return false
	}
	code := r.Bytes(from, int(to-from))
	for len(code) > 0 {
		i, err := x86asm.Decode(code, 64)
		if err != nil {
			return false
		}
		switch i.Op {
		case x86asm.MOV, x86asm.MOVSXD, x86asm.MOVSX, x86asm.MOVZX, x86asm.MOVSD_XMM, x86asm.MOVAPS, x86asm.LEA:
		default:
			return false
		}
		code = code[i.Len:]
	}
	return r.Err == nil
}

// isCall reports whether the bytecode at pc calls, and is the prototype's.
func (vm *VM) isCall(r *process.Reader, proto, pc uint64) bool {
	if _, ok := vm.funcF(); !ok || // opcodes are not known
		r.U8(proto+objectType) != typeProto {
		return false
	}
	if code := proto + protoSize; pc <= code || pc >= code+4*uint64(r.U32(proto+protoSizeBC)) {
		return false
	}
	switch r.U8(pc) {
	case opCALLM, opCALL, opITERC:
		return r.Err == nil
	}
	return false
}
