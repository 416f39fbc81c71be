package luajit

import (
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// Where a loop or a function is blacklisted, LuaJIT replaces its instruction with another that does
// not count how hot it is. The opcodes of loops have the same numbers in all of LuaJIT 2.1; those of
// functions' heads are the last, in this order, and LuaJIT of 2026 has bit operators before them.
const (
	opIFORL  = 80
	opIITERL = 83
	opILOOP  = 86

	opFUNCF    = 89
	opFUNCFBit = opFUNCF + 7 // behind bit operators
	// from FUNCF on:
	opIFUNCF = 1
	opJFUNCF = 2
	opIFUNCV = 4
	opJFUNCV = 5
	opFUNCC  = 6

	minCFStack = 20 // LUA_MINSTACK, operand of the instruction that stands for C functions
)

// Flags of a prototype (lj_obj.h).
const (
	protoNoJIT = 0x08 // jit.off
	protoILoop = 0x10 // an instruction was replaced
)

// funcF is the number of the instruction FUNCF. The machine keeps two copies of FUNCC, which follows
// it, right before cur_L: bc_cfunc_int and bc_cfunc_ext.
func (vm *VM) funcF() (op int, ok bool) {
	r := vm.reader()
	internal := r.U32(vm.Global + vm.Layout.CurrentL - 8)
	op = int(internal&0xff) - opFUNCC
	return op, r.Err == nil && internal>>8 == minCFStack && (op == opFUNCF || op == opFUNCFBit)
}

func (vm *VM) isBlacklisted(opcode byte) bool {
	f, ok := vm.funcF()
	if !ok {
		return false
	}
	switch int(opcode) {
	case f + opIFUNCF, f + opIFUNCV, opILOOP, opIITERL, opIFORL:
		return true
	}
	return false
}

// Blacklist is what the compiler will not try any more.
type Blacklist struct {
	Places []Place
	Off    int  // functions for which it was told so, by jit.off
	Whole  bool // false: there were more objects than time, or the heap changed under the search
}

const (
	mostObjects   = 1 << 24
	mostCode      = 1 << 18 // instructions of a function that are searched
	mostBlacklist = 1000    // places
)

// Blacklist searches all functions of the heap for loops and functions that are blacklisted, for as
// long as it may take. The process goes on meanwhile: objects that are freed under the search end it.
func (vm *VM) Blacklist(limit time.Duration) (Blacklist, error) {
	if _, ok := vm.funcF(); !ok {
		return Blacklist{}, ErrLayout
	}
	var all Blacklist
	search := *vm
	search.Memory = &process.Cached{Memory: vm.Memory}
	r := search.reader()
	at := r.U64(vm.Global + vm.total() + gcRoot)
	end := time.Now().Add(limit)
	for n := range mostObjects {
		if at == 0 {
			all.Whole = true
			break
		}
		if n%256 == 0 && time.Now().After(end) || len(all.Places) > mostBlacklist {
			break
		}
		kind := r.U8(at + objectType)
		if r.Err != nil || kind < typeString || kind > typeUserdata {
			break // freed meanwhile
		}
		if kind == typeProto {
			search.searchProto(&all, at)
		}
		at = r.U64(at) & pointerMask // nextgc
	}
	return all, nil
}

func (vm *VM) searchProto(all *Blacklist, proto uint64) {
	r := vm.reader() // one that is garbage spoils no other
	flags := r.U8(proto + protoFlags)
	if flags&protoNoJIT != 0 {
		all.Off++
		return
	}
	count := r.U32(proto + protoSizeBC)
	if flags&protoILoop == 0 || count > mostCode {
		return
	}
	code := r.Bytes(proto+protoSize, 4*int(count))
	for i := 0; i+4 <= len(code); i += 4 {
		if vm.isBlacklisted(code[i]) {
			if p := vm.place(r, proto, proto+protoSize+uint64(i)); r.Err == nil {
				all.Places = append(all.Places, p)
			}
		}
	}
}
