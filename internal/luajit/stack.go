package luajit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/process"
)

// A Frame is one function on a Lua stack.
type Frame struct {
	Kind     Kind
	Function string // name, or "" where it has none
	File     string // chunk name without its mark, of a Lua function
	FirstLn  int    // line of the function's head
	Line     int    // line that runs, or the call's; 0: unknown
	LastLine int    `json:",omitempty"` // where that is not known, the line is one from Line to this; 0: it is Line
	Compiled bool   // machine code of a trace runs here
	Address  uint64 // of a C function's code
	Unnamed  bool   `json:"-"` // LearnNames has not found a name for it
	proto    uint64
	pc       uint64 // bytecode after what runs, or the call; 0: not known
}

// Kind of a frame.
type Kind string

// Kinds of frames.
const (
	Lua     Kind = "lua"
	C       Kind = "c"
	Builtin Kind = "builtin"
)

// A Stack is what runs in a machine: the Lua frames, innermost first, and where the C frames
// outside of them begin.
type Stack struct {
	Status
	Frames []Frame
	// Caller is the registers of the C function that called the machine, from which its frames can
	// be followed; Caller.RIP is a return address.
	Caller process.Registers
	// Leaf reports that the processor is outside of Lua, in a C function that Lua called: its frames
	// up to the interpreter stand above Frames.
	Leaf bool
	// Unknown reports that a trace runs which is not among those there are: what was read of them is old.
	Unknown bool `json:"-"`
	// Cut is where the walk ended for want of memory, by coroutine: see Left.
	Cut []Cut `json:"-"`
}

// A Cut is a part of a coroutine's stack that was not walked.
type Cut struct {
	coroutine uint64
	from      start // base 0: all of it
}

// LeftOut is the name of a frame that stands for those which are not shown: there are too many.
const LeftOut = "(frames left out)"

// maxFrames bounds a walk; LuaJIT's own limit of a stack is 65,500 slots, and a frame needs at least
// three.
const maxFrames = 22_000

// maxStack is the size in bytes that no Lua stack has, twice LuaJIT's limit: a walk that begins
// farther from the stack's bottom is in other memory, and would go on through it.
const maxStack = 1 << 20

// maxCoroutines bounds the chain of coroutines that resumed one another; LuaJIT's limit is 200 C
// levels (LJ_MAX_CCALLS is for the parser; a coroutine needs a C frame).
const maxCoroutines = 256

var errStack = errors.New("the Lua stack makes no sense")

