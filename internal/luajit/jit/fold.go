package jit

import "math"

// A folder knows the constants of a loop's second pass: what the first pass stored is loaded there as a constant, and LuaJIT computes at
// once what follows from it.
type folder struct {
	t     *Trace
	extra map[Ref]float64 // constants that the trace need not have, by references that it has not
}

// number is the number that a reference is.
func (f *folder) number(r Ref) (float64, bool) {
	if n, ok := f.extra[r]; ok {
		return n, true
	}
	c, ok := f.t.Constants[r]
	if !ok || c.Op != KINT && c.Op != KNUM {
		return 0, false
	}
	return f.t.float(c), true
}

// constant is a reference to a number.
func (f *folder) constant(n float64) Ref {
	r := Ref(len(f.extra) + 1) // below all constants of traces
	f.extra[r] = n
	return r
}

// fold computes an instruction of constants, or one that changes nothing.
func (f *folder) fold(i Instruction) (Ref, bool) {
	const most = 1 << 10 // below the constants of any trace that is not full
	a, left := f.number(i.Op1)
	b, right := f.number(i.Op2)
	if len(f.extra) >= most {
		return 0, false
	}
	switch {
	case i.Op == CONV && left && i.Op1.constant():
		return i.Op1, true
	case !left && right && b == 1 && (i.Op == MUL || i.Op == DIV):
		return i.Op1, true
	case !left || !right:
		return 0, false
	}
	switch i.Op {
	case ADD, ADDOV:
		return f.constant(a + b), true
	case SUB, SUBOV:
		return f.constant(a - b), true
	case MUL, MULOV:
		return f.constant(a * b), true
	case DIV:
		return f.constant(a / b), true
	case MIN:
		return f.constant(math.Min(a, b)), true
	case MAX:
		return f.constant(math.Max(a, b)), true
	}
	return 0, false
}

// cheaper is what LuaJIT makes of a division by a constant, or of a multiplication by two.
func (f *folder) cheaper(i Instruction) (Instruction, bool) {
	n, ok := f.number(i.Op2)
	switch {
	case ok && i.Op == DIV:
		i.Op, i.Op2 = MUL, f.constant(1/n)
	case ok && i.Op == MUL && n == 2:
		i.Op, i.Op2 = ADD, i.Op1
	default:
		return i, false
	}
	return i, true
}

// same reports that two references are one, or the same number.
func (f *folder) same(a, b Ref) bool {
	if a == b {
		return true
	}
	if !a.constant() || !b.constant() {
		return false
	}
	left, ok := f.number(a)
	right, and := f.number(b)
	return ok && and && left == right
}
