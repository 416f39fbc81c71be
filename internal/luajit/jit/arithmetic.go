package jit

import "math"

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
	if v, ok := w.folded(kind, left, right); ok {
		return v
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

// folded computes what LuaJIT computes at once: the sum, difference, product or quotient of two constants.
func (w *walker) folded(kind int, left, right value) (value, bool) {
	a, ok := w.constant(left)
	b, and := w.constant(right)
	switch {
	case !ok || !and:
	case kind == 0:
		return number(a + b), true
	case kind == 1:
		return number(a - b), true
	case kind == 2:
		return number(a * b), true
	case kind == 3:
		return number(a / b), true
	}
	return value{}, false
}

// overloaded notes that an instruction may have looked for a metamethod, or worked on C data: then it may have emitted anything.
func (w *walker) overloaded(calls bool, all ...value) {
	for _, v := range all {
		i, ok := w.t.At(v.ref)
		if v.cdata {
			w.steps[len(w.steps)-1].may, w.may = everything, everything
		} else if ok && v.ref != 0 && i.kind() >= typeCData && i.kind() <= typeUserdata {
			w.steps[len(w.steps)-1].may, w.may = everything, everything
			w.steps[len(w.steps)-1].into = calls && i.kind() != typeCData
			if calls {
				w.overload = overload{object: v, arguments: all}
			}
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
