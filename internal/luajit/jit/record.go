package jit

import (
	"math"
	"slices"
)

// record finds what one instruction has emitted, notes what its slots hold then, and returns the instruction after it.
func (w *walker) record(ins uint32) (next uint64, ok bool) {
	p, n := w.in.proto, w.in.proto.index(w.pc)
	op := bcOp(ins)
	at := func(i int) uint64 { return p.First + 4*uint64(int64(i)) }
	inside := func(i int) (uint64, bool) { return at(i), i >= 0 && i < len(p.Code) }
	switch {
	case op <= bcISNEP:
		return w.compare(ins, n)
	case op <= bcISF:
		return w.test(ins, n)
	case op == bcJMP, op == bcUCLO, op == bcISNEXT:
		return inside(n + 1 + bcJump(ins))
	case op >= bcFORI && op <= bcJFORL:
		return w.loopStep(ins, n)
	case op >= bcITERL && op <= bcJITERL:
		if kind, ok := w.kindOf(w.read(bcA(ins))); ok && kind == typeNil { // the loop is at its end
			return inside(n + 1)
		} else if ok {
			return inside(n + 1 + bcJump(ins))
		}
		return w.choose(n+1, n+1+bcJump(ins))
	case op == bcCALLMT, op == bcCALLT:
		return w.call(ins, n, true)
	case op >= bcCALLM && op <= bcITERC:
		return w.call(ins, n, false)
	case op >= bcRETM && op <= bcRET1:
		return w.ret(ins)
	case op == bcVARG:
		w.vararg(ins)
	case op == bcITERN:
		w.read(bcA(ins) - 2)
		w.read(bcA(ins) - 1)
		w.forget(w.in.base + bcA(ins) - 1)
		w.nextPair(w.in.base + bcA(ins))
	default:
		w.plain(ins, op)
	}
	if w.metamethod() {
		return w.in.proto.First + 4, len(w.in.proto.Code) > 1
	}
	return inside(n + 1)
}

// plain records what has a result, or stores.
func (w *walker) plain(ins uint32, op int) {
	a := w.in.base + bcA(ins)
	set := func(v value) { w.slots[a] = v }
	switch {
	case op == bcMOV:
		set(w.read(bcD(ins)))
	case op == bcKSHORT:
		set(number(float64(int16(bcD(ins)))))
	case op == bcKNUM:
		set(w.numberOf(bcD(ins)))
	case op == bcKSTR || op == bcKCDATA:
		v := w.object(bcD(ins))
		w.texts[v.bits], v.cdata = op == bcKSTR, op == bcKCDATA
		set(v)
	case op == bcKNIL:
		for s := bcA(ins); s <= bcD(ins); s++ {
			w.slots[w.in.base+s] = value{absent: true}
		}
	case op == bcNOT:
		set(w.not(w.read(bcD(ins))))
	case op == bcKPRI:
		set(value{absent: bcD(ins) == typeNil, truth: byte(bcD(ins))})
	case op == bcISTYPE, op == bcISNUM:
		set(value{})
	case op == bcUNM:
		v := w.read(bcD(ins))
		w.overloaded(true, v)
		set(w.boxed(w.find(ops(NEG, SUB), v, value{})))
	case op == bcLEN:
		v := w.read(bcD(ins))
		if i, ok := w.t.At(v.ref); ok && i.kind() != typeTab {
			w.overloaded(false, v)
			if i.kind() != typeStr {
				set(value{})
				return
			}
		}
		if !v.known() { // it may be of whatever type
			w.steps[len(w.steps)-1].may, w.may = everything, everything
		}
		length := w.find(ops(FLOAD, ALEN), v, value{})
		if !length.known() {
			length.since = v.since
		}
		set(length)
	case op >= bcADDVN && op <= bcPOW:
		v := w.boxed(w.arithmetic(ins, op))
		set(v)
		w.result(v)
	case op == bcCAT:
		for s := bcB(ins); s <= bcC(ins); s++ {
			w.read(s)
		}
		set(w.find(ops(BUFSTR), value{}, value{}))
	case op == bcUGET:
		set(w.upvalue(bcD(ins)))
	case op >= bcUSETV && op <= bcUSETP:
		v := value{}
		if op == bcUSETV {
			v = w.read(bcD(ins))
		}
		w.assign(bcA(ins), v)
	case op == bcTNEW, op == bcTDUP:
		set(w.find(ops(TNEW, TDUP), value{}, value{}))
	default:
		w.indexed(ins, op)
	}
}

