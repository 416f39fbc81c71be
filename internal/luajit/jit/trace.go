// Package jit reads LuaJIT's traces from outside: which instruction of a trace's intermediate representation (IR) a place in its
// machine code belongs to, and which bytecode that came from. Where either is not known, it says between which two.
//
// A finished trace keeps its IR with the registers that were allocated, its snapshots with the machine code and the bytecode that
// they belong to, and its machine code. The assembler writes machine code from the last instruction to the first, so both are in
// the same order. The recorder emits IR as it goes through the bytecode, so these two are as well, but for the loop's second copy.
package jit

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/moonlap/moonlap/internal/process"
)

// Bounds of what is read of one trace, above LuaJIT's own (maxrecord, maxsnap, and 64 KiB of machine code for offsets of snapshots).
const (
	mostIR        = 1 << 14
	mostConstants = 1 << 14
	mostSnaps     = 1 << 12
	mostEntries   = 1 << 18
	mostCode      = 1 << 16
)

// A Ref is a reference to an instruction of the IR: below Bias to a constant.
type Ref uint16

// Bias is the reference of the base; First is that of the first instruction.
const (
	Bias  Ref = 0x8000
	First Ref = Bias + 1
)

func (r Ref) constant() bool { return r < Bias }

// An Instruction of the IR: two operands, type, operation, and the register and spill slot of its result.
type Instruction struct {
	Op1, Op2 Ref
	Type     uint8 // with flags
	Op       Op
	Reg      uint8 // with 0x80: none
	Spill    uint8
}

// Types of instructions, and a flag.
const (
	typeMask     = 0x1f
	typeNil      = 0
	typeFalse    = 1
	typeTrue     = 2
	typeStr      = 4
	typeFunc     = 8
	typeP64      = 9
	typeCData    = 10
	typeTab      = 11
	typeUserdata = 12
	typeNum      = 14
	typeGuard    = 0x80
	noReg        = 0x80
	regSink      = 0x7e | noReg
	regSunk      = 0x7d | noReg
)

func (i Instruction) guard() bool { return i.Type&typeGuard != 0 }
func (i Instruction) kind() uint8 { return i.Type & typeMask }
func (i Instruction) number() bool {
	return i.kind() == typeNum || i.kind() == typeNum-1
}

// A Snapshot is the state of the Lua stack at a point of a trace.
type Snapshot struct {
	Ref    Ref    // first instruction behind it
	Offset int    // of the machine code behind it
	PC     uint64 // bytecode that the interpreter would go on with
	Base   int    // slot of the innermost function's base
	Frames []Frame
	Slots  map[int]Ref // what slots hold, as far as the trace has changed them
}

// A Frame is that of a function which the trace has entered since it began. Slot is its base.
type Frame struct {
	Slot     int
	Function uint64 // 0: the trace computes it
	Computed Ref
	Link     uint64 // how it was called: lj_frame.h
	After    uint64 // below a frame of a continuation: the bytecode behind the one that called
	// Protected reports that it was called through pcall or xpcall, whose own frame has no place in the list.
	Protected bool
}

// A Trace is one as it lies in memory.
type Trace struct {
	IR        []Instruction // from Bias on
	Constants map[Ref]Constant
	Snapshots []Snapshot
	Code      []byte
	Address   uint64 // of the machine code
	Loop      int    // offset in it of the loop; 0: none

	StartProto uint64
	StartPC    uint64 // where it was started
	StartIns   uint32
	Root       int // number of the root trace; 0: this is one

	Parent *Trace // that a side trace goes on from, by its exit of the number Exit; nil: that is not known, or need not be
	Exit   int
}

// A Constant is one of the IR's.
type Constant struct {
	Instruction
	Value uint64 // pointer, bits of a number, or integer
}

// At is an instruction; false where there is none.
func (t *Trace) At(r Ref) (Instruction, bool) {
	if r < Bias || int(r-Bias) >= len(t.IR) {
		return Instruction{}, false
	}
	return t.IR[r-Bias], true
}

