package jit

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
	var arguments []value
	if bcOp(ins) == bcCALL || bcOp(ins) == bcCALLT {
		count := bcC(ins)
		if tail {
			count = bcD(ins)
		}
		for i := 1; i < count; i++ {
			arguments = append(arguments, w.read(bcA(ins)+1+i))
		}
	}
	from := w.cursor
	next := w.callee(called, a, pc, tail)
	if next == nil {
		result, ok := w.typeOf(called, arguments)
		if !ok {
			result = w.builtin(arguments, from)
		}
		w.forget(a)
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
	function, proto := w.guardOf(called)
	if function == 0 && proto == 0 {
		function, proto = w.guardBefore(called)
	}
	if function == 0 && proto == 0 && called.object {
		function = called.bits & pointerMask
	}
	if f, ok := w.deeper(pc); ok && !tail && f.Slot >= next.base && (function == 0 && proto == 0 || function != 0 && function == f.Function) {
		if p := w.source.Proto(w.protoOf(f)); p != nil { // else a tail call has put another function there since
			next.proto, next.function, next.base = p, f.Function, f.Slot
			return next
		}
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

// typeOf is what type() returns, which emits nothing: the trace knows the type of its argument.
func (w *walker) typeOf(called value, arguments []value) (value, bool) {
	function, _ := w.guardBefore(called)
	if function == 0 && called.object {
		function = called.bits & pointerMask
	}
	if function == 0 || len(arguments) == 0 {
		return value{}, false
	}
	kind, ok := w.kindOf(arguments[0])
	if !ok {
		return value{}, false
	}
	name := w.source.TypeName(function, int(min(kind, typeNum-1)))
	w.texts[name] = true
	return value{bits: name, object: true}, name != 0
}

// builtin finds what a function of LuaJIT's own, or of C, has computed of its arguments, where that is one instruction. from is the
// first that it may have emitted.
func (w *walker) builtin(arguments []value, from Ref) value {
	if w.steps[len(w.steps)-1].into {
		return value{}
	}
	result := w.findBy(computed, func(i Instruction) int {
		if i.Op == SNEW { // a part of a string
			if part, ok := w.t.At(i.Op1); ok && part.Op == STRREF {
				i = Instruction{Op: FPMATH, Op1: part.Op1}
			}
		}
		for _, v := range arguments {
			if v.ref != 0 && (w.is(i.Op1, v) == same || definitions[i.Op].refs[1] && w.is(i.Op2, v) == same) {
				return same
			}
		}
		return other
	})
	if !result.known() {
		result.since = from
	}
	return result
}

// foreign reports that a call is one of C, through FFI.
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
			w.slots = map[int]value{}
			w.loadsFrom(r + 1)
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
