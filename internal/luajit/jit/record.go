package jit

import "math"

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
		return w.choose(n+1, n+1+bcJump(ins))
	case op == bcCALLMT, op == bcCALLT:
		return w.call(ins, n, true)
	case op >= bcCALLM && op <= bcITERC:
		return w.call(ins, n, false)
	case op >= bcRETM && op <= bcRET1:
		return w.ret(ins)
	case op == bcVARG:
		w.forget(w.in.base + bcA(ins))
	case op == bcITERN:
		w.read(bcA(ins) - 2)
		w.read(bcA(ins) - 1)
		w.forget(w.in.base + bcA(ins) - 1)
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
		set(w.object(bcD(ins)))
	case op == bcKNIL:
		for s := bcA(ins); s <= bcD(ins); s++ {
			w.slots[w.in.base+s] = value{}
		}
	case op == bcNOT, op == bcKPRI, op == bcISTYPE, op == bcISNUM:
		if op == bcNOT {
			w.read(bcD(ins))
		}
		set(value{})
	case op == bcUNM:
		set(w.find(ops(NEG, SUB), w.read(bcD(ins)), value{}))
	case op == bcLEN:
		v := w.read(bcD(ins))
		if i, ok := w.t.At(v.ref); ok && i.kind() != typeTab {
			w.overloaded(false, v)
			if i.kind() != typeStr {
				set(value{})
				return
			}
		}
		set(w.find(ops(FLOAD, ALEN), v, value{}))
	case op >= bcADDVN && op <= bcPOW:
		set(w.arithmetic(ins, op))
	case op == bcCAT:
		for s := bcB(ins); s <= bcC(ins); s++ {
			w.read(s)
		}
		set(w.find(ops(BUFSTR), value{}, value{}))
	case op == bcUGET:
		set(w.upvalue(bcD(ins)))
	case op >= bcUSETV && op <= bcUSETP:
		if op == bcUSETV {
			w.find(ops(USTORE), value{}, w.read(bcD(ins)))
		} else {
			w.find(ops(USTORE), value{}, value{})
		}
	case op == bcTNEW, op == bcTDUP:
		set(w.find(ops(TNEW, TDUP), value{}, value{}))
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

// reachable tells that what lies before an instruction can have been emitted meanwhile.
func (w *walker) reachable(r Ref) bool {
	if s, ok := w.snapshot(); ok && r > s.Ref && !w.fixed(s) {
		return false
	}
	for i := w.cursor; i < r; i++ {
		if !w.may.has(w.t.IR[i-Bias].Op) {
			return false
		}
	}
	return r < w.end
}

// fixed tells that a snapshot is that of a comparison, whose bytecode leads elsewhere.
func (w *walker) fixed(Snapshot) bool { return false }

// anchor notes that an instruction was emitted by the current step.
func (w *walker) anchor(r Ref) {
	n := len(w.steps) - 1
	w.known[r] = n
	w.cursor = r + 1
	w.may = w.steps[n].may
}

// Evidence of an operand: it is the one, it is another, or nothing is known.
const (
	other = iota - 1
	unsure
	same
)

