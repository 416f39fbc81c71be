package jit

// An overload is what an instruction that is no call may have called a metamethod for: the object, and the arguments.
type overload struct {
	object    value
	arguments []value
	result    value // what was found without one
}

// metamethod enters the function that an instruction has called which is no call.
func (w *walker) metamethod() bool {
	next := &activation{caller: w.in, call: w.pc, depth: w.in.depth + 1}
	f, ok := w.deeper(w.pc)
	next.function = w.overloader()
	if ok && (next.function == 0 || next.function == f.Function) { // else a tail call has put another function there since
		next.proto, next.function, next.base = w.source.Proto(w.protoOf(f)), f.Function, f.Slot
	} else if ok = false; next.function != 0 {
		const continuation, frame = 2, 2 // slots
		next.proto, next.base = w.source.Proto(w.source.Lua(next.function)), w.in.base+w.in.proto.Slots+continuation+frame
	}
	if next.proto == nil || len(next.proto.Code) == 0 {
		return false
	}
	if !ok && next.proto.Vararg {
		return false
	}
	if ok { // whatever it took to find it
		w.steps[len(w.steps)-1].may, w.may = everything, everything
	}
	w.in = next
	w.forget(next.base)
	for n, v := range w.overload.arguments {
		w.slots[next.base+n] = v
	}
	w.overload = overload{}
	return true
}

// overloadedComparison enters the metamethod that compares two objects.
func (w *walker) overloadedComparison(left, right value, op int) bool {
	one, ok := w.kindOf(left)
	two, and := w.kindOf(right)
	if !ok || !and || one != two || one != typeTab && one != typeUserdata || op > bcISEQV+1 {
		return false
	}
	w.overload = overload{object: left, arguments: []value{left, right}}
	return w.metamethod()
}

// callable is the metamethod by which an object is called; 0: it has none that is known.
func (w *walker) callable(called value) uint64 {
	if kind, ok := w.kindOf(called); !ok || kind != typeTab && kind != typeUserdata {
		return 0
	}
	w.overload = overload{object: called}
	function := w.overloader()
	w.overload = overload{}
	return function
}

// compared is where the way goes on behind a comparison, when its metamethod has returned.
func (w *walker) compared(call uint64, results []value) (uint64, bool) {
	p := w.in.proto
	n := p.index(call)
	if n+1 >= len(p.Code) {
		return 0, false
	}
	one, two := n+2, n+2+bcJump(p.Code[n+1])
	if len(results) == 0 {
		results = []value{{absent: true}}
	}
	kind, ok := w.kindOf(results[0])
	if !ok {
		return w.choose(one, two)
	}
	next := one
	if jumps := bcOp(p.Code[n])&1 == 0; (kind > typeFalse) == jumps {
		next = two
	}
	return p.First + 4*uint64(int64(next)), next >= 0 && next < len(p.Code)
}

// overloader is the metamethod of the current step's object that the trace has made sure of: now, or earlier for the same object
// and the same kind of instruction. 0: it calls none.
func (w *walker) overloader() uint64 {
	o := w.overload
	if o.object.ref <= Bias || o.result.known() {
		return 0
	}
	at := field{o.object, value{bits: uint64(bcOp(w.in.proto.Code[w.in.proto.index(w.pc)]))}}
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		c, ok := w.t.Constants[i.Op2]
		load, loaded := w.t.At(i.Op1)
		if of, _ := w.t.At(w.table(load.Op1)); of.Op == HLOAD { // a method, which a metatable's own table has
			loaded = false
		}
		if ok && loaded && i.Op == EQ && i.kind() == typeFunc && c.Op == KGC && load.Op == HLOAD && w.source.Lua(c.Value&pointerMask) != 0 {
			w.anchor(r)
			w.overloads[at] = c.Value & pointerMask
			return w.overloads[at]
		}
		if !gotten.has(i.Op) {
			break
		}
	}
	return w.overloads[at]
}