// indexed records what reads an element of a table, or stores one.
func (w *walker) indexed(ins uint32, op int) {
	a := w.in.base + bcA(ins)
	set := func(v value) { w.slots[a] = v }
	switch {
	case op == bcGGET:
		set(w.get(value{}, w.object(bcD(ins))))
	case op == bcGSET:
		w.put(value{}, w.object(bcD(ins)), w.read(bcA(ins)))
	case op == bcTGETS:
		set(w.get(w.read(bcB(ins)), w.object(bcC(ins))))
	case op >= bcTGETV && op <= bcTGETR:
		key := number(float64(bcC(ins)))
		if op != bcTGETB {
			key = w.read(bcC(ins))
		}
		set(w.get(w.read(bcB(ins)), key))
	case op == bcTSETS:
		w.put(w.read(bcB(ins)), w.object(bcC(ins)), w.read(bcA(ins)))
	case op == bcTSETM:
	case op >= bcTSETV && op <= bcTSETR:
		key := number(float64(bcC(ins)))
		if op != bcTSETB {
			key = w.read(bcC(ins))
		}
		w.put(w.read(bcB(ins)), key, w.read(bcA(ins)))
	}
}

// not is what a value is not: false or true, where its type is known.
func (w *walker) not(v value) value {
	kind, ok := w.kindOf(v)
	switch {
	case !ok:
		return value{}
	case kind > typeFalse:
		return value{truth: typeFalse}
	}
	return value{truth: typeTrue}
}

func number(n float64) value { return value{bits: math.Float64bits(n), number: true} }

func (w *walker) numberOf(n int) value {
	if n >= len(w.in.proto.Numbers) {
		return value{}
	}
	return value{bits: w.in.proto.Numbers[n], number: true}
}

func (w *walker) object(n int) value {
	if n >= len(w.in.proto.Objects) {
		return value{}
	}
	return value{bits: w.in.proto.Objects[n], object: true}
}

// forget drops what is known of the slots from one on.
func (w *walker) forget(from int) {
	for s := range w.slots {
		if s >= from {
			w.slots[s] = value{}
		}
	}
}

// read is a register's value. What the trace has not computed it loads from the stack where it is first needed.
func (w *walker) read(register int) value {
	slot := w.in.base + register
	if v, ok := w.slots[slot]; ok {
		return v
	}
	r, ok := w.loads[slot]
	if !ok {
		return value{}
	}
	if r >= w.cursor && w.reachable(r) {
		w.anchor(r)
	}
	v := value{ref: r}
	w.slots[slot] = v
	return v
}

// reachable reports that what lies before an instruction can have been emitted meanwhile.
func (w *walker) reachable(r Ref) bool {
	if s, ok := w.snapshot(); ok && r > s.Ref {
		return false
	}
	for i := w.cursor; i < r; i++ {
		if !w.may.has(w.t.IR[i-Bias].Op) {
			return false
		}
	}
	return r < w.end
}

// anchor notes that an instruction was emitted by the current step. One that lies before what the steps before have emitted is none
// of it: its value is used again, as that of a slot which was loaded when the trace began.
func (w *walker) anchor(r Ref) {
	if r < w.cursor {
		return
	}
	n := len(w.steps) - 1
	w.known[r] = n
	w.idle = 0
	w.cursor = r + 1
	w.may = w.steps[n].may
}

// Evidence of an operand: it is the one, it is another, or nothing is known.
const (
	other = iota - 1
	unsure
	same
)

// is reports whether an operand is a value.
func (w *walker) is(r Ref, v value) int {
	c, constant := w.t.Constants[r]
	switch {
	case !v.known() && r > Bias && r < v.since && !slices.Contains(v.among[:], r):
		return other
	case !v.known():
		return unsure
	case v.ref != 0 && v.ref == r:
		return same
	case v.number && constant:
		if w.t.float(c) == math.Float64frombits(v.bits) {
			return same
		}
		return other
	case v.object && constant:
		switch {
		case c.Value&pointerMask == v.bits&pointerMask:
			return same
		case v.cdata && c.Op != KGC:
			return unsure
		}
		return other
	case v.truth != 0 || v.absent:
		if constant && c.Op == KPRI && c.kind() == v.truth {
			return same
		}
		return other
	case v.ref != 0 && constant:
		if k, ok := w.t.Constants[v.ref]; ok && k.Op != c.Op && w.t.float(k) == w.t.float(c) {
			return same
		}
		return other
	}
	if i, ok := w.t.At(r); ok && (i.Op == CONV || i.Op == STRTO || i.Op == TOSTR || i.Op == TOBIT) {
		return w.is(i.Op1, v)
	}
	if v.ref > Bias && r > Bias { // it was folded, or narrowed to an integer
		if i, ok := w.t.At(v.ref); ok && (i.Op == CONV && i.Op1 == r || i.Op == CNEWI && i.Op2 == r) {
			return same
		}
		if i, ok := w.t.At(r); ok && i.Op == FLOAD && i.Op1 == v.ref && w.t.IR[v.ref-Bias].kind() == typeCData { // its number
			return same
		}
		root, plus := w.sum(r)
		if of, and := w.sum(v.ref); root == of && plus == and {
			return same
		}
	}
	return other
}

