package luajit

import "github.com/moonlap/moonlap/internal/process"

// JIT is the state of the compiler.
type JIT struct {
	Root, Side int    // traces there are: those that begin at a loop or function, and branches of others
	Code       uint64 // bytes of their machine code
	Area       uint64 // bytes of memory that was taken for machine code; 0: not known
	Aborts     []Abort
}

// An Abort is a loop or function that the compiler gave up, and may try again a few times before it
// is blacklisted. LuaJIT remembers the last 64.
type Abort struct {
	Place
	Reason      string
	Blacklisted bool
}

// A Place is a loop, or a function where it begins.
type Place struct {
	Frame
	Loop bool
	pc   uint64
}

// JIT reads the state of the compiler. The process need not be stopped.
func (vm *VM) JIT() (JIT, error) {
	r := vm.reader()
	var j JIT
	for _, t := range vm.traces(r) {
		if r.U16(t.address+traceRoot) == 0 {
			j.Root++
		} else {
			j.Side++
		}
		j.Code += t.code.Size()
	}
	if r.Err != nil {
		return j, r.Err
	}
	state := vm.jitState()
	j.Area = areaOf(state)
	aborts, err := vm.penalties(state)
	j.Aborts = aborts
	return j, err
}

// jitState is the part of jit_State behind the array of traces, in words. What stands where in it
// depends on the build: the compiler's parameters, constants and caches come before what is wanted.
func (vm *VM) jitState() []uint64 {
	const most, least = 0x1000, 0x800 // bytes; the rest of jit_State has 0xac8 in luajit2 of 2023
	for size := most; size >= least; size -= 0x100 {
		if b := vm.reader().Bytes(vm.Global+vm.Layout.Traces, size); b != nil {
			words := make([]uint64, size/8)
			for i := range words {
				words[i] = le64(b[8*i:])
			}
			return words
		}
	}
	return nil
}

// findArea finds the machine code areas: mcarea, mctop, mcbot, szmcarea, szallmcarea; the word that they begin
// with. The first two frame the third, in one piece of whole pages.
func findArea(state []uint64) (at int, found bool) {
	const page = 1 << 12
	for i := 0; i+4 < len(state); i++ {
		area, top, bottom, size, all := state[i], state[i+1], state[i+2], state[i+3], state[i+4]
		if area != 0 && area%page == 0 && size != 0 && size%page == 0 && all%page == 0 && size <= all && all < 1<<31 &&
			area < bottom && bottom <= top && top <= area+size {
			return i, true
		}
	}
	return 0, false
}

// areaOf is the size of all machine code areas; 0: there is none yet, or it was not found.
func areaOf(state []uint64) uint64 {
	if at, found := findArea(state); found {
		return state[at+4]
	}
	return 0
}

// place describes a bytecode instruction as a loop or a function's head.
func (vm *VM) place(r *process.Reader, proto, pc uint64) Place {
	return Place{Frame: vm.protoFrame(r, proto, pc+4), Loop: pc != proto+protoSize, pc: pc}
}