// is tells whether an operand is a value.
func (w *walker) is(r Ref, v value) int {
	c, constant := w.t.Constants[r]
	switch {
	case v == value{}:
		return unsure
	case v.ref != 0 && v.ref == r:
		return same
	case v.number && constant:
		if w.t.float(c) == math.Float64frombits(v.bits) {
			return same
		}
		return other
	case v.object && constant:
		if c.Value&pointerMask == v.bits&pointerMask {
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
	if v.ref != 0 {
		if i, ok := w.t.At(v.ref); ok && i.Op == CONV && i.Op1 == r { // it was folded
			return same
		}
	}
	return other
}

// specialize notes where the trace makes sure which function runs: where it first needs to know.
func (w *walker) specialize() {
	slot := w.in.base - 2
	if r := w.cursor; r < w.end && w.t.IR[r-Bias].Op == SLOAD && int(w.t.IR[r-Bias].Op1) == slot {
		w.slots[slot] = value{ref: r}
		w.anchor(r)
	}
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		if c, ok := w.t.Constants[i.Op2]; ok && i.Op == EQ && c.Op == KGC && i.kind() == typeFunc && w.slots[slot].ref == i.Op1 {
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

func (w *walker) arithmetic(ins uint32, op int) value {
	left, right := w.read(bcB(ins)), value{}
	kind := (op - bcADDVN) % 5
	switch {
	case op == bcPOW:
		right = w.read(bcC(ins))
		return w.find(ops(POW, MUL, FPMATH, CALLN), left, right)
	case op >= bcADDVV:
		right = w.read(bcC(ins))
	case op >= bcADDNV:
		left, right = w.numberOf(bcC(ins)), left
	default:
		right = w.numberOf(bcC(ins))
	}
	w.overloaded(true, left, right)
	switch kind {
	case 0:
		return w.find(ops(ADD, ADDOV), left, right)
	case 1:
		if right.number { // a constant is added, negated
			minus := number(-math.Float64frombits(right.bits))
			return w.findBy(ops(SUB, SUBOV, ADD, ADDOV), func(i Instruction) int {
				if i.Op == ADD || i.Op == ADDOV {
					return w.pair(i, left, minus)
				}
				return w.pair(i, left, right)
			})
		}
		return w.find(ops(SUB, SUBOV), left, right)
	case 2:
		if right.number && math.Float64frombits(right.bits) == 2 {
			return w.findBy(ops(MUL, MULOV, ADD), func(i Instruction) int {
				if i.Op == ADD {
					return w.pair(i, left, left)
				}
				return w.pair(i, left, right)
			})
		}
		return w.find(ops(MUL, MULOV), left, right)
	case 3:
		if right.number { // or multiplied with its inverse
			inverse := number(1 / math.Float64frombits(right.bits))
			return w.findBy(ops(DIV, MUL), func(i Instruction) int {
				if i.Op == MUL {
					return w.pair(i, left, inverse)
				}
				return w.pair(i, left, right)
			})
		}
		return w.find(ops(DIV), left, right)
	}
	return w.modulo(left, right)
}

// overloaded notes that an instruction may have looked for a metamethod, or worked on C data: then it may have emitted anything.
func (w *walker) overloaded(calls bool, all ...value) {
	const cdata, userdata = 10, 12
	for _, v := range all {
		if i, ok := w.t.At(v.ref); ok && v.ref != 0 && i.kind() >= cdata && i.kind() <= userdata {
			w.steps[len(w.steps)-1].may, w.may = everything, everything
			w.steps[len(w.steps)-1].into = calls && i.kind() != cdata
		}
	}
}

// modulo: of integers an instruction of its own, or a mask; of numbers a - floor(a/b)*b.
func (w *walker) modulo(left, right value) value {
	mask := value{}
	if right.number {
		mask = number(math.Float64frombits(right.bits) - 1)
	}
	v := w.findBy(ops(MOD, BAND, DIV, MUL), func(i Instruction) int {
		switch {
		case i.Op == BAND:
			return w.pair(i, left, mask)
		case i.Op == MUL: // by the inverse, or of what floor has come to
			if right.number {
				return w.pair(i, left, number(1/math.Float64frombits(right.bits)))
			}
			return other
		}
		return w.pair(i, left, right)
	})
	i, ok := w.t.At(v.ref)
	if v.ref == 0 || !ok || i.Op == MOD || i.Op == BAND {
		return v
	}
	floor := w.find(ops(FPMATH), v, value{})
	times := w.find(ops(MUL), floor, value{})
	return w.find(ops(SUB), left, times)
}

// root tells whether a reference into memory is one into an object, with a key.
func (w *walker) into(r Ref, object, key value) int {
	found := unsure
	for range 12 {
		i, ok := w.t.At(r)
		if !ok { // a constant: the table of globals, a metatable
			if found == same {
				return same
			}
			return w.is(r, object)
		}
		switch i.Op {
		case HREFK, HREF, NEWREF:
			k := i.Op2
			if slot, ok := w.t.Constants[k]; ok && slot.Op == KSLOT {
				k = slot.Op1
			}
			e := w.is(k, key)
			if e == other {
				return other
			}
			found = max(found, e)
			r = i.Op1
		case AREF, FLOAD, FREF, ADD, STRREF, CONV, CNEWI, ULOAD:
			if w.is(r, object) == same {
				return same
			}
			r = i.Op1
		default:
			if found == same && r >= w.cursor && i.Op == HLOAD { // of a metatable
				return same
			}
			if e := w.is(r, object); e != unsure {
				return e
			}
			return found
		}
	}
	return found
}

// reaches tells whether an address is computed from a value.
func (w *walker) reaches(r, from Ref) bool {
	const most = 5 // instructions of an address
	for next, n := []Ref{r}, 0; len(next) > 0 && n < 1<<most; n++ {
		at := next[0]
		next = next[1:]
		if at == from {
			return true
		}
		switch i, ok := w.t.At(at); {
		case ok && (i.Op == ADD || i.Op == SUB || i.Op == MUL):
			next = append(next, i.Op1, i.Op2)
		case ok && (i.Op == CONV || i.Op == BSHL || i.Op == TOBIT):
			next = append(next, i.Op1)
		}
	}
	return false
}

func (w *walker) get(object, key value) value {
	if i, ok := w.t.At(object.ref); ok && i.kind() != typeTab {
		w.overloaded(false, object)
	}
	at := field{object, key}
	v := w.findBy(ops(ALOAD, HLOAD, XLOAD), func(i Instruction) int {
		if i.Op == XLOAD && key.ref > Bias && w.reaches(i.Op1, key.ref) {
			return same
		}
		return w.into(i.Op1, object, key)
	})
	if v.ref == 0 {
		v = w.fields[at]
	}
	if key != (value{}) {
		w.fields[at] = v
	}
	return v
}

func (w *walker) put(object, key, v value) {
	if i, ok := w.t.At(object.ref); ok && i.kind() != typeTab {
		w.overloaded(false, object)
	}
	for at := range w.fields { // it may be the same object
		if at.key == key || !key.object {
			delete(w.fields, at)
		}
	}
	if key != (value{}) {
		w.fields[field{object, key}] = v
	}
	w.findBy(ops(ASTORE, HSTORE, XSTORE, FSTORE), func(i Instruction) int {
		if w.is(i.Op2, v) == other && !v.number {
			return other
		}
		return w.into(i.Op1, object, key)
	})
}

// upvalue is that of a function's variable outside, which is a constant where nothing assigns to it.
func (w *walker) upvalue(n int) value {
	w.specialize()
	v := w.findBy(ops(ULOAD), func(i Instruction) int {
		const shift = 8
		if up, ok := w.t.At(i.Op1); ok && int(up.Op2)>>shift == n {
			return same
		}
		return other
	})
	if v.ref != 0 || w.in.function == 0 {
		return v
	}
	tagged := w.source.Upvalue(w.in.function, n)
	const shift, text, userdata, numbers = 47, -5, -13, -14 // of a value's tag
	switch tag := int64(tagged) >> shift; {
	case tag <= text && tag >= userdata:
		return value{bits: tagged & pointerMask, object: true}
	case tag >= 0 || tag < numbers:
		return value{bits: tagged, number: true}
	}
	return value{}
}