func (t *Trace) end() Ref { return Bias + Ref(len(t.IR)) }

// Where a GCtrace has what is read of it here (lj_jit.h), from 2021-12 on.
const (
	headSnapshots  = 0x0a
	headEnd        = 0x0c // nins: one past the last
	headIR         = 0x20
	headConstants  = 0x28 // nk: the lowest
	headEntries    = 0x2c
	headSnaps      = 0x30
	headMap        = 0x38
	headStartProto = 0x40
	headStartPC    = 0x48
	headStartIns   = 0x50
	headCodeSize   = 0x54
	headCode       = 0x58
	headLoop       = 0x60
	headRoot       = 0x6c
	headSize       = 0x70

	snapSize    = 12
	snapFrame   = 0x010000
	pointerMask = 1<<47 - 1
	irSize      = 8
)

// ErrTrace is the error of what is no trace that makes sense, or not any more.
var ErrTrace = errors.New("the trace makes no sense")

// A Head tells one trace from another that has come to its place in memory.
type Head [headSize]byte

// ReadHead reads what tells a trace from others: nothing of it changes while the trace lives.
func ReadHead(r *process.Reader, address uint64) (h Head) {
	copy(h[:], r.Bytes(address, headSize))
	clear(h[:0x0a]) // the collector's
	clear(h[0x10:0x20])
	clear(h[0x64:0x66]) // nchild
	clear(h[0x6a:0x6c]) // link
	return h
}

// Read reads the trace at an address. It is an error if it changes meanwhile.
func Read(memory process.Memory, address uint64) (*Trace, error) {
	r := &process.Reader{Memory: memory}
	h := ReadHead(r, address)
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(h[at:])) }
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(h[at:])) }
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(h[at:]) }
	t := &Trace{
		Address: u64(headCode), Loop: u32(headLoop), Root: u16(headRoot),
		StartProto: u64(headStartProto) & pointerMask, StartPC: u64(headStartPC), StartIns: uint32(u32(headStartIns)),
	}
	end, low, snaps, entries, size := u32(headEnd), u32(headConstants), u16(headSnapshots), u32(headEntries), u32(headCodeSize)
	switch {
	case r.Err != nil:
		return nil, r.Err
	case end <= int(Bias) || end-int(Bias) > mostIR || low > int(Bias) || int(Bias)-low > mostConstants || low < 2,
		snaps == 0 || snaps > mostSnaps || entries > mostEntries || size == 0 || size > mostCode || t.Loop >= size:
		return nil, fmt.Errorf("%w: %d instructions, %d constants, %d snapshots, %d bytes of code",
			ErrTrace, end-int(Bias), int(Bias)-low, snaps, size)
	}
	all := r.Bytes(u64(headIR)+irSize*uint64(low), (end-low)*irSize)
	list := r.Bytes(u64(headSnaps), snaps*snapSize)
	entry := r.Bytes(u64(headMap), 4*entries)
	t.Code = r.Bytes(t.Address, size)
	if r.Err != nil {
		return nil, r.Err
	}
	t.readConstants(all[:(int(Bias)-low)*irSize], Ref(low))
	for b := all[(int(Bias)-low)*irSize:]; len(b) >= irSize; b = b[irSize:] {
		i := instructionOf(b)
		if i.Op >= opCount {
			return nil, fmt.Errorf("%w: its instruction %d has operation %d", ErrTrace, len(t.IR), i.Op)
		}
		for n, operand := range []Ref{i.Op1, i.Op2} { // of results that are there already
			if definitions[i.Op].refs[n] && operand > Bias && int(operand-Bias) >= len(t.IR) {
				return nil, fmt.Errorf("%w: its instruction %d needs a later one", ErrTrace, len(t.IR))
			}
		}
		t.IR = append(t.IR, i)
	}
	for n := range snaps {
		s, err := t.readSnapshot(list[n*snapSize:], entry)
		if err != nil {
			return nil, fmt.Errorf("snapshot %d: %w", n, err)
		}
		if n > 0 && (s.Ref < t.Snapshots[n-1].Ref || s.Offset < t.Snapshots[n-1].Offset) {
			return nil, fmt.Errorf("%w: snapshot %d lies before the one before", ErrTrace, n)
		}
		t.Snapshots = append(t.Snapshots, s)
	}
	if ReadHead(r, address) != h || r.Err != nil {
		return nil, fmt.Errorf("%w: it changed while it was read", ErrTrace)
	}
	return t, nil
}

