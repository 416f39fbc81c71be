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

// call records a call: of a function whose bytecode is recorded next, or of one that is not Lua's.
func (w *walker) call(ins uint32, n int, tail bool) (uint64, bool) {
	p := w.in.proto
	a := w.in.base + bcA(ins)
	pc := p.First + 4*uint64(n)
	if bcOp(ins) == bcITERC {
		for i := range 3 {
			w.slots[a+i] = w.read(bcA(ins) - 3 + i)
		}
	}
	called := w.read(bcA(ins))
	if bcOp(ins) == bcCALL || bcOp(ins) == bcCALLT {
		count := bcC(ins)
		if tail {
			count = bcD(ins)
		}
		for i := 1; i < count; i++ {
			w.read(bcA(ins) + 1 + i)
		}
	}
	next := w.callee(called, a, pc, tail)
	if next == nil {
		var arguments []value
		for i := 1; i < bcC(ins) && bcOp(ins) == bcCALL; i++ {
			arguments = append(arguments, w.read(bcA(ins)+1+i))
		}
		result := w.builtin(arguments)
		w.forget(a - 1)
		w.slots[a] = result
		if tail {
			return w.leave(nil)
		}
		return p.First + 4*uint64(n+1), n+1 < len(p.Code)
	}
	if tail {
		next.base, next.caller, next.call, next.depth = w.in.base, w.in.caller, w.in.call, w.in.depth
		moved := map[int]value{}
		for s, v := range w.slots {
			switch {
			case s < w.in.base:
				moved[s] = v
			case s >= a+2:
				moved[s-a-2+w.in.base] = v
			}
		}
		w.slots = moved
	}
	w.steps[len(w.steps)-1].may = operands // its guard is known
	w.may = operands
	w.in = next
	return next.proto.First + 4, len(next.proto.Code) > 1
}

// callee is the function of Lua that a call enters; nil: it enters none, or none that is known.
func (w *walker) callee(called value, a int, pc uint64, tail bool) *activation {
	next := &activation{base: a + 2, caller: w.in, call: pc, depth: w.in.depth + 1}
	if f, ok := w.deeper(pc); ok && !tail && f.Slot >= next.base {
		if p := w.source.Proto(w.protoOf(f)); p != nil {
			next.proto, next.function, next.base = p, f.Function, f.Slot
			w.guardOf(called)
			return next
		}
	}
	function, proto := w.guardOf(called)
	if function == 0 && proto == 0 {
		function, proto = w.guardBefore(called)
	}
	if function == 0 && proto == 0 && called.object {
		function = called.bits & pointerMask
	}
	if function != 0 {
		proto = w.source.Lua(function)
	} else if proto == 0 {
		w.steps[len(w.steps)-1].into = !w.foreign(called) // of whatever function
	}
	p := w.source.Proto(proto)
	if proto == 0 || p == nil {
		return nil
	}
	next.proto, next.function = p, function
	if ins := w.in.proto.Code[w.in.proto.index(pc)]; p.Vararg && !tail {
		if bcOp(ins) != bcCALL { // how many arguments it has is not known
			w.steps[len(w.steps)-1].into = true
			return nil
		}
		next.base += bcC(ins) - 1 + 2
	}
	return next
}

// builtin finds what a function of LuaJIT's own has computed of its arguments, where that is one instruction.
func (w *walker) builtin(arguments []value) value {
	if w.steps[len(w.steps)-1].into {
		return value{}
	}
	return w.findBy(computed, func(i Instruction) int {
		for _, v := range arguments {
			if v.ref != 0 && (w.is(i.Op1, v) == same || definitions[i.Op].refs[1] && w.is(i.Op2, v) == same) {
				return same
			}
		}
		return other
	})
}

// foreign tells that a call is one of C, through FFI.
func (w *walker) foreign(called value) bool {
	const cdata = 10
	if i, ok := w.t.At(called.ref); ok && called.ref != 0 {
		return i.kind() == cdata
	}
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		if w.t.IR[r-Bias].Op == CALLXS {
			w.anchor(r)
			return true
		}
	}
	return false
}

