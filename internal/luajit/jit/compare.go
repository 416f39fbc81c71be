package jit

import "math"

// compare records a comparison and the jump behind it. Its guard is left for the way that was not taken.
func (w *walker) compare(ins uint32, n int) (uint64, bool) {
	left, right := w.read(bcA(ins)), value{}
	op := bcOp(ins)
	switch {
	case op < bcISEQV+2:
		right = w.read(bcD(ins))
	case op < bcISEQV+4:
		right = w.object(bcD(ins))
	case op < bcISEQV+6:
		right = w.numberOf(bcD(ins))
	}
	p := w.in.proto
	if n+1 >= len(p.Code) {
		return 0, false
	}
	if w.overloadedComparison(left, right, op) {
		return w.in.proto.First + 4, len(w.in.proto.Code) > 1
	}
	wanted := ops(EQ, NE)
	if op < bcISEQV {
		wanted = ops(LT, GE, LE, GT, ULT, UGE, ULE, UGT)
	}
	one, two := n+2, n+2+bcJump(p.Code[n+1])
	if next, ok := w.branch(one, two, wanted, func(i Instruction) int { return w.pairEither(i, left, right) }); ok {
		return next, true
	}
	known := w.relation(left, right)
	if op >= bcISNEP-1 {
		known = w.primitive(left, bcD(ins))
	}
	if jumps, ok := known.decides(condition(op)); ok {
		next := one
		if jumps {
			next = two
		}
		return p.First + 4*uint64(int64(next)), next >= 0 && next < len(p.Code)
	}
	return w.choose(one, two)
}

// pairEither is the evidence of a comparison's operands, which may have been swapped.
func (w *walker) pairEither(i Instruction, left, right value) int {
	return max(sumUp(w.is(i.Op1, left), w.is(i.Op2, right)), sumUp(w.is(i.Op1, right), w.is(i.Op2, left)))
}

// A relation is how two values may compare.
type relation uint8

const (
	less relation = 1 << iota
	equal
	greater
	unordered
	anyhow = less | equal | greater | unordered
)

// condition is when a comparison of the bytecode jumps.
func condition(op int) relation {
	switch {
	case op == bcISLT:
		return less
	case op == bcISGE:
		return anyhow &^ less
	case op == bcISLE:
		return less | equal
	case op == bcISGT:
		return anyhow &^ (less | equal)
	case op&1 == 0:
		return equal
	}
	return anyhow &^ equal
}

// decides reports whether a condition holds.
func (r relation) decides(condition relation) (holds, ok bool) {
	switch {
	case r != 0 && r&^condition == 0:
		return true, true
	case r&condition == 0:
		return false, r != 0
	}
	return false, false
}

// guarded is what a guard of the trace makes sure of.
func (i Instruction) guarded() relation {
	switch i.Op {
	case LT:
		return less
	case GE:
		return greater | equal
	case LE:
		return less | equal
	case GT:
		return greater
	case ULT:
		return less | unordered
	case UGE:
		return greater | equal | unordered
	case ULE:
		return less | equal | unordered
	case UGT:
		return greater | unordered
	case EQ:
		return equal
	case NE:
		return anyhow &^ equal
	}
	return anyhow
}

// swapped is the relation of the same values in the other order.
func (r relation) swapped() relation {
	return r&(equal|unordered) | r&less<<2 | r&greater>>2
}

// relation is what constants, types and guards up to now tell of two values: where that decides a comparison, no guard was emitted.
func (w *walker) relation(left, right value) relation {
	known := anyhow
	a, constant := w.constant(left)
	if b, ok := w.constant(right); ok && constant {
		return compareNumbers(a, b)
	}
	if left.object && right.object {
		if left.bits&pointerMask == right.bits&pointerMask {
			return equal
		}
		return anyhow &^ equal
	}
	if one, ok := w.kindOf(left); ok {
		if two, ok := w.kindOf(right); ok && one != two && min(one, two) < typeNum-1 {
			known = anyhow &^ equal
		}
	}
	for r := First; r < w.cursor; r++ {
		i := w.t.IR[r-Bias]
		if !i.guard() || !comparing(i.Op) {
			continue
		}
		const both = 2 * same
		if sumUp(w.is(i.Op1, left), w.is(i.Op2, right)) == both {
			known &= i.guarded()
		}
		if sumUp(w.is(i.Op1, right), w.is(i.Op2, left)) == both {
			known &= i.guarded().swapped()
		}
	}
	return known
}

// primitive is how a value compares with nil, false or true: by its type, which the trace knows.
func (w *walker) primitive(v value, with int) relation {
	kind, ok := w.kindOf(v)
	switch {
	case !ok:
		return anyhow
	case int(kind) == with:
		return equal
	}
	return anyhow &^ equal
}

func compareNumbers(a, b float64) relation {
	switch {
	case a < b:
		return less
	case a == b:
		return equal
	case a > b:
		return greater
	}
	return unordered
}

// constant is the number that a value is.
func (w *walker) constant(v value) (float64, bool) {
	if v.number {
		return math.Float64frombits(v.bits), true
	}
	c, ok := w.t.Constants[v.ref]
	if !ok || v.ref == 0 || c.Op != KINT && c.Op != KNUM {
		return 0, false
	}
	return w.t.float(c), true
}

// kindOf is a value's type, of which the numbers are two.
func (w *walker) kindOf(v value) (kind uint8, ok bool) {
	if i, ok := w.t.At(v.ref); ok && v.ref != 0 {
		return i.kind(), true
	}
	if c, ok := w.t.Constants[v.ref]; ok && v.ref != 0 {
		return c.kind(), true
	}
	switch {
	case v.cdata:
		return typeCData, true
	case v.truth != 0:
		return v.truth, true
	case v.number:
		return typeNum, true
	case v.object && w.texts[v.bits]:
		return typeStr, true
	case v.object:
		for _, c := range w.t.Constants {
			if c.Op == KGC && c.Value&pointerMask == v.bits&pointerMask {
				return c.kind(), true
			}
		}
	}
	return v.kind, v.absent || v.kind != typeNil
}