func instructionOf(b []byte) Instruction {
	return Instruction{
		Op1: Ref(binary.LittleEndian.Uint16(b)), Op2: Ref(binary.LittleEndian.Uint16(b[2:])),
		Type: b[4], Op: Op(b[5]), Reg: b[6], Spill: b[7],
	}
}

// readConstants reads the constants from the lowest on. One of 64 bits has its value in the place of the next.
func (t *Trace) readConstants(b []byte, at Ref) {
	t.Constants = map[Ref]Constant{}
	for ; len(b) >= irSize; b, at = b[irSize:], at+1 {
		c := Constant{Instruction: instructionOf(b)}
		wide := false
		switch c.Op {
		case KINT:
			c.Value = uint64(int64(int32(binary.LittleEndian.Uint32(b))))
		case KGC, KPTR, KKPTR, KNUM, KINT64:
			wide = true
		}
		if wide && len(b) >= 2*irSize {
			c.Value = binary.LittleEndian.Uint64(b[irSize:])
			t.Constants[at] = c
			b, at = b[irSize:], at+1
			continue
		}
		t.Constants[at] = c
	}
}

// readSnapshot reads one. Behind its entries stand the bytecode's address and, in the lowest byte, the base slot.
func (t *Trace) readSnapshot(b, entries []byte) (Snapshot, error) {
	from, n := int(binary.LittleEndian.Uint32(b)), int(b[10])
	if from < 0 || from+n+2 > len(entries)/4 {
		return Snapshot{}, fmt.Errorf("%w: its entries are not there", ErrTrace)
	}
	pc := binary.LittleEndian.Uint64(entries[4*(from+n):])
	s := Snapshot{
		Ref: Ref(binary.LittleEndian.Uint16(b[4:])), Offset: int(binary.LittleEndian.Uint16(b[6:])),
		PC: pc >> 8, Base: int(pc & 0xff), Slots: map[int]Ref{},
	}
	if s.Ref < Bias {
		return s, fmt.Errorf("%w: it belongs to a constant", ErrTrace)
	}
	// The assembler takes off the end what does nothing.
	s.Ref, s.Offset = min(s.Ref, t.end()), min(s.Offset, len(t.Code))
	for i := range n {
		e := binary.LittleEndian.Uint32(entries[4*(from+i):])
		slot, ref := int(e>>24), Ref(e)
		s.Slots[slot] = ref
		if e&snapFrame != 0 && slot > 1 {
			f := Frame{Slot: slot + 1, Link: t.Constants[ref].Value}
			const types, vararg, protected = 7, 3, 6
			if n := len(s.Frames); f.Link&types == vararg && n > 0 { // a second frame of the same function, above its arguments
				s.Frames[n-1].Slot = f.Slot
				continue
			}
			function := s.Slots[slot-1]
			if function.constant() {
				f.Function = t.Constants[function].Value & pointerMask
			} else {
				f.Computed = function
			}
			if below := s.Slots[slot-2]; below.constant() {
				f.After = t.Constants[below].Value
			}
			if n := len(s.Frames); f.Link&types >= protected && n > 0 {
				f.Link, f.After, f.Protected = s.Frames[n-1].Link, s.Frames[n-1].After, true
				s.Frames = s.Frames[:n-1]
			}
			s.Frames = append(s.Frames, f)
		}
	}
	return s, nil
}

// snapshotOf is the number of the snapshot that an instruction belongs to: the last one before or at it.
func (t *Trace) snapshotOf(r Ref) int {
	n := 0
	for i, s := range t.Snapshots {
		if s.Ref <= r {
			n = i
		}
	}
	return n
}
