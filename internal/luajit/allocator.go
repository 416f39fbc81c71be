package luajit

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// An Allocator is what a machine has all its memory from: a function of the type lua_Alloc, and what it is given first. What is
// interpreted, compiled and written in C comes by it.
type Allocator struct {
	Function uint64 // address
	State    uint64
}

// Allocator reads which one it is. library is what the machine runs from: lua_setallocf stores its second argument and its
// third where they are kept.
func (vm *VM) Allocator(library *process.Object) (Allocator, error) {
	const function = "lua_setallocf"
	code, err := disassemble(library, function)
	if err != nil {
		return Allocator{}, err
	}
	field := func(value x86asm.Reg) (at uint64, ok bool) {
		i, ok := code.find(0, func(i instruction) bool {
			m, ok := i.Args[0].(x86asm.Mem)
			return ok && i.Op == x86asm.MOV && i.Args[1] == value && m.Base != 0 && m.Base != x86asm.RDI && m.Index == 0
		})
		return vm.Global + i.offset(), ok
	}
	f, ok := field(x86asm.RSI)
	state, ok2 := field(x86asm.RDX)
	if !ok || !ok2 {
		return Allocator{}, fmt.Errorf("%s: %w: %s stores no allocator", vm.Library, ErrLayout, function)
	}
	r := vm.reader()
	a := Allocator{r.U64(f), r.U64(state)}
	return a, r.Err
}
