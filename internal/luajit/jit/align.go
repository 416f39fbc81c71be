package jit

import (
	"math"

	"golang.org/x/arch/x86/x86asm"
)

// A Span of references: the machine code belongs to one of them, or to several.
type Span struct{ From, To Ref }

// Costs of taking a machine instruction for a part of an IR instruction's code. The cheapest alignment of all is the one that
// counts, and those that cost but a margin more are as likely.
const (
	fits    = 0  // what this operation is made of, in its register
	near    = 2  // a move into its register, or out of it
	moved   = 5  // any other move: of the register allocator
	strange = 40 // nothing that the operation has
	twice   = 15 // a second call or comparison of an operation that has one
	missing = 30 // an operation of whose code nothing is there
	margin  = 1
)

// code is what the machine code of a trace comes from.
type code struct {
	list  []machine
	spans []Span // by machine instruction
	cost  int    // of the alignments of all windows
}

// fits reports whether the machine code is one that the assembler can have made of the IR. Code of LuaJIT costs up to 3 an instruction,
// and a little; that of another trace mostly more than 5.
func (c code) fits() bool {
	const most, slack = 4, 40
	return c.cost <= most*len(c.list)+slack
}

// mostCells bounds the work of one window between two snapshots: LuaJIT's traces rarely have a hundred instructions between two.
const mostCells = 1 << 20

// align finds out which instruction of the IR each machine instruction belongs to. Between two snapshots both are known, so that
// each such window is aligned for itself. The loop begins at a known place, too.
func (t *Trace) align() code {
	c := code{list: disassemble(t.Code)}
	markChains(c.list, t.Loop)
	c.spans = make([]Span, len(c.list))
	from, ref := 0, Bias
	next := func(offset int, end Ref) {
		to := from
		for to < len(c.list) && c.list[to].at < offset {
			to++
		}
		c.cost += t.window(c.list[from:to], c.spans[from:to], ref, end)
		from, ref = to, end
	}
	loop := t.loop()
	for n, s := range t.Snapshots {
		if n == 0 {
			continue
		}
		if loop != 0 && ref <= loop && loop < s.Ref {
			next(t.Loop, loop)
		}
		if s.Ref > ref {
			next(s.Offset, s.Ref)
		}
	}
	if loop != 0 && ref <= loop {
		next(t.Loop, loop)
	}
	next(math.MaxInt, t.end())
	return c
}

// tail is the offset behind the code of the last instruction: what is there belongs to none.
func (t *Trace) tail() int {
	last := t.Snapshots[len(t.Snapshots)-1]
	for r := last.Ref; r < t.end(); r++ {
		if o := t.IR[r-Bias].Op; o != NOP && o != RENAME && o != PHI {
			return len(t.Code)
		}
	}
	if t.Loop != 0 || len(t.Snapshots) == 1 {
		return len(t.Code)
	}
	return last.Offset
}

// loop is the reference of LOOP, 0 where the trace has none.
func (t *Trace) loop() Ref {
	if t.Loop == 0 {
		return 0
	}
	for i, ins := range t.IR {
		if ins.Op == LOOP {
			return Bias + Ref(i)
		}
	}
	return 0
}

// window aligns the machine code between two snapshots with the instructions between them, and returns what the best alignment costs.
func (t *Trace) window(list []machine, spans []Span, from, to Ref) (cost int) {
	if len(list) == 0 {
		return 0
	}
	var refs []Ref
	for r := from; r < to; r++ {
		if !t.silent(r) || r == Bias {
			refs = append(refs, r)
		}
	}
	if len(refs) == 0 || len(refs)*len(list) > mostCells {
		for m := range spans {
			spans[m] = Span{from, max(from, to-1)}
		}
		return 0
	}
	w := newWeights(t, list, refs)
	defer joinJumps(list, spans)
	ahead := w.forward()
	behind := w.backward()
	for m := range list {
		best := unreachable
		for i := range refs {
			for s := range 2 {
				best = min(best, ahead[m][i][s]+behind[m][i][s])
			}
		}
		cost = best // the same for all
		first := true
		for i, r := range refs {
			cost := min(ahead[m][i][0]+behind[m][i][0], ahead[m][i][1]+behind[m][i][1])
			if cost > best+margin {
				continue
			}
			if first {
				spans[m].From = r
				first = false
			}
			spans[m].To = r
		}
	}
	return cost
}