// guardBefore is the same where the trace has made sure of it earlier.
func (w *walker) guardBefore(called value) (function, proto uint64) {
	if called.ref <= Bias {
		return 0, 0
	}
	for r := First; r < w.cursor; r++ {
		i := w.t.IR[r-Bias]
		c := w.t.Constants[i.Op2]
		switch load, ok := w.t.At(i.Op1); {
		case i.Op == EQ && i.Op1 == called.ref && c.Op == KGC && i.kind() == typeFunc:
			return c.Value & pointerMask, 0
		case i.Op == EQ && ok && load.Op == FLOAD && load.Op1 == called.ref && c.Op == KPTR:
			return 0, c.Value - protoSize
		}
	}
	return 0, 0
}

// deeper is the frame above the current one in the next snapshot, where the instruction has called it.
func (w *walker) deeper(pc uint64) (Frame, bool) {
	s, ok := w.snapshot()
	if !ok || len(s.Frames) <= w.in.depth {
		return Frame{}, false
	}
	f := s.Frames[w.in.depth]
	call, ok := f.called()
	return f, ok && call == pc
}

// protoOf is the prototype of a frame's function.
func (w *walker) protoOf(f Frame) uint64 {
	if f.Function == 0 {
		return w.guarded(f.Computed)
	}
	return w.source.Lua(f.Function)
}

// metamethod enters the function that an instruction has called which is no call.
func (w *walker) metamethod() bool {
	f, ok := w.deeper(w.pc)
	if !ok {
		return false
	}
	p := w.source.Proto(w.protoOf(f))
	if p == nil {
		return false
	}
	w.steps[len(w.steps)-1].may = everything
	w.may = everything
	w.in = &activation{proto: p, function: f.Function, base: f.Slot, caller: w.in, call: w.pc, depth: w.in.depth + 1}
	w.forget(f.Slot)
	return true
}

// guardOf is the function, or the prototype, that the trace has made sure a value is.
func (w *walker) guardOf(called value) (function, proto uint64) {
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		c := w.t.Constants[i.Op2]
		switch load, ok := w.t.At(i.Op1); {
		case i.Op == EQ && i.kind() == typeFunc && c.Op == KGC && w.is(i.Op1, called) != other:
			w.anchor(r)
			return c.Value & pointerMask, 0
		case i.Op == EQ && ok && load.Op == FLOAD && c.Op == KPTR && w.is(load.Op1, called) != other:
			w.anchor(r)
			return 0, c.Value - protoSize
		}
		if !operands.and(ops(EQ, FLOAD)).has(i.Op) {
			return 0, 0
		}
	}
	return 0, 0
}

// ret records a return.
func (w *walker) ret(ins uint32) (uint64, bool) {
	var results []value
	count := bcD(ins) - 1
	if bcOp(ins) == bcRETM {
		count = 0
	}
	for i := range count {
		results = append(results, w.read(bcA(ins)+i))
	}
	return w.leave(results)
}

// leave goes back to the caller, or to a lower frame, for which the trace has a guard.
func (w *walker) leave(results []value) (uint64, bool) {
	if w.in.caller == nil {
		for r := w.cursor; r < w.end; r++ {
			i := w.t.IR[r-Bias]
			if i.Op != RETF {
				if !w.may.has(i.Op) {
					break
				}
				continue
			}
			p := w.source.Proto(w.t.Constants[i.Op1].Value & pointerMask)
			back := w.t.Constants[i.Op2].Value
			if p == nil || !p.contains(back) {
				return 0, false
			}
			w.anchor(r)
			w.in = &activation{proto: p, base: w.in.base}
			w.slots, w.loads = map[int]value{}, map[int]Ref{}
			for later := r; later < w.end; later++ {
				if load := w.t.IR[later-Bias]; load.Op == SLOAD {
					w.loads[int(load.Op1)] = later
				}
			}
			return back, true
		}
		return 0, false
	}
	called := w.in
	w.forget(called.base - 2)
	w.in = called.caller
	n := w.in.proto.index(called.call)
	a := w.in.base + bcA(w.in.proto.Code[n])
	for i, v := range results {
		w.slots[a+i] = v
	}
	return called.call + 4, w.in.proto.contains(called.call + 4)
}
