package luajit

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// An instruction of a listing; end is where the next one begins.
type instruction struct {
	x86asm.Inst
	end int
}

// A listing is a function's instructions in the order of their addresses.
type listing []instruction

// disassemble decodes an exported function.
func disassemble(library *process.Object, function string) (listing, error) {
	all, err := library.Instructions(function)
	return listingOf(all), err
}

// callees decodes the functions that an exported function calls directly.
func callees(library *process.Object, function string) (all []listing) {
	code, err := library.Instructions(function)
	if err != nil {
		return nil
	}
	for _, i := range code {
		if i.Op != x86asm.CALL {
			continue
		}
		if called, err := library.Called(function, i); err == nil {
			all = append(all, listingOf(called))
		}
	}
	return all
}

func listingOf(all []process.Instruction) listing {
	list := make(listing, len(all))
	for i, one := range all {
		list[i] = instruction{one.Inst, one.End}
	}
	return list
}

// find returns the first instruction from the offset on that is wanted.
func (l listing) find(from int, wanted func(instruction) bool) (instruction, bool) {
	for _, i := range l {
		if i.end > from && i.Op != 0 && wanted(i) {
			return i, true
		}
	}
	return instruction{}, false
}

// memory is the operand in memory, or the zero Mem.
func (i instruction) memory() x86asm.Mem {
	for _, a := range i.Args {
		if m, ok := a.(x86asm.Mem); ok {
			return m
		}
	}
	return x86asm.Mem{}
}

func (i instruction) offset() uint64 { return uint64(i.memory().Disp) }

// target is the register that is written, or 0.
func (i instruction) target() x86asm.Reg {
	r, _ := i.Args[0].(x86asm.Reg)
	return r
}

// loads: mov offset(base), register of 64 bits.
func (i instruction) loads(base x86asm.Reg) bool {
	m := i.memory()
	return i.Op == x86asm.MOV && base != 0 && m.Base == base && m.Index == 0 && m.Disp > 0 &&
		i.target() >= x86asm.RAX && i.target() <= x86asm.R15
}

// stores: mov $value, offset(base), of N bytes.
func (i instruction) stores(base x86asm.Reg, value int64, size int) bool {
	return i.Op == x86asm.MOV && base != 0 && i.MemBytes == size && i.onMemory(base, value)
}

// op: op $value, offset(base).
func (i instruction) op(op x86asm.Op, base x86asm.Reg, value int64) bool {
	return i.Op == op && base != 0 && i.onMemory(base, value)
}

func (i instruction) onMemory(base x86asm.Reg, value int64) bool {
	m, ok := i.Args[0].(x86asm.Mem)
	if !ok || m.Base != base || m.Index != 0 {
		return false
	}
	v, ok := i.Args[1].(x86asm.Imm)
	if i.MemBytes == 1 { // compilers take the one byte that it is about
		v = x86asm.Imm(int8(v))
	}
	return ok && int64(v) == value
}