// joinJumps gives a jump to what the comparison before it belongs to.
func joinJumps(list []machine, spans []Span) {
	for m := 1; m < len(list); m++ {
		if jumps[list[m].Op] && (compares[list[m-1].Op] || jumps[list[m-1].Op]) {
			spans[m] = spans[m-1]
		}
	}
}

const unreachable = math.MaxInt32

// weights are the costs of a window's parts.
type weights struct {
	cost   [][]int  // by machine instruction and instruction
	main   [][]bool // what the operation cannot be without
	again  [][]int  // what it costs more where that is there already
	absent []int    // by instruction: that nothing of it is there
	sum    []int    // of absent, before each
}

func newWeights(t *Trace, list []machine, refs []Ref) *weights {
	w := &weights{sum: []int{0}}
	shapes := make([]shape, len(refs))
	for i, r := range refs {
		shapes[i] = t.shape(r)
		absent := missing
		if len(shapes[i].main) == 0 {
			absent = 0
		}
		w.absent = append(w.absent, absent)
		w.sum = append(w.sum, w.sum[i]+absent)
	}
	for _, m := range list {
		cost, main, again := make([]int, len(refs)), make([]bool, len(refs)), make([]int, len(refs))
		for i, r := range refs {
			cost[i], main[i] = t.weigh(m, t.IR[r-Bias], shapes[i])
			if main[i] && (m.Op == x86asm.CALL || comparing(t.IR[r-Bias].Op)) {
				again[i] = twice
			}
		}
		w.again = append(w.again, again)
		w.cost, w.main = append(w.cost, cost), append(w.main, main)
	}
	return w
}

// weigh tells what it costs to take a machine instruction for a part of an instruction's code, and whether it is its main part.
func (t *Trace) weigh(m machine, i Instruction, s shape) (cost int, main bool) {
	target := m.target()
	own := i.Reg&noReg == 0 && target == i.Reg
	switch {
	case m.chain && (i.Op == HREF || s.looksUp):
		return fits, compares[m.Op]
	case m.chain:
		return strange, false
	case t.looksElsewhere(m, i):
		return near + 2*moved, false
	case i.Op == TBAR && t.gray(m, i):
		return fits, false
	case jumps[m.Op]:
		switch {
		case i.guard():
			return fits, len(s.main) == 0
		case s.call || i.Op == HREF || i.Op == CONV || i.Op == TBAR || i.Op == MIN || i.Op == MAX:
			return near, false
		}
		return strange, false
	case i.Op == SLOAD && (s.main[m.Op] || s.other[m.Op]):
		return weighSlot(m, i, own || s.other[m.Op], !own || moves[m.Op])
	case compares[m.Op] && (s.main[m.Op] || s.other[m.Op]):
		return t.weighCompare(m, i, s)
	case (i.Op == LOOP || i.Op == BASE) && moves[m.Op]:
		return moved - 1, false
	case s.call && moves[m.Op] && arguments&(1<<(target&31)) != 0 && target != noReg:
		return near + 1, false
	case s.main[m.Op]:
		if t.elsewhere(m, i) {
			return near + moved, true
		}
		return weighMain(m, i, own)
	case s.other[m.Op]:
		if mem, ok := m.memory(); ok && i.Op == CONV && mem.Base == x86asm.R14 { // what is added to a negative one
			return fits, false
		}
		return near, false
	case moves[m.Op]:
		return weighMove(m, i, s, own)
	}
	return strange, false
}

// weighSlot is weigh of what may load a slot of the stack: known where the register or the shape says so, elsewhere where
// it is a move, or into another register.
func weighSlot(m machine, i Instruction, known, elsewhere bool) (cost int, main bool) {
	if mem, ok := m.memory(); ok {
		const below = 2 // slots below the base
		if mem.Base != x86asm.RSP && mem.Index == 0 && mem.Disp>>3 == int64(i.Op1)-below {
			return fits, true
		}
		if elsewhere {
			return moved, false
		}
	}
	if known {
		return near, false
	}
	return moved, false
}

