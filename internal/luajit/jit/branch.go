package jit

// compare records a comparison and the jump behind it. Its guard is left for the way that was not taken.
func (w *walker) compare(ins uint32, n int) (uint64, bool) {
	left, right := w.read(bcA(ins)), value{}
	switch op := bcOp(ins); {
	case op < bcISEQV+2:
		right = w.read(bcD(ins))
	case op < bcISEQV+4:
		right = w.object(bcD(ins))
	case op < bcISEQV+6:
		right = w.numberOf(bcD(ins))
	}
	p := w.in.proto
	if n+2 >= len(p.Code)+1 || n+1 >= len(p.Code) {
		return 0, false
	}
	wanted := ops(EQ, NE)
	if bcOp(ins) < bcISEQV {
		wanted = ops(LT, GE, LE, GT, ULT, UGE, ULE, UGT)
	}
	return w.guardAt(n+2, n+2+bcJump(p.Code[n+1]), wanted, func(i Instruction) int { return w.pairEither(i, left, right) })
}

// pairEither is the evidence of a comparison's operands, which may have been swapped.
func (w *walker) pairEither(i Instruction, left, right value) int {
	return max(sumUp(w.is(i.Op1, left), w.is(i.Op2, right)), sumUp(w.is(i.Op1, right), w.is(i.Op2, left)))
}

// guardAt finds the guard of a branch between two instructions. Its snapshot leads to the one that was not taken.
func (w *walker) guardAt(one, two int, wanted opSet, evidence func(Instruction) int) (uint64, bool) {
	p := w.in.proto
	if one < 0 || two < 0 || one >= len(p.Code) || two >= len(p.Code) {
		return 0, false
	}
	first, second := p.First+4*uint64(one), p.First+4*uint64(two)
	s, ok := w.snapshot()
	if ok && (s.PC == first || s.PC == second) && s.Base+2 == w.in.base && w.explained(s.Ref) {
		for r := s.Ref; r < min(w.end, s.Ref+8); r++ {
			i := w.t.IR[r-Bias]
			if wanted.has(i.Op) && i.guard() {
				if load, ok := w.t.At(i.Op1); evidence(i) == other && !(ok && load.Op == XLOAD && wanted.has(EQ)) {
					break
				}
				w.passes(s, true)
				w.anchor(r)
				if s.PC == first {
					return second, true
				}
				return first, true
			}
			if !compared.and(ops(XLOAD, FLOAD, HREF, STRREF)).has(i.Op) {
				break
			}
		}
	}
	return w.choose(one, two)
}

// explained tells that all up to an instruction can have been emitted.
func (w *walker) explained(r Ref) bool {
	for i := w.cursor; i < r; i++ {
		if !w.may.has(w.t.IR[i-Bias].Op) {
			return false
		}
	}
	return true
}

// test records a test for what is true: the types in a trace are known, so there is no guard.
func (w *walker) test(ins uint32, n int) (uint64, bool) {
	v := w.read(bcD(ins))
	op := bcOp(ins)
	if op == bcISTC || op == bcISFC {
		w.slots[w.in.base+bcA(ins)] = v
	}
	p := w.in.proto
	if n+1 >= len(p.Code) {
		return 0, false
	}
	one, two := n+2, n+2+bcJump(p.Code[n+1])
	kind, known := uint8(0), false
	if i, ok := w.t.At(v.ref); ok && v.ref != 0 {
		kind, known = i.kind(), true
	} else if c, ok := w.t.Constants[v.ref]; ok && v.ref != 0 {
		kind, known = c.kind(), true
	} else if v.number || v.object {
		kind, known = typeNum, true
	}
	if !known || one < 0 || two < 0 || one >= len(p.Code) || two >= len(p.Code) {
		return w.choose(one, two)
	}
	isTrue := kind > typeFalse
	if jumps := (op == bcISTC || op == bcIST) == isTrue; jumps {
		return p.First + 4*uint64(two), true
	}
	return p.First + 4*uint64(one), true
}