// sum takes an instruction apart that adds constants to another one, whose type it may have changed.
func (w *walker) sum(r Ref) (root Ref, plus float64) {
	const most = 64 // such instructions in a row
	for range most {
		i, ok := w.t.At(r)
		c, constant := w.t.Constants[i.Op2]
		switch {
		case ok && i.Op == CONV:
		case ok && constant && (i.Op == ADD || i.Op == ADDOV):
			plus += w.t.float(c)
		case ok && constant && (i.Op == SUB || i.Op == SUBOV):
			plus -= w.t.float(c)
		default:
			return r, plus
		}
		r = i.Op1
	}
	return r, plus
}

// specialize notes where the trace makes sure which function runs: where it first needs to know.
func (w *walker) specialize() {
	slot := w.in.base - 2
	if r := w.cursor; r < w.end && w.t.IR[r-Bias].Op == SLOAD && int(w.t.IR[r-Bias].Op1) == slot {
		w.slots[slot] = value{ref: r}
		w.anchor(r)
	}
	loaded := w.slots[slot].ref
	if loaded == 0 {
		loaded = w.loads[slot]
	}
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		if c, ok := w.t.Constants[i.Op2]; ok && i.Op == EQ && c.Op == KGC && i.kind() == typeFunc && loaded == i.Op1 {
			w.in.function = c.Value & pointerMask
			w.anchor(r)
			return
		}
		if !w.may.has(i.Op) {
			return
		}
	}
}

// float is a number constant's value.
func (t *Trace) float(c Constant) float64 {
	if c.Op == KNUM {
		return math.Float64frombits(c.Value)
	}
	return float64(int64(c.Value))
}

// find looks for an instruction of these operations with these operands, in the order in which they were emitted: a new one, or else
// one before, of which it was a copy. Where none is there, the value is not known.
func (w *walker) find(wanted opSet, left, right value) value {
	return w.findBy(wanted, func(i Instruction) int { return w.pair(i, left, right) })
}

// pair is the evidence of an instruction's two operands.
func (w *walker) pair(i Instruction, left, right value) int {
	if i.kind() == typeP64 && !left.known() && !right.known() { // an address, which no slot holds
		return other
	}
	best := sumUp(w.is(i.Op1, left), w.is(i.Op2, right))
	if definitions[i.Op].mode&0x10 != 0 {
		best = max(best, sumUp(w.is(i.Op1, right), w.is(i.Op2, left)))
	}
	return best
}

func sumUp(a, b int) int {
	if a == other || b == other {
		return other
	}
	return a + b
}

func (w *walker) findBy(wanted opSet, evidence func(Instruction) int) value {
	if v := w.findNew(wanted, evidence); v.ref != 0 {
		return v
	}
	return w.findOld(wanted, evidence)
}

// result notes that a value was computed by the current step as its last instruction.
func (w *walker) result(v value) {
	if n := len(w.steps) - 1; v.ref > Bias && v.ref == w.cursor-1 && w.known[v.ref] == n {
		w.steps[n].last = v.ref
		w.may = none
	}
}

// boxed is the C data that a new number was put into at once; or that number.
func (w *walker) boxed(v value) value {
	if i, ok := w.t.At(v.ref + 1); ok && v.ref > Bias && v.ref+1 == w.cursor && w.cursor < w.limit() && i.Op == CNEWI && i.Op2 == v.ref {
		w.anchor(w.cursor)
		return value{ref: v.ref + 1}
	}
	return v
}

// findNew looks among those that the current step can have emitted.
func (w *walker) findNew(wanted opSet, evidence func(Instruction) int) value {
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		if wanted.has(i.Op) && evidence(i) > other {
			w.anchor(r)
			return value{ref: r}
		}
		if !w.may.has(i.Op) {
			break
		}
	}
	return value{}
}

// findOld looks among those before, the latest first.
func (w *walker) findOld(wanted opSet, evidence func(Instruction) int) value {
	for r := w.cursor - 1; r >= First; r-- {
		if i := w.t.IR[r-Bias]; wanted.has(i.Op) && evidence(i) > same-1 {
			return value{ref: r}
		}
	}
	return value{}
}

// limit is the end of what can have been emitted before the next snapshot.
func (w *walker) limit() Ref {
	if s, ok := w.snapshot(); ok {
		return min(w.end, s.Ref)
	}
	return w.end
}
