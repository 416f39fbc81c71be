package jit

import (
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// A machine instruction of a trace.
type machine struct {
	x86asm.Inst
	at, end int // offsets in the trace's code
	// chain reports that it goes on to the next node of a hash chain: nothing but a look-up jumps back.
	chain bool
}

// disassemble decodes a trace's code. LuaJIT uses four instructions that the disassembler does not know, shifts of BMI2; where it
// knows none of what comes, a byte is taken for one.
func disassemble(code []byte) []machine {
	var all []machine
	for at := 0; at < len(code); {
		i, err := x86asm.Decode(code[at:], 64)
		if code[at] == vex3 || err != nil || i.Len == 0 {
			i = shift(code[at:])
		}
		all = append(all, machine{Inst: i, at: at, end: at + i.Len})
		at += i.Len
	}
	return all
}

// markChains marks what goes on to the next node: it loads the node, tests it and jumps back, though not to the trace's loop.
func markChains(list []machine, loop int) {
	const most, parts = 64, 3 // bytes of such a jump
	for n, m := range list {
		by, ok := m.Args[0].(x86asm.Rel)
		if !ok || !jumps[m.Op] || by >= 0 || by < -most || m.end+int(by) < 0 || m.end+int(by) == loop {
			continue
		}
		for k := range min(parts, n+1) {
			list[n-k].chain = true
		}
	}
}

const vex3 = 0xc4 // prefix of three bytes

// shift decodes a shift of BMI2, whose Op stays 0: the register that it writes and what it reads. One that is none has no operands.
func shift(code []byte) x86asm.Inst {
	const head = 5 // prefix, opcode, operands
	if len(code) < head || code[0] != vex3 {
		return x86asm.Inst{Len: 1}
	}
	n := head
	mod, low := code[4]>>6, code[4]&7
	from := x86asm.RAX + x86asm.Reg(low|^code[1]>>5&1<<3)
	mem := x86asm.Mem{Base: from, Scale: 1}
	if mod != 3 && low == 4 && len(code) > head { // another byte for index and base
		mem.Base = x86asm.RAX + x86asm.Reg(code[5]&7|^code[1]>>5&1<<3)
		if n++; mod == 0 && code[5]&7 == 5 {
			n += 4
		}
	}
	switch {
	case mod == 1 && len(code) > n:
		mem.Disp = int64(int8(code[n]))
		n++
	case (mod == 2 || mod == 0 && low == 5) && len(code) > n+3:
		mem.Disp = int64(int32(binary.LittleEndian.Uint32(code[n:])))
		n += 4
	}
	if code[1]&0x1f == 3 { // RORX has a number
		n++
	}
	i := x86asm.Inst{Len: min(n, len(code))}
	i.Args[0] = x86asm.RAX + x86asm.Reg(code[4]>>3&7|^code[1]>>7&1<<3)
	i.Args[1] = mem
	if mod == 3 {
		i.Args[1] = from
	}
	return i
}

// register is LuaJIT's number of a processor's register: 0 to 15 for general ones, 16 to 31 for xmm0 to xmm15.
func register(a x86asm.Arg) uint8 {
	r, ok := a.(x86asm.Reg)
	switch {
	case !ok:
	case r >= x86asm.RAX && r <= x86asm.R15:
		return uint8(r - x86asm.RAX)
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return uint8(r - x86asm.EAX)
	case r >= x86asm.AX && r <= x86asm.R15W:
		return uint8(r - x86asm.AX)
	case r >= x86asm.AL && r <= x86asm.BL:
		return uint8(r - x86asm.AL)
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return 4 + uint8(r-x86asm.SPB)
	case r >= x86asm.X0 && r <= x86asm.X15:
		return 16 + uint8(r-x86asm.X0)
	}
	return noReg
}

// target is the register that is written, or noReg.
func (m machine) target() uint8 { return register(m.Args[0]) }

// memory is the operand in memory.
func (m machine) memory() (x86asm.Mem, bool) {
	for _, a := range m.Args {
		if mem, ok := a.(x86asm.Mem); ok {
			return mem, true
		}
	}
	return x86asm.Mem{}, false
}

// stores reports that it writes to memory.
func (m machine) stores() bool {
	_, ok := m.Args[0].(x86asm.Mem)
	return ok
}

// moves are instructions that any instruction of the IR may have before or behind it: the register allocator's.
var moves = set(x86asm.MOV, x86asm.MOVSD_XMM, x86asm.MOVSS, x86asm.MOVAPS, x86asm.MOVQ, x86asm.MOVD, x86asm.LEA, x86asm.NOP, x86asm.XOR, x86asm.XORPS,
	x86asm.MOVSXD)

// jumps are those that a guard may end with.
var jumps = set(x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JE, x86asm.JNE, x86asm.JG, x86asm.JGE, x86asm.JL, x86asm.JLE,
	x86asm.JP, x86asm.JNP, x86asm.JS, x86asm.JNS, x86asm.JO, x86asm.JNO)

func set(ops ...x86asm.Op) map[x86asm.Op]bool {
	all := map[x86asm.Op]bool{}
	for _, o := range ops {
		all[o] = true
	}
	return all
}
