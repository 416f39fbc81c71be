package luajit

import (
	"cmp"
	"slices"

	"github.com/moonlap/moonlap/internal/process"
)

// Opcodes of LuaJIT 2.1 (lj_bc.h) up to those of functions' heads, see funcF.
const (
	opUCLO   = 50
	opFNEW   = 51
	opITERN  = 70
	opISNEXT = 72
	opFORI   = 77
	opJFORI  = 78
	opFORL   = 79
	opJFORL  = 81
	opITERL  = 82
	opJITERL = 84
	opLOOP   = 85
	opJLOOP  = 87
	opJMP    = 88

	jumpBias = 0x8000 // BCBIAS_J
)

func opOf(ins uint32) int { return int(ins & 0xff) }

// jump is how many instructions a jump goes on from the one behind it.
func jump(ins uint32) int { return int(ins>>16) - jumpBias }

// A region is a loop of a function, or the whole of it: what a trace that begins at one of its heads may compile.
type region struct {
	heads    []int // instructions that count how hot it is; they are exchanged when it is compiled, or given up
	from, to int   // its instructions, the last one excluded
	loop     bool
}

// code is a function's bytecode.
type code struct {
	proto uint64
	flags byte
	ins   []uint32 // as the compiler left them
	plain []uint32 // as they were before
}

// readCode reads a function's bytecode. Where a trace begins, its first instruction is replaced by the trace's
// number; the trace keeps what was there.
func (vm *VM) readCode(r *process.Reader, proto uint64) (code, bool) {
	c := code{proto: proto, flags: r.U8(proto + protoFlags)}
	count := r.U32(proto + protoSizeBC)
	if r.U8(proto+objectType) != typeProto || r.Err != nil || count == 0 || count > mostCode {
		return c, false
	}
	b := r.Bytes(proto+protoSize, 4*int(count))
	if b == nil {
		return c, false
	}
	funcF, ok := vm.funcF()
	for i := 0; i < len(b); i += 4 {
		ins := le32(b[i:])
		c.ins = append(c.ins, ins)
		switch op := opOf(ins); {
		case op == opJFORL, op == opJITERL, op == opJLOOP, ok && i == 0 && (op == funcF+opJFUNCF || op == funcF+opJFUNCV):
			if t := vm.traceOf(vm.reader(), int(ins>>16)); t != nil {
				ins = vm.reader().U32(t.address + traceStartIns)
			}
		}
		c.plain = append(c.plain, ins)
	}
	return c, r.Err == nil
}

// index is the instruction that pc stands behind, as in Frame; -1: none.
func (c code) index(pc uint64) int {
	if first := c.proto + protoSize; pc > first && pc <= first+4*uint64(len(c.ins)) {
		return int(pc-first)/4 - 1
	}
	return -1
}

// around lists the loops that an instruction is in, the innermost first, and the function.
func (c code) around(at int) []region {
	var all []region
	add := func(from, to int, heads ...int) {
		if 0 <= from && from <= at && at < to && to <= len(c.ins) {
			all = append(all, region{heads, from, to, true})
		}
	}
	for i, ins := range c.plain {
		switch opOf(ins) {
		case opFORI, opJFORI: // leads behind the loop's last instruction, FORL
			end := i + 1 + jump(ins)
			add(i+1, end, end-1)
		case opITERL, opITERL + 1: // leads to the loop's first
			heads := []int{i}
			if i > 0 && opOf(c.plain[i-1]) == opITERN {
				heads = append(heads, i-1)
			}
			add(i+1+jump(ins), i+1, heads...)
		case opLOOP, opLOOP + 1: // leads behind the loop, whose condition may stand before it
			end := i + 1 + jump(ins)
			from := i
			if end > i && end <= len(c.plain) && opOf(c.plain[end-1]) == opJMP {
				from = min(from, end+jump(c.plain[end-1]))
			}
			add(from, end, i)
		}
	}
	slices.SortStableFunc(all, func(a, b region) int { return cmp.Compare(a.to-a.from, b.to-b.from) })
	return append(all, region{heads: []int{0}, to: len(c.ins)})
}

// passes reports that an instruction does nothing but lead into a function's trace, or, behind it, to the caller. Where a
// trace was left a moment ago, what is told to run is the instruction before.
func (c code) passes(at int, g region) bool {
	const retM, ret1 = 73, 76
	returns := func(at int) bool {
		if at >= len(c.plain) {
			return false
		}
		op := opOf(c.plain[at])
		return op >= retM && op <= ret1
	}
	return !g.loop && (at <= 0 || returns(at) || returns(at+1))
}

// An Obstacle is bytecode that LuaJIT has not compiled in any version, or not in older ones.
type Obstacle struct {
	Code string // FNEW, UCLO, ITERN, ISNEXT
	Line int
}

var obstacles = map[int]string{opFNEW: "FNEW", opUCLO: "UCLO", opITERN: "ITERN", opISNEXT: "ISNEXT"}

// obstacles lists those of a region: closures that are made; where there are none, what closes their variables; where
// there is none of that, what newer versions compile.
func (vm *VM) obstacles(r *process.Reader, c code, g region) []Obstacle {
	const most = 8 // of a kind
	all := map[int][]Obstacle{}
	for i := g.from; i < g.to; i++ {
		op := opOf(c.plain[i])
		name, ok := obstacles[op]
		if !ok {
			continue
		}
		kind := op
		if op == opISNEXT {
			kind = opITERN
		}
		o := Obstacle{name, vm.line(r, c.proto, c.proto+protoSize+4*uint64(i+1))}
		if len(all[kind]) < most && !slices.Contains(all[kind], o) {
			all[kind] = append(all[kind], o)
		}
	}
	for _, kind := range []int{opFNEW, opUCLO, opITERN} {
		if len(all[kind]) > 0 {
			return all[kind]
		}
	}
	return nil
}