// elsewhere reports that a machine instruction stores to another place than an instruction, or adds a constant where that has none.
func (t *Trace) elsewhere(m machine, i Instruction) bool {
	mem, ok := m.memory()
	switch {
	case !ok:
		return false
	case storing(i.Op):
		place, ok := t.At(i.Op1)
		if ok && place.Op == HREFK && place.Reg&noReg != 0 { // it is a part of the store
			place, ok = t.At(place.Op1)
		}
		return ok && place.Reg&noReg == 0 && mem.Index == 0 && register(mem.Base) != place.Reg
	case i.Op == ADD || i.Op == SUB:
		return mem.Base == x86asm.R14 && !i.Op1.constant() && !i.Op2.constant()
	}
	return false
}

// weighMain is weigh of an instruction that the shape has as the main one; own: it has the result in the register.
func weighMain(m machine, i Instruction, own bool) (cost int, main bool) {
	switch {
	case m.Op == x86asm.CALL:
		return fits, true
	case storing(i.Op):
		if mem, ok := m.memory(); ok && m.stores() && mem.Base != x86asm.RSP {
			return fits, true
		}
		return moved, false
	case own:
		return fits, true
	case i.guard() && i.Reg&noReg != 0: // the value is not needed
		return near, true
	case moves[m.Op]:
		return moved, false
	case i.Reg&noReg == 0 && m.target() != noReg: // it may have been renamed
		return near + 2, true
	}
	return strange, false
}

// weighMove is weigh of a move that the shape does not name: a spill, or a copy of the result.
func weighMove(m machine, i Instruction, s shape, own bool) (cost int, main bool) {
	if spill, ok := m.Args[0].(x86asm.Mem); ok {
		if spill.Base == x86asm.RSP && i.Spill != 0 && spill.Disp == 4*int64(i.Spill) {
			return fits, false
		}
		switch {
		case (i.Op == CNEW || i.Op == CNEWI) && spill.Base == x86asm.RAX: // the new object's head and number
			return fits, false
		case i.Op == NEWREF && spill.Base == x86asm.RDX: // the key
			return near, false
		}
		if spill.Base != x86asm.RSP && !s.call {
			return moved + near, false
		}
		return moved, false
	}
	if own {
		return near, false
	}
	return moved, false
}

// looksElsewhere reports that a machine instruction looks into another table than the one in which an instruction looks for a key.
func (t *Trace) looksElsewhere(m machine, i Instruction) bool {
	if h, ok := t.At(i.Op1); ok && (i.Op == EQ || i.Op == NE) && h.Op == HREF {
		i = h
	}
	const node, mask = 0x28, 0x34 // of a table
	mem, ok := m.memory()
	if i.Op != HREF || !ok || m.Op == x86asm.LEA || mem.Base == x86asm.RSP {
		return false
	}
	if compares[m.Op] { // of a node's key
		return i.Reg&noReg == 0 && register(mem.Base) != i.Reg
	}
	table, ok := t.At(i.Op1)
	return (mem.Disp == node || mem.Disp == mask) && ok && table.Reg&noReg == 0 && register(mem.Base) != table.Reg && m.target() != register(mem.Base)
}

// gray reports that a machine instruction puts a table on the collector's list of those to be seen again, as a barrier does.
func (t *Trace) gray(m machine, i Instruction) bool {
	const list = 0x18 // gclist, of a table
	mem, ok := m.memory()
	if !ok || m.Op != x86asm.MOV {
		return false
	}
	table, ok := t.At(i.Op1)
	return mem.Base == x86asm.R14 || ok && m.stores() && mem.Disp == list && table.Reg&noReg == 0 && register(mem.Base) == table.Reg
}

