package jit

// branch finds the guard of a branch between two instructions. Its snapshot leads to the one that was not taken.
func (w *walker) branch(one, two int, wanted opSet, evidence func(Instruction) int) (uint64, bool) {
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
				of, ok := w.t.At(i.Op1)
				parts := ok && (of.Op == XLOAD && wanted.has(EQ) || of.Op == CALLN && wanted.has(LT)) // of strings
				if evidence(i) == other && !parts {
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
	return 0, false
}

// explained reports that all up to an instruction can have been emitted.
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
	kind, known := w.kindOf(v)
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
	end := w.read(bcA(ins) + 1)
	if op := bcOp(ins); op >= bcFORL {
		idx := w.read(bcA(ins))
		next, folded := w.folded(0, idx, w.read(bcA(ins)+2))
		if !folded {
			next = w.find(ops(ADD, ADDOV), idx, value{})
		}
		w.slots[w.in.base+bcA(ins)], w.slots[w.in.base+bcA(ins)+3] = next, next
		return w.loopGuard(n+1+jump, n+1, next, end, w.read(bcA(ins)+2))
	}
	idx := w.read(bcA(ins))
	w.slots[w.in.base+bcA(ins)+3] = idx
	return w.loopGuard(n+1, n+1+jump, idx, end, w.read(bcA(ins)+2))
}

// loopGuard finds whether a numeric loop goes on.
func (w *walker) loopGuard(on, out int, idx, end, step value) (uint64, bool) {
	if next, ok := w.branch(on, out, ops(LE, GE, LT, GT), func(i Instruction) int { return w.pairEither(i, idx, end) }); ok {
		return next, true
	}
	by, ok := w.constant(step)
	goes := less | equal
	if by < 0 {
		goes = greater | equal
	}
	if holds, decided := w.relation(idx, end).decides(goes); ok && decided {
		next := out
		if holds {
			next = on
		}
		return w.in.proto.First + 4*uint64(int64(next)), next >= 0 && next < len(w.in.proto.Code)
	}
	return w.choose(on, out)
}

// loopStart records what a trace that begins with a numeric loop checks first: its index, end and step, which lie from a slot on.
func (w *walker) loopStart(from int) {
	for limit := w.limit(); w.cursor < limit; {
		i := w.t.IR[w.cursor-Bias]
		slot := int(i.Op1)
		switch {
		case i.Op == SLOAD && slot >= from && slot < from+3:
			w.slots[slot] = value{ref: w.cursor}
			if slot == from {
				w.slots[from+3] = w.slots[slot]
			}
		case i.guard() && (i.Op == LE || i.Op == GE || i.Op == LT || i.Op == GT) && w.known[i.Op1] == 0 && i.Op1 < w.cursor && i.Op1 > Bias:
		case i.Op == ADDOV || i.Op == CONV || i.Op == USE:
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
	case a >= 0 && b >= 0: // what the next steps have emitted does not tell
		w.unsure = true
	}
	switch {
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

// leads reports whether an instruction of the current function is where a snapshot was made, or what leads into or out of the function
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
