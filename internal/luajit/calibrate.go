package luajit

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// ErrLayout is the error of a LuaJIT whose structures could not be made out.
var ErrLayout = errors.New("this LuaJIT's layout is unknown")

// Calibrate reads the layout out of the machine code of functions that every LuaJIT exports. Each
// instruction that it looks for is one that the C source makes a compiler write: `G(L)` is a load
// from the first argument, `setgcrefnull(g->cur_L)` a store of zero.
func Calibrate(library *process.Object) (Layout, error) {
	var l Layout
	if machine := library.ELF.Machine; machine != elf.EM_X86_64 {
		return l, fmt.Errorf("%s: %w: its code is for %v; LuaJIT is looked into on x86-64 only", library.Path, ErrLayout, machine)
	}
	if err := requireGC64(library); err != nil {
		return l, err
	}
	if err := l.fromClose(library); err != nil {
		return l, fmt.Errorf("%s: %w: lua_close: %w", library.Path, ErrLayout, err)
	}
	if err := l.fromGetters(library); err != nil {
		return l, fmt.Errorf("%s: %w: %w", library.Path, ErrLayout, err)
	}
	if err := l.fromGC(library); err != nil {
		return l, fmt.Errorf("%s: %w: lua_gc: %w", library.Path, ErrLayout, err)
	}
	l.fromNewState(library)
	l.fromHookMask(library)
	l.KnownIR = knowsIR(library)
	l.JITBase = l.CurrentL + 8 // next to each other in every version
	return l, nil
}

// requireGC64 refuses builds with 32-bit pointers: lua_pushthread tags its argument with the type of
// a thread, in the upper 17 bits of a 64-bit constant, in GC64 only.
func requireGC64(library *process.Object) error {
	code, _, err := library.Code("lua_pushthread")
	if err != nil {
		return err
	}
	const threadTag = (1<<17 - 1 - typeThread) << 47
	if !bytes.Contains(code, binary.LittleEndian.AppendUint64(nil, threadTag)) {
		return fmt.Errorf("%s: %w: it was built with 32-bit pointers (without LUAJIT_ENABLE_GC64); "+
			"only 64-bit ones are supported", library.Path, ErrLayout)
	}
	return nil
}

// fromClose: lua_close takes g from L and the main thread from g, clears cur_L and J.flags' first
// bit, and resets the main thread's cframe.
func (l *Layout) fromClose(library *process.Object) error {
	code, err := disassemble(library, "lua_close")
	if err != nil {
		return err
	}
	// mov glref(%rdi), g
	load, ok := code.find(0, func(i instruction) bool { return i.loads(x86asm.RDI) })
	if !ok {
		return errors.New("global state not found")
	}
	l.GlobalState = load.offset()
	g := load.target()
	main, ok := code.find(load.end, func(i instruction) bool { return i.loads(g) })
	if !ok {
		return errors.New("main thread not found")
	}
	l.MainThread = main.offset()
	thread := main.target()
	// movq $0, cur_L(g): the first store of zero there
	current, ok := code.find(main.end, func(i instruction) bool { return i.stores(g, 0, 8) })
	if !ok {
		return errors.New("running coroutine not found")
	}
	l.CurrentL = current.offset()
	stack, ok := code.find(main.end, func(i instruction) bool { return i.loads(thread) })
	if !ok {
		return errors.New("stack not found")
	}
	l.Stack = stack.offset()
	cframe, ok := code.find(main.end, func(i instruction) bool { return i.stores(thread, 0, 8) })
	if !ok {
		return errors.New("C frame not found")
	}
	l.CFrame = cframe.offset()
	// andl $~JIT_F_ON, J.flags: there is none without a compiler
	flags, ok := code.find(main.end, func(i instruction) bool { return i.op(x86asm.AND, g, ^jitOn) })
	if !ok {
		return errors.New("compiler's flags not found: was it built without a JIT compiler?")
	}
	l.Traces = flags.offset() - jitFlags + jitTraces
	l.JITFlags = flags.offset()
	l.SnapshotPC = true // until the machine proves to be older: see Settle
	return nil
}

const (
	jitOn = 1 // JIT_F_ON

	jitFlags     = 0x0a8 // in jit_State
	jitTraces    = 0x180 // in jit_State, since 2020-10
	jitTracesOld = 0x188
)

// fromGetters: functions that do nothing but read a field of their argument.
func (l *Layout) fromGetters(library *process.Object) error {
	for _, field := range []struct {
		function string
		offset   *uint64
		op       x86asm.Op
		optional bool
	}{
		{"lua_gettop", &l.Top, x86asm.MOV, false},
		{"lua_gettop", &l.Base, x86asm.SUB, false},
		{"lua_getexdata", &l.ExtraData, x86asm.MOV, true}, // OpenResty's branch only
		{"lua_getexdata2", &l.Record, x86asm.MOV, true},
	} {
		code, err := disassemble(library, field.function)
		if err != nil {
			if field.optional {
				continue
			}
			return err
		}
		found, ok := code.find(0, func(i instruction) bool { return i.Op == field.op && i.memory().Base == x86asm.RDI })
		if !ok {
			return fmt.Errorf("%s reads nothing of its argument", field.function)
		}
		*field.offset = found.offset()
	}
	return nil
}

// fromGC: lua_gc sets vmstate to ~LJ_VMST_GC around a collection, itself or in a function that it calls,
// lj_gc_fullgc, as the compiler chose.
func (l *Layout) fromGC(library *process.Object) error {
	code, err := disassemble(library, "lua_gc")
	if err != nil {
		return err
	}
	const stateGC = ^int64(2)
	for _, listing := range append([]listing{code}, callees(library, "lua_gc")...) {
		set, ok := listing.find(0, func(i instruction) bool {
			m := i.memory()
			return i.stores(m.Base, stateGC, 4) && m.Disp > 0
		})
		if ok {
			l.VMState = set.offset()
			return nil
		}
	}
	return errors.New("the machine's state not found")
}

// fromNewState: lua_newstate begins to count the bytes in use with those of GG_State, which it has just
// allocated. The walk of stacks does without.
func (l *Layout) fromNewState(library *process.Object) {
	code, err := disassemble(library, "lua_newstate")
	if err != nil {
		return
	}
	const least, most = 0x1000, 0x4000 // of a structure with a table of a hundred dispatch addresses and more
	set, ok := code.find(0, func(i instruction) bool {
		v, ok := i.Args[1].(x86asm.Imm)
		return ok && v > least && v < most && i.stores(i.memory().Base, int64(v), 8) && i.memory().Disp > 0
	})
	if ok {
		l.StateSize, l.StateTotal = uint64(set.Args[1].(x86asm.Imm)), set.offset()
	}
}

// fromHookMask: lua_gethookmask returns the lower bits of a byte of the machine's. The walk of stacks does without.
func (l *Layout) fromHookMask(library *process.Object) {
	code, err := disassemble(library, "lua_gethookmask")
	if err != nil {
		return
	}
	g, ok := code.find(0, func(i instruction) bool { return i.loads(x86asm.RDI) && i.offset() == l.GlobalState })
	if !ok {
		return
	}
	mask, ok := code.find(g.end, func(i instruction) bool {
		return (i.Op == x86asm.MOVZX || i.Op == x86asm.MOV || i.Op == x86asm.AND) && i.memory().Base == g.target() && i.memory().Disp > 0
	})
	if ok {
		l.Hooks = mask.offset()
	}
}