// weighCompare weighs a comparison: of numbers, of the type that a load has found, in the register that it loaded, or of what
// the instruction compares, in one of these registers.
func (t *Trace) weighCompare(m machine, i Instruction, s shape) (cost int, main bool) {
	numbers := m.Op == x86asm.UCOMISD || m.Op == x86asm.UCOMISS
	mem, fused := m.memory()
	main = s.main[m.Op]
	if !comparing(i.Op) {
		_, value := m.Args[1].(x86asm.Imm)
		switch {
		case numbers:
			return fits, main
		case i.guard() && i.Reg&noReg == 0 && m.target() == i.Reg:
			return fits, main
		case i.Op == HREFK && !fused:
			return strange, false
		case i.Op == HREFK && fused && !value, i.Op != HREFK && i.guard() && fused && value && i.Op != CONV:
			return fits, main
		case i.guard() && fused && !s.call && i.Op != HREF:
			return moved, main
		}
		return near, main
	}
	const typeCheck = 2 // bytes of the register that has it
	if r, ok := m.Args[0].(x86asm.Reg); main && (numbers != i.number() || ok && r >= x86asm.AX && r <= x86asm.R15W && m.DataSize == 8*typeCheck) {
		return strange, false
	}
	for _, r := range []Ref{i.Op1, i.Op2} {
		operand, ok := t.At(r)
		switch {
		case !ok:
		case operand.Reg&noReg != 0 && fused && operand.Op == FLOAD:
			if object, ok := t.At(operand.Op1); ok && object.Reg&noReg == 0 && register(mem.Base) != object.Reg {
				return near + moved, main
			}
			return fits, main
		case operand.Reg&noReg != 0 && fused:
			return fits, main
		case operand.Reg&noReg == 0 && (register(m.Args[0]) == operand.Reg || register(m.Args[1]) == operand.Reg):
			return fits, main
		}
	}
	return near + moved, main
}

// arguments are the registers that C functions have their arguments in.
const arguments = 1<<7 | 1<<6 | 1<<2 | 1<<1 | 1<<8 | 1<<9 | 0xff<<16

// comparing reports that an instruction does nothing but compare.
func comparing(o Op) bool { return o <= ABC }

func storing(o Op) bool {
	switch o {
	case ASTORE, HSTORE, USTORE, FSTORE, XSTORE:
		return true
	}
	return false
}

// forward is the least cost of all up to and with a machine instruction, where that belongs to an instruction whose main part is
// or is not there yet.
func (w *weights) forward() [][][2]int {
	n := len(w.absent)
	all := make([][][2]int, len(w.cost))
	for m := range w.cost {
		row := make([][2]int, n)
		entry := unreachable // of coming from an instruction before, less what is left out from the first on
		for i := range n {
			enter := w.sum[i]
			if m > 0 {
				enter = entry + w.sum[i]
				before := all[m-1][i]
				if leave := min(before[0]+w.absent[i], before[1]); leave < unreachable {
					entry = min(entry, leave-w.sum[i+1])
				}
			}
			row[i] = [2]int{unreachable, unreachable}
			put := func(state, cost int) { row[i][state] = min(row[i][state], cost, unreachable) }
			cost := w.cost[m][i]
			if w.main[m][i] {
				put(1, enter+cost)
			} else {
				put(0, enter+cost)
			}
			if m > 0 {
				put(1, all[m-1][i][1]+cost+w.again[m][i])
				if w.main[m][i] {
					put(1, all[m-1][i][0]+cost)
				} else {
					put(0, all[m-1][i][0]+cost)
				}
			}
		}
		all[m] = row
	}
	return all
}

// backward is the least cost of all behind a machine instruction.
func (w *weights) backward() [][][2]int {
	n, last := len(w.absent), len(w.cost)-1
	total := w.sum[n]
	all := make([][][2]int, len(w.cost))
	for m := last; m >= 0; m-- {
		row := make([][2]int, n)
		exit := unreachable // of going on with a later instruction, and all that is left out up to it, from the first on
		for i := n - 1; i >= 0; i-- {
			leave := total - w.sum[i+1]
			if m < last {
				leave = exit - w.sum[i+1]
				if exit == unreachable {
					leave = unreachable
				}
			}
			row[i] = [2]int{min(leave+w.absent[i], unreachable), min(leave, unreachable)}
			if m < last {
				cost := w.cost[m+1][i]
				for s := range 2 {
					next := s
					if w.main[m+1][i] {
						next = 1
					}
					row[i][s] = min(row[i][s], cost+s*w.again[m+1][i]+all[m+1][i][next])
				}
				// entering i with the next one, from an instruction before
				first := 0
				if w.main[m+1][i] {
					first = 1
				}
				exit = min(exit, cost+all[m+1][i][first]+w.sum[i])
			}
		}
		all[m] = row
	}
	return all
}
