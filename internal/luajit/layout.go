// Package luajit sees a LuaJIT virtual machine from outside, in another process that knows nothing
// of it: where its structures lie, what runs on its Lua stack, in which source line, compiled or
// not. It needs no debug information and no help from the process.
//
// The layouts are those of LuaJIT's headers lj_obj.h, lj_jit.h and lj_frame.h, for x86-64 with
// 64-bit pointers (GC64). What differs from version to version is read out of the machine code of
// the library's exported functions (Calibrate); the constants below were the same in all builds that
// script/test-builds was run with, luajit2 of 2019-05 to 2024-03 and LuaJIT v2.1 of 2026-08.
package luajit

// A Layout is what differs between builds: offsets in bytes.
type Layout struct {
	// In lua_State, a coroutine.
	GlobalState uint64 // glref: the global_State
	Base        uint64 // first slot of the running function
	Top         uint64
	Stack       uint64 // first slot of all
	CFrame      uint64 // the C frame of the interpreter that runs it; 0: it does not run
	ExtraData   uint64 // exdata: OpenResty's branch keeps nginx's request there; 0: it has none
	Record      uint64 // exdata2: there nginx keeps its own record of the coroutine (since 2020-10); 0: it has none

	// In global_State, of which a virtual machine has one.
	VMState    uint64 // a State, or the number of the trace that runs
	MainThread uint64
	CurrentL   uint64 // cur_L: the coroutine that runs
	JITBase    uint64 // base of the running trace's first frame; 0: no trace runs
	Traces     uint64 // J.trace: array of the traces by number
	JITFlags   uint64 // J.flags: whether the compiler is on; 0: not known
	Hooks      uint64 // hookmask, a byte: debug hooks that are set; 0: not known

	// The collector's state begins with the bytes in use. Its place and the size of a machine's own
	// structures (GG_State) are known where lua_newstate says them: for the heap alone.
	StateSize  uint64 // 0: unknown
	StateTotal uint64 // of gc.total, from the beginning of those structures

	Total uint64 // the same in global_State; 0: where it has been since 2020-10

	// What the code does not say is settled on the machine itself (settle.go).

	// SnapshotPC reports that snapshots know the machine code they belong to (mcofs, since 2021-12),
	// from which lines inside a trace follow, or ranges of them.
	SnapshotPC bool
	// CodeWord is how many bytes of machine code snapshots count as one: 0 or 1 on x86-64, 4 on arm64.
	CodeWord uint64
	// KnownIR reports that the operations of traces are those that are known, from which lines between snapshots follow.
	KnownIR bool
	// OldStrings reports that strings have no number of their own yet (sid, since 2020-10), so that their
	// length stands before its later place.
	OldStrings bool
}

// Offsets that have not changed.
const (
	objectType = 0x09 // gct of every collectable object
	functionID = 0x0a // ffid: 0 Lua, 1 C, more: built in

	threadStatus = 0x0b // of lua_State

	protoSizeBC       = 0x0c // instructions
	protoSizeAll      = 0x38 // sizept: bytes of all
	protoFlags        = 0x3d
	protoChunkName    = 0x40
	protoFirstLine    = 0x48
	protoLines        = 0x4c
	protoLineInfo     = 0x50
	protoSize         = 0x68 // the bytecode follows
	functionPC        = 0x20 // of a Lua function: its first instruction
	functionC         = 0x28 // of a C function: its address
	stringLength      = 0x14
	stringLengthOld   = 0x10
	stringBytes       = 0x18
	tableArray        = 0x10
	tableNodes        = 0x28
	tableArraySize    = 0x30
	tableHashMask     = 0x34
	nodeSize          = 0x18 // value, key, next
	nodeKey           = 0x08
	environment       = 0x48 // env of lua_State: the table of globals
	gcTotal           = 0x10 // bytes in use, in global_State since 2020-10
	tracesCount       = 0x0c // sizetrace, after Traces
	traceSnapshots    = 0x0a // nsnap
	traceInstructions = 0x0c // nins: one past the last
	traceIR           = 0x20
	traceConstants    = 0x28 // nk: the lowest
	traceSnapMapSize  = 0x2c // nsnapmap
	traceSnaps        = 0x30
	traceSnapMap      = 0x38
	traceStart        = 0x40 // startpt: the prototype it starts in
	traceStartPC      = 0x48 // startpc: its first instruction
	traceStartIns     = 0x50 // startins: what that was before it led to the trace
	traceCodeSize     = 0x54
	traceCode         = 0x58
	traceLoop         = 0x60 // mcloop: offset of the loop in the code; 0: none
	traceChildren     = 0x64 // nchild: side traces of a root trace
	traceStackAdj     = 0x66 // spadjust
	traceNumber       = 0x68
	traceRoot         = 0x6c // 0: it is one
	traceLinkType     = 0x74
	snapshotSize      = 12
	snapshotRef       = 4  // first instruction behind it
	snapshotOffset    = 6  // mcofs
	snapshotEntries   = 10 // nent

	snapshotEntriesOld = 8 // without mcofs

	cframeSize   = 0x50 // of the interpreter, CFRAME_SIZE
	cframeL      = 0x10
	cframePC     = 0x18
	cframeReturn = 0x48
)

// Types of collectable objects (~LJ_TSTR …).
const (
	typeString   = 4
	typeThread   = 6
	typeProto    = 7
	typeFunction = 8
	typeTrace    = 9
	typeTable    = 11
)

// pointerMask leaves the 47 bits of a tagged value that are its pointer.
const pointerMask = 1<<47 - 1

// State is what a virtual machine is doing (vmstate).
type State int

// The states. A machine inside a trace is Compiled; a C function that a trace calls without leaving
// it counts as Compiled too.
const (
	Compiled State = iota
	Interpreted
	InC       // a C function called from Lua
	Collect   // the garbage collector
	TraceExit // leaving a trace
	Record    // recording a trace
	Optimize
	Assemble
	Unknown
)

var stateNames = [...]string{
	"compiled", "interpreted", "C", "garbage collection", "trace exit", "recording", "optimizing", "assembling", "unknown",
}

func (s State) String() string { return stateNames[s] }

// stateOf reads vmstate: ≥ 0 is a trace's number, the others are the complement of an enumeration.
func stateOf(vmstate int32) (s State, trace int) {
	switch n := ^vmstate; {
	case vmstate >= 0:
		return Compiled, int(vmstate)
	case int(n) < int(Unknown-Interpreted):
		return Interpreted + State(n), 0
	}
	return Unknown, 0
}
