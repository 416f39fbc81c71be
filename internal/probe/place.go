package probe

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// ErrDear is the error of a function at which a probe would cost too much.
var ErrDear = errors.New("a probe would single-step its instructions, which takes ten times as long")

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// CheapAtEntry finds where a probe at a function sits best, for its return, too: at the first instruction that is emulated, that
// each call comes by once, and where all is as at the call: the first three arguments in their registers, and the return address
// on top of the stack, where the kernel replaces it.
func CheapAtEntry(name string, code []byte) (offset uint64, err error) {
	return cheapAt(name, code, x86asm.RDI, x86asm.RSI, x86asm.RDX, x86asm.RSP)
}

// CheapAt finds one for a probe that leaves the return alone and looks at the first argument. In a function that gives a lock
// back, that may be the jump behind the instruction that does.
func CheapAt(name string, code []byte) (offset uint64, err error) {
	return cheapAt(name, code, x86asm.RDI)
}

func cheapAt(name string, code []byte, kept ...x86asm.Reg) (offset uint64, err error) {
	for at := entry(code); ; {
		if emulated(code[at:]) && !jumpedInto(code, at) {
			return uint64(at), nil
		}
		i, err := x86asm.Decode(code[at:], 64)
		if err != nil || !leaves(i, kept...) {
			return uint64(entry(code)), fmt.Errorf("%s: %w", name, ErrDear)
		}
		at += i.Len
	}
}

// entry is where a function's own code begins.
func entry(code []byte) int {
	if bytes.HasPrefix(code, endbr64) {
		return len(endbr64)
	}
	return 0
}

// emulated reports whether the kernel goes on behind a probe at an instruction by itself: it emulates push, nop, call, jmp and
// conditional jumps. Anything else it has the processor step through, at some 10 µs a call instead of one (see
// branch_setup_xol_ops and push_setup_xol_ops in the kernel's arch/x86/kernel/uprobes.c).
func emulated(code []byte) bool {
	const wide, push, pushLast, nop, call, jump, jumpShort = 0x41, 0x50, 0x57, 0x90, 0xe8, 0xe9, 0xeb
	const jumpIf, jumpIfLast, escape, jumpIfNear, jumpIfNearLast = 0x70, 0x7f, 0x0f, 0x80, 0x8f
	within := func(c, from, to byte) bool { return from <= c && c <= to }
	if len(code) == 0 {
		return false
	}
	switch c := code[0]; c {
	case wide: // r8 to r15
		return len(code) > 1 && within(code[1], push, pushLast)
	case escape:
		return len(code) > 1 && within(code[1], jumpIfNear, jumpIfNearLast)
	case nop, call, jump, jumpShort:
		return true
	default:
		return within(c, push, pushLast) || within(c, jumpIf, jumpIfLast)
	}
}

// CheapInAllocator finds where a probe in a function of the type lua_Alloc sits best, as a distance in its code: at an
// instruction that is emulated, that each call for memory comes by, and where the four arguments are still in their registers.
// LuaJIT's own function begins with a comparison, which would be single-stepped, of the new size with 0. The jump behind it leads
// to what frees; the instruction after that is found, so that nothing traps that only frees.
func CheapInAllocator(code []byte) (int, error) {
	const most = 16 // instructions
	found, freed := -1, false
	at := entry(code)
	var before x86asm.Inst
	for range most {
		i, err := x86asm.Decode(code[min(at, len(code)):], 64)
		if err != nil {
			break
		}
		if emulated(code[at:]) && (found < 0 || freed) && !jumpedInto(code, at) {
			if found = at; freed {
				break
			}
		}
		next := at + i.Len
		switch {
		case i.Op == x86asm.JE && isZeroTest(before, x86asm.RCX):
			freed = true
		case i.Op == x86asm.JNE && isZeroTest(before, x86asm.RCX):
			freed = true
			next += int(i.Args[0].(x86asm.Rel))
		case !leaves(i, x86asm.RDI, x86asm.RSI, x86asm.RDX, x86asm.RCX):
			next = -1
		}
		if next <= at {
			break
		}
		at, before = next, i
	}
	if found < 0 {
		return 0, fmt.Errorf("the function that allocates Lua's memory: %w", ErrDear)
	}
	return found, nil
}

// isZeroTest: test r, r.
func isZeroTest(i x86asm.Inst, r x86asm.Reg) bool {
	return i.Op == x86asm.TEST && i.Args[0] == r && i.Args[1] == r
}

// leaves tells of an instruction that goes on to the next one and leaves registers of 64 bits as they are.
func leaves(i x86asm.Inst, kept ...x86asm.Reg) bool {
	writes := x86asm.RAX // besides its first operand
	switch i.Op {
	case x86asm.TEST, x86asm.CMP, x86asm.NOP:
		return true
	case x86asm.PUSH:
		return !slices.Contains(kept, x86asm.RSP)
	case x86asm.CMPXCHG, x86asm.CDQE:
	case x86asm.MOV, x86asm.MOVSXD, x86asm.LEA, x86asm.XOR, x86asm.SUB, x86asm.ADD, x86asm.AND:
		writes = 0
	default:
		return false
	}
	if to, ok := i.Args[0].(x86asm.Reg); ok {
		if to < x86asm.RAX || to > x86asm.R15 {
			to += x86asm.RAX - x86asm.EAX
			if to < x86asm.RAX || to > x86asm.R15 { // of a byte or two
				return false
			}
		}
		if slices.Contains(kept, to) {
			return false
		}
	}
	return !slices.Contains(kept, writes)
}

// jumpedInto reports whether the function jumps to an instruction, or before it: then the code from its entry on is a loop.
func jumpedInto(code []byte, place int) bool {
	for at := 0; at < len(code); {
		i, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			at++
			continue
		}
		at += i.Len
		if to, ok := i.Args[0].(x86asm.Rel); ok && i.Op != x86asm.CALL {
			if target := at + int(to); target > 0 && target <= place && at > place {
				return true
			}
		}
	}
	return false
}