// Stack walks the stack of the running coroutine and of those that resumed it. The process has to
// be stopped, and registers be its own.
func (vm *VM) Stack(registers process.Registers) (Stack, error) {
	status, err := vm.Status()
	s := Stack{Status: status}
	if err != nil || !s.Running {
		return s, err
	}
	r := vm.reader()
	cframe := r.U64(s.Current+vm.Layout.CFrame) &^ 3
	cut := false
	for _, start := range vm.begin(r, registers, s.Status, cframe) {
		s.Leaf, s.Unknown = start.leaf, start.compiled && start.trace == nil
		var rest Cut
		s.Frames, rest, err = vm.walk(s.Current, start)
		if cut = errors.Is(err, process.ErrLeftOut); cut {
			s.Frames, s.Cut, err = append(s.Frames, Frame{Kind: Builtin, Function: LeftOut}), []Cut{rest}, nil
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		return s, err
	}
	// A coroutine's frame of the interpreter lies right below that of the coroutine that resumed
	// it, because coroutine.resume is itself part of the interpreter.
	for range maxCoroutines {
		back := r.U64(cframe + cframeReturn)
		if cut && errors.Is(r.Err, process.ErrLeftOut) {
			return s, nil // without the caller
		}
		if r.Err != nil {
			return s, r.Err
		}
		if !vm.Asm.Contains(back) {
			break
		}
		cframe += cframeSize
		coroutine := r.U64(cframe + cframeL)
		if cut {
			s.Cut = append(s.Cut, Cut{coroutine, start{pc: r.U64(cframe + cframePC)}})
			continue
		}
		other := r.U8(coroutine+objectType) != typeThread || r.U64(coroutine+vm.Layout.GlobalState) != vm.Global
		if errors.Is(r.Err, process.ErrLeftOut) {
			cut, r.Err = true, nil
			s.Frames = append(s.Frames, Frame{Kind: Builtin, Function: LeftOut})
			s.Cut = append(s.Cut, Cut{coroutine, start{pc: r.U64(cframe + cframePC)}})
			continue
		}
		if other {
			return s, errStack
		}
		outer, rest, err := vm.walk(coroutine, start{base: r.U64(coroutine + vm.Layout.Base), pc: r.U64(cframe + cframePC)})
		if cut = errors.Is(err, process.ErrLeftOut); cut {
			outer, err = append(outer, Frame{Kind: Builtin, Function: LeftOut}), nil
			s.Cut = append(s.Cut, rest)
		}
		if err != nil {
			return s, err
		}
		s.Frames = append(s.Frames, outer...)
	}
	s.Caller = process.Registers{
		RIP: r.U64(cframe + cframeReturn), RSP: cframe + cframeSize,
		// What the interpreter saved when it was entered (lj_frame.h, CFRAME_SIZE 80).
		R14: r.U64(cframe + 0x28), R15: r.U64(cframe + 0x30),
		RBX: r.U64(cframe + 0x38), RBP: r.U64(cframe + 0x40),
		R12: registers.R12, R13: registers.R13, // the interpreter leaves them alone; traces save them
	}
	return s, r.Err
}

// A start is where a walk begins: the base of the innermost function, and the bytecode after the one
// that it executes.
type start struct {
	base uint64
	pc   uint64
	leaf bool
	// in a trace:
	compiled bool
	trace    *trace // nil: it was not found
	machine  uint64 // machine code's address
}

// begin finds the innermost function. Where it is written down depends on what the machine does:
// the interpreter holds it in registers, a trace in jit_base, C functions find it in the coroutine
// and in the interpreter's C frame. Between the instructions of a call the registers are ahead of
// the stack, so there's a second start for a walk that fails.
func (vm *VM) begin(r *process.Reader, registers process.Registers, status Status, cframe uint64) []start {
	interpreter := vm.Asm.Contains(registers.RIP)
	const saved = 16 // bytes below the interpreter's frame, of the registers that traces save
	left := interpreter && registers.RSP >= cframe-saved
	if base := r.U64(vm.Global + vm.Layout.JITBase); base != 0 && !left {
		return []start{vm.beginTrace(r, registers, status, cframe, base)}
	} else if base != 0 { // the trace has been left, for the interpreter, which takes note of it in a moment
		status.State = Interpreted
	}
	starts := []start{{
		base: r.U64(status.Current + vm.Layout.Base),
		pc:   r.U64(cframe + cframePC),
		leaf: !interpreter,
	}}
	if !interpreter || status.State != Interpreted {
		return starts
	}
	// BASE is in rdx and PC in rbx, but for the interpreter's entry, where they are not set yet. The
	// new base may lie above top by a frame, of 250 slots at most.
	const reach = 8 * 256
	if base := registers.RDX; base > r.U64(status.Current+vm.Layout.Stack) && base <= r.U64(status.Current+vm.Layout.Top)+reach {
		return append([]start{{base: base, pc: registers.RBX}}, starts...)
	}
	return starts
}

// beginTrace: the program counter is in the trace's machine code, or in a C function which that has
// called; then the return address into the trace lies at a place that follows from the trace's use
// of the stack, just below the interpreter's C frame. The collector hides the trace's number; then
// the stack is searched for an address in a trace.
func (vm *VM) beginTrace(r *process.Reader, registers process.Registers, status Status, cframe, base uint64) start {
	s := start{base: base, compiled: true, leaf: !vm.Asm.Contains(registers.RIP)}
	var traces []trace
	in := func(address uint64) bool {
		i := slices.IndexFunc(traces, func(t trace) bool { return t.code.Contains(address) })
		if i >= 0 {
			s.trace, s.machine = &traces[i], address
		}
		return i >= 0
	}
	inTrace := func() bool {
		if in(registers.RIP) {
			s.leaf = false
			return true
		}
		const saved = 16 // bytes between the interpreter's frame and the trace's spill slots
		running := slices.IndexFunc(traces, func(t trace) bool { return t.number == status.Trace })
		if running < 0 {
			return false
		}
		slot := cframe - saved - uint64(traces[running].stackAdjust) - 8
		return slot >= registers.RSP && in(r.U64(slot)-1)
	}
	if status.State == Compiled { // mostly it is the one that the machine says: there may be thousands
		if t := vm.traceOf(vm.reader(), status.Trace); t != nil {
			if traces = []trace{*t}; inTrace() {
				return s
			}
		}
	}
	if traces = vm.traces(r); inTrace() {
		return s
	}
	const most = 4096 // bytes that are searched
	for at := registers.RSP; at < min(cframe, registers.RSP+most) && r.Err == nil; at += 8 {
		if in(r.U64(at) - 1) {
			break
		}
	}
	return s
}

// Types of frames: the lower bits of a frame's link (lj_frame.h).
const (
	frameLua     = 0
	frameCont    = 2 // continuation of a metamethod
	frameVararg  = 3
	frameTypes   = 7
	frameLuaBits = 3 // frameLua and its protected twin
)

// walk lists the frames of one coroutine, innermost first. Where it ends early, rest is what it has not seen.
func (vm *VM) walk(coroutine uint64, s start) (frames []Frame, rest Cut, err error) {
	r := vm.reader()
	var last struct{ function, pc uint64 } // of a recursion all are alike
	from, err := vm.eachCall(r, coroutine, s, func(_, function, pc uint64) {
		n := len(frames)
		switch {
		case n == 0 && s.trace != nil:
			if frames = vm.compiledFrames(r, s.trace, s.machine, function, s.leaf); errors.Is(r.Err, process.ErrLeftOut) {
				frames = nil
			}
		case n > 0 && last.function == function && last.pc == pc:
			frames = append(frames, frames[n-1])
		default:
			if f := vm.frame(r, function, pc); !errors.Is(r.Err, process.ErrLeftOut) {
				frames = append(frames, f)
				last.function, last.pc = function, pc
			}
		}
	})
	return frames, Cut{coroutine, from}, err
}

// Left is how many functions a walk has left out, by a walk through what their stacks hold now: the outer functions of a deep
// stack mostly are the same for long. false: that came to nothing somewhere, and there are more.
func (vm *VM) Left(s Stack) (n int, whole bool) {
	whole = true
	for _, c := range s.Cut {
		r := vm.reader()
		if c.from.base == 0 {
			c.from.base = r.U64(c.coroutine + vm.Layout.Base)
		}
		_, err := vm.eachCall(r, c.coroutine, c.from, func(_, _, _ uint64) { n++ })
		whole = whole && err == nil
	}
	return n, whole
}

// eachCall calls found with each function on a coroutine's stack, innermost first: its base, and the
// instruction after the one that it executes, 0 where that is unknown. A slot pair below the base holds the
// function and the link to the frame before: for calls from Lua the caller's bytecode address, else a
// distance. Where it fails, rest is what it has not seen.
func (vm *VM) eachCall(r *process.Reader, coroutine uint64, s start, found func(base, function, pc uint64)) (rest start, err error) {
	bottom := r.U64(coroutine+vm.Layout.Stack) + 8
	if s.base > bottom+maxStack {
		return s, errStack
	}
	calls := 0
	pc := s.pc
	for at := s.base - 8; at > bottom && r.Err == nil; {
		rest = start{base: at + 8, pc: pc}
		if calls > maxFrames || at%8 != 0 {
			return rest, errStack
		}
		link := r.U64(at)
		function := r.U64(at-8) & pointerMask
		if r.Err != nil {
			break
		}
		if link&frameTypes != frameVararg && function != coroutine {
			found(at+8, function, pc)
			calls++
		}
		before := at
		if link&frameLuaBits == frameLua {
			pc = link
			call := r.U32(link - 4) // the instruction that called: its operand A is the new base's distance
			at -= 8 * (2 + uint64(call>>8&0xff))
		} else {
			switch link & frameTypes {
			case frameCont:
				pc = r.U64(at - 16)
			case frameVararg: // a second frame of the same function: where it is stays true
			default:
				pc = 0
			}
			at -= link &^ frameTypes & (1<<32 - 1)
		}
		if at >= before {
			return rest, cmp.Or(r.Err, errStack)
		}
	}
	return rest, r.Err
}

// frame describes a function that is about to execute the instruction at pc, or has called from the
// one before it. pc 0: unknown.
func (vm *VM) frame(r *process.Reader, function, pc uint64) Frame {
	if r.U8(function+objectType) != typeFunction {
		r.Err = errors.Join(r.Err, errStack)
		return Frame{}
	}
	id := r.U8(function + functionID)
	switch {
	case id == 0:
		return vm.protoFrame(r, r.U64(function+functionPC)-protoSize, pc)
	case id == 1:
		address := r.U64(function + functionC)
		name := vm.builtins[address]
		return Frame{Kind: C, Address: address, Function: name, Unnamed: name == ""}
	}
	name := vm.builtins[uint64(id)]
	if name == "" {
		// One that no table holds, and that nameless does not know.
		return Frame{Kind: Builtin, Function: fmt.Sprintf("builtin #%d", id), Unnamed: true}
	}
	return Frame{Kind: Builtin, Function: name}
}

// protoFrame describes a Lua function by its prototype.
func (vm *VM) protoFrame(r *process.Reader, proto, pc uint64) Frame {
	f := Frame{Kind: Lua, proto: proto, pc: pc}
	if r.U8(proto+objectType) != typeProto {
		r.Err = errors.Join(r.Err, errStack)
		return f
	}
	name := r.U64(proto + protoChunkName)
	// What was read there may be older than the prototype.
	old := vm.reader()
	if kind := old.U8(name + objectType); old.Err == nil && kind != typeString {
		r.Err = errors.Join(r.Err, errStack)
		return f
	}
	f.File = chunkFile(vm.text(r, name))
	f.FirstLn = int(int32(r.U32(proto + protoFirstLine)))
	f.Line = vm.line(r, proto, pc)
	return f
}

// line is the source line of the instruction before pc (lj_debug_line).
func (vm *VM) line(r *process.Reader, proto, pc uint64) int {
	first, lines := int(int32(r.U32(proto+protoFirstLine))), r.U32(proto+protoLines)
	info := r.U64(proto + protoLineInfo)
	code := proto + protoSize
	switch {
	case pc == code: // it is about to begin
		return first
	case pc < code || info == 0:
		return 0
	}
	n := (pc-code)/4 - 1
	switch count := uint64(r.U32(proto + protoSizeBC)); {
	case n > count:
		return 0
	case n == count:
		return first + int(lines)
	case n == 0:
		return first
	}
	n--
	switch {
	case lines < 1<<8:
		return first + int(r.U8(info+n))
	case lines < 1<<16:
		return first + int(r.U16(info+2*n))
	}
	return first + int(r.U32(info+4*n))
}

// maxText bounds a string that is read: names are short, and a stack may be garbage.
const maxText = 512

func (vm *VM) text(r *process.Reader, s uint64) string {
	n := r.U32(s + vm.stringLength())
	if n > maxText {
		return strings.ToValidUTF8(string(r.Bytes(s+stringBytes, maxText)), "") + "…"
	}
	return string(r.Bytes(s+stringBytes, int(n)))
}