// loopStep records the head or the end of a numeric loop.
func (w *walker) loopStep(ins uint32, n int) (uint64, bool) {
	jump := bcJump(ins)
	if op := bcOp(ins); op >= bcFORL {
		idx := w.read(bcA(ins))
		next := w.find(ops(ADD, ADDOV), idx, value{})
		w.slots[w.in.base+bcA(ins)], w.slots[w.in.base+bcA(ins)+3] = next, next
		return w.guardAt(n+1, n+1+jump, ops(LE, GE, LT, GT), func(i Instruction) int { return w.is(i.Op1, next) })
	}
	idx := w.read(bcA(ins))
	w.read(bcA(ins) + 1)
	w.read(bcA(ins) + 2)
	w.slots[w.in.base+bcA(ins)+3] = idx
	return w.guardAt(n+1, n+1+jump, ops(LE, GE, LT, GT), func(i Instruction) int { return w.is(i.Op1, idx) })
}

// loopStart records what a trace that begins with a numeric loop checks first: its index, end and step, which lie from a slot on.
func (w *walker) loopStart(from int) {
	for w.cursor < w.end {
		i := w.t.IR[w.cursor-Bias]
		slot := int(i.Op1)
		switch {
		case i.Op == SLOAD && slot >= from && slot < from+3:
			w.slots[slot] = value{ref: w.cursor}
			if slot == from {
				w.slots[from+3] = w.slots[slot]
			}
		case i.guard() && (i.Op == LE || i.Op == GE || i.Op == LT || i.Op == GT) && w.known[i.Op1] == 0 && i.Op1 < w.cursor && i.Op1 > Bias:
		case i.Op == ADDOV || i.Op == CONV:
		default:
			return
		}
		w.known[w.cursor] = 0
		w.cursor++
	}
}

// choose takes the one of two ways that leads to the next snapshot.
func (w *walker) choose(one, two int) (uint64, bool) {
	p := w.in.proto
	s, ok := w.snapshot()
	if !ok {
		return 0, false
	}
	a, b := w.distance(one, s), w.distance(two, s)
	switch {
	case a < 0 && b < 0:
		return 0, false
	case b < 0 || a >= 0 && a < b:
		return p.First + 4*uint64(one), true
	case a < 0 || b < a:
		return p.First + 4*uint64(two), true
	}
	return 0, false
}

// distance is the least number of instructions to where a snapshot was made; -1: none of the next ones lead there.
func (w *walker) distance(from int, s Snapshot) int {
	const most = 256
	p := w.in.proto
	seen := map[int]bool{}
	level := []int{from}
	for far := 0; far < most && len(level) > 0; far++ {
		var next []int
		for _, n := range level {
			if n < 0 || n >= len(p.Code) || seen[n] {
				continue
			}
			seen[n] = true
			if w.leads(n, s) {
				return far
			}
			ins := p.Code[n]
			switch op := bcOp(ins); {
			case op >= bcRETM && op <= bcRET1, op == bcCALLMT, op == bcCALLT:
			case op <= bcISF && op != bcISTYPE:
				next = append(next, n+2)
				if n+1 < len(p.Code) {
					next = append(next, n+2+bcJump(p.Code[n+1]))
				}
			case op == bcJMP, op == bcUCLO, op == bcISNEXT:
				next = append(next, n+1+bcJump(ins))
			case op >= bcFORI && op <= bcITERL+2:
				next = append(next, n+1, n+1+bcJump(ins))
			default:
				next = append(next, n+1)
			}
		}
		level = next
	}
	return -1
}

// leads tells whether an instruction of the current function is where a snapshot was made, or what leads into or out of the function
// in which it was.
func (w *walker) leads(n int, s Snapshot) bool {
	pc := w.in.proto.First + 4*uint64(n)
	op := bcOp(w.in.proto.Code[n])
	depth := len(s.Frames)
	switch {
	case depth == w.in.depth:
		return s.PC == pc
	case depth < w.in.depth:
		return op >= bcRETM && op <= bcRET1 || op == bcCALLMT || op == bcCALLT
	}
	call, ok := s.Frames[w.in.depth].called()
	return ok && call == pc
}
