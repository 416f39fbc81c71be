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
	arguments := w.arguments(ins)
	if function := w.callable(called); function != 0 && arguments != nil { // which gets the object as its first argument
		arguments = append([]value{called}, arguments...)
		for i, v := range arguments {
			w.slots[a+2+i] = v
		}
		called = value{bits: function, object: true}
	}
	from := w.cursor
	next := w.callee(called, a, pc, tail)
	if next != nil && next.proto.Vararg && arguments == nil && next.base == a+2 { // how many arguments it has is not known
		w.steps[len(w.steps)-1].into = true
		next = nil
	}
	w.multiple = 0
	if next == nil {
		function := w.functionOf(called)
		result, ok := w.typeOf(function, arguments)
		if !ok {
			result = w.boxed(w.builtin(w.source.Builtin(function), arguments, from))
		}
		name := w.source.Builtin(function)
		if single(name, len(arguments)) {
			w.multiple = 1
		}
		w.forget(a)
		switch w.slots[a] = result; name {
		case "next":
			w.nextPair(a)
		case "select":
			w.selected(a, arguments)
		}
		if tail {
			return w.leave(nil)
		}
		return p.First + 4*uint64(n+1), n+1 < len(p.Code)
	}
	at := a + 2
	if tail {
		at = w.in.base - w.in.above
		w.tail(next, at, a)
	}
	if next.proto.Vararg && !next.protected {
		w.spread(next, at, len(arguments))
	}
	w.steps[len(w.steps)-1].may = operands // its guard is known
	w.may = operands
	w.in = next
	return next.proto.First + 4, len(next.proto.Code) > 1
}

// arguments are those of a call; nil: it is not known how many there are.
func (w *walker) arguments(ins uint32) []value {
	count := bcC(ins) - 1
	switch bcOp(ins) {
	case bcCALLT:
		count = bcD(ins) - 1
	case bcCALLM:
		count = bcC(ins) + w.multiple
	case bcCALLMT:
		count = bcD(ins) + w.multiple
	}
	if op := bcOp(ins); op == bcITERC || (op == bcCALLM || op == bcCALLMT) && w.multiple == 0 {
		return nil
	}
	all := []value{}
	for i := range count {
		all = append(all, w.read(bcA(ins)+2+i))
	}
	return all
}

// tail puts a function in the place of the one that runs, whose arguments began at a slot.
func (w *walker) tail(next *activation, at, a int) {
	next.base, next.caller, next.call, next.depth, next.protected = at, w.in.caller, w.in.call, w.in.depth, w.in.protected
	moved := map[int]value{}
	for s, v := range w.slots {
		switch {
		case s < at:
			moved[s] = v
		case s >= a+2:
			moved[s-a-2+at] = v
		}
	}
	w.slots = moved
}

// spread moves the base of a function with any number of arguments above these, and its parameters with it.
func (w *walker) spread(next *activation, at, count int) {
	if next.base > at { // as a snapshot has it
		count = next.base - at - 2
	}
	next.base, next.above = at+count+2, count+2
	for i := range next.proto.Parameters {
		w.slots[next.base+i] = value{absent: true}
		if i < count {
			w.slots[next.base+i] = w.slots[at+i]
		}
	}
	for i := next.proto.Parameters; i < count; i++ {
		next.rest = append(next.rest, w.slots[at+i])
	}
}

// vararg records `...`: all of it, or as many values as are wanted.
func (w *walker) vararg(ins uint32) {
	wanted := bcB(ins) - 1
	w.forget(w.in.base + bcA(ins))
	w.multiple = 0
	if w.in.above == 0 {
		return
	}
	if wanted < 0 {
		wanted = len(w.in.rest)
		w.multiple = wanted
	}
	for i := range wanted {
		v := value{absent: true}
		if i < len(w.in.rest) {
			v = w.in.rest[i]
		}
		w.slots[w.in.base+bcA(ins)+i] = v
	}
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
	if own := protecting[w.source.Builtin(function)]; own > 0 && !tail && w.protect(next, own) {
		return next
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
	return next
}

// protecting are how many arguments of their own functions have that call their first one.
var protecting = map[string]int{"pcall": 1, "xpcall": 2}

// protect enters the function that pcall calls, or xpcall, which has one argument more of its own. The others are one slot further up
// than theirs.
func (w *walker) protect(next *activation, own int) bool {
	called := w.slots[next.base]
	function, proto := w.guardOf(called)
	if function == 0 && proto == 0 {
		function, proto = w.guardBefore(called)
	}
	if function == 0 && proto == 0 && called.object {
		function = called.bits & pointerMask
	}
	if function != 0 {
		proto = w.source.Lua(function)
	}
	p := w.source.Proto(proto)
	if proto == 0 || p == nil || p.Vararg {
		return false
	}
	at := next.base + own
	var arguments []value
	for v, ok := w.slots[at]; ok; v, ok = w.slots[at] {
		arguments = append(arguments, v)
		at++
	}
	next.proto, next.function, next.base, next.protected = p, function, next.base+own+1, true
	w.forget(next.base - 1)
	for i, v := range arguments {
		w.slots[next.base+i] = v
	}
	return true
}

// functionOf is the function that is called; 0: that is not known.
func (w *walker) functionOf(called value) uint64 {
	function, _ := w.guardBefore(called)
	if function == 0 && called.object && !called.cdata {
		function = called.bits & pointerMask
	}
	return function
}

// typeOf is what type() returns, which emits nothing: the trace knows the type of its argument.
func (w *walker) typeOf(function uint64, arguments []value) (value, bool) {
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

// foreign reports that a call is one of C, through FFI.
func (w *walker) foreign(called value) bool {
	if i, ok := w.t.At(called.ref); ok && called.ref != 0 {
		return i.kind() == typeCData
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
		if count = 0; w.multiple > 0 {
			count = bcD(ins) + w.multiple
		}
	}
	for i := range count {
		results = append(results, w.read(bcA(ins)+i))
	}
	return w.leave(results)
}

// leave goes back to the caller, or to a lower frame, for which the trace has a guard.
func (w *walker) leave(results []value) (uint64, bool) {
	if w.in.caller == nil {
		if s, ok := w.snapshot(); ok && w.here(s) {
			w.passes(s, true)
		}
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
	if bcOp(w.in.proto.Code[n]) <= bcISNEP {
		return w.compared(called.call, results)
	}
	if called.protected {
		results = append([]value{{truth: typeTrue}}, results...)
	}
	for i, v := range results {
		w.slots[a+i] = v
	}
	w.multiple = len(results)
	return called.call + 4, w.in.proto.contains(called.call + 4)
}
