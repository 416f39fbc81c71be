package jit

// A Source reads what the bytecode of a trace's functions refers to.
type Source interface {
	Proto(address uint64) *Proto           // nil: it is none
	At(pc uint64) *Proto                   // the one that an instruction belongs to; nil: that is not known
	Lua(function uint64) uint64            // the prototype of a function that is one of Lua; else 0
	Upvalue(function uint64, n int) uint64 // the value of a function's variable outside
	// Builtin is what a function of LuaJIT's own is called, as "math.floor"; empty: it is none, or has no name.
	Builtin(function uint64) string
	// TypeName is the string that a function returns for values of a type, by its number in the IR; 0 where it is not LuaJIT's type().
	TypeName(function uint64, kind int) uint64
}

// An activation is a function that runs in a trace.
type activation struct {
	proto    *Proto
	function uint64 // 0: not known, but the prototype is
	base     int    // slot
	caller   *activation
	call     uint64 // address of the instruction in the caller that called it
	depth    int
	// protected reports that it was called through pcall or xpcall, which return true before its results.
	protected bool
	// above is how far its base lies above its first argument, where it takes any number of them; rest are those beyond its parameters.
	above int
	rest  []value
}

// A step is one bytecode instruction on the way of a trace.
type step struct {
	in   *activation
	pc   uint64
	lost bool // what came before it on the way is not known
	may  opSet
	last Ref // its result, behind which it has emitted nothing; 0: that is not known
	// into reports that it may have called a function of Lua whose bytecode is not among the steps.
	into bool
}

// A value is what a slot holds: an instruction's result, or what is known of it without one.
type value struct {
	ref    Ref // 0: unknown
	bits   uint64
	number bool // bits are those of a number
	object bool // bits are the address of an object
	absent bool // it is nil: the key is not there
	truth  byte // it is false or true: the type
	cdata  bool // of an object: it is C data, which may be given by its number
	kind   byte // the type of one that is unknown otherwise; 0: that is unknown, too
	since  Ref  // of one that is unknown: what computes it comes from here on
	// among are what it may be as well: arguments of a function that may return them.
	among [mostArguments]Ref
}

// mostArguments bounds the arguments of built-in functions that are known.
const mostArguments = 6

func (v value) known() bool {
	return v.ref != 0 || v.number || v.object || v.absent || v.truth != 0
}

// A walker goes the way that the recorder went, as far as that is known.
type walker struct {
	t         *Trace
	source    Source
	end       Ref // of the first copy of a loop, or of all
	in        *activation
	pc        uint64
	slots     map[int]value
	loads     map[int]Ref // of each slot from the stack
	next      int         // snapshot
	cursor    Ref         // first instruction that may belong to what comes
	may       opSet       // what may have been emitted since the last one that is known
	steps     []step
	multiple  int // how many values the last instruction left that leaves any number; 0: that is not known, or none
	overload  overload
	overloads map[field]uint64 // metamethods, by object and instruction
	known     map[Ref]int      // step by instruction
	least     map[Ref]int      // snapshots: from this instruction on, this step or a later one
	most      map[Ref]int      // up to this instruction, this step or one before
	fields    map[field]value
	inherited map[field]bool     // tables in which the keys of an object were found: the object's own, or one of its metatables
	texts     map[uint64]bool    // addresses of strings
	stored    map[variable]value // in variables outside
	nearby    []between          // by instruction, when the way is at its end
	passed    Ref                // what the last snapshot on the way lies before
	unsure    bool               // the next step may have been another one
	idle      int                // steps since something was found
	rounds    int                // of the trace's loop
	gaveUp    Ref                // from this instruction on the way is not known; 0: it is, up to its end
}

// A field is a key of an object: what was read from it or put there is known from then on.
type field struct{ object, key value }

// mostSteps bounds a way. LuaJIT records 4,000 instructions of IR at most; bytecode that emits nothing is short between them.
const mostSteps = 1 << 14

// mostIdle is how many instructions in a row may have emitted nothing that is known: more are a wrong way, round and round.
const mostIdle = 256

// mostRounds is how often a way may come to where a loop's trace begins, before it has come to its end.
const mostRounds = 8

// walk follows the trace from its start on. root is the function that its outermost frame is of, as far as it is known.
func (t *Trace) walk(source Source, root uint64) *walker {
	w := &walker{
		t: t, source: source, end: t.end(), slots: map[int]value{},
		fields: map[field]value{}, inherited: map[field]bool{}, texts: map[uint64]bool{}, stored: map[variable]value{}, overloads: map[field]uint64{}, known: map[Ref]int{}, least: map[Ref]int{}, most: map[Ref]int{}, cursor: First, passed: First,
	}
	if loop := t.loop(); loop != 0 {
		w.end = loop
	}
	w.loadsFrom(First)
	if t.Root != 0 { // what is before takes over its parent's slots, and what that has left out
		w.cursor = min(max(First, t.Snapshots[0].Ref), w.end)
		w.passed = w.cursor
	}
	if c, ok := t.Constants[t.Snapshots[0].Slots[0]]; ok && root == 0 && c.Op == KGC { // the trace before has made sure of it
		root = c.Value & pointerMask
	}
	outermost := &activation{function: root, base: 2}
	if root != 0 {
		outermost.proto = source.Proto(source.Lua(root))
	}
	first := t.Snapshots[0]
	if len(first.Frames) == 0 || outermost.proto == nil {
		if p := source.Proto(t.StartProto); p.contains(first.PC) && len(first.Frames) == 0 {
			if outermost.proto != p {
				outermost.function = 0
			}
			outermost.proto = p
		}
	}
	if len(first.Frames) > 0 {
		if call, ok := first.Frames[0].called(); ok && !outermost.proto.contains(call) {
			outermost.proto, outermost.function = source.At(call), 0
		}
	}
	if outermost.proto == nil || !w.enter(first, outermost) {
		return w
	}
	w.resync(first)
	w.next = 1
	start, ins := t.StartPC, t.StartIns
	if t.Root != 0 {
		start, ins = w.loopAround()
	}
	if start != 0 && w.in.proto.contains(start) && start != w.pc { // the loop's instruction comes first
		switch op := bcOp(ins); {
		case op >= bcFORL && op <= bcJFORL, op >= bcITERL && op <= bcJITERL, op == bcITERN:
			w.begin(start)
			w.may, w.steps[0].may = operands, operands // of a loop over an iterator its call emits all else
			if op <= bcJFORL {
				w.may, w.steps[0].may = emits(op), emits(op)
				w.loopStart(w.in.base + bcA(ins))
			}
		}
	}
	for len(w.steps) < mostSteps && w.step() {
	}
	w.finish()
	return w
}

// loadsFrom notes the first load of each slot from an instruction on, up to where the trace returns to a lower frame: there slots are
// others.
func (w *walker) loadsFrom(r Ref) {
	w.loads = map[int]Ref{}
	for ; r < w.end && w.t.IR[r-Bias].Op != RETF; r++ {
		if i := w.t.IR[r-Bias]; i.Op == SLOAD {
			if _, ok := w.loads[int(i.Op1)]; !ok {
				w.loads[int(i.Op1)] = r
			}
		}
	}
}

// loopAround is the numeric loop whose end and index a side trace checks before all else; 0: it does not. LuaJIT does so where the
// trace begins in that loop.
func (w *walker) loopAround() (pc uint64, ins uint32) {
	if First+1 >= w.end {
		return 0, 0
	}
	load, check := w.t.IR[First-Bias], w.t.IR[First+1-Bias]
	if load.Op != SLOAD || !check.guard() || !comparing(check.Op) || check.Op1 != First {
		return 0, 0
	}
	for n, ins := range w.in.proto.Code {
		op, slot := bcOp(ins), w.in.base+bcA(ins)
		if op >= bcFORL && op <= bcJFORL && int(load.Op1) > slot && int(load.Op1) < slot+3 {
			return w.in.proto.First + 4*uint64(n), ins
		}
	}
	return 0, 0
}

// enter makes the activations of a snapshot; false where one of its functions is not known.
func (w *walker) enter(s Snapshot, outermost *activation) bool {
	in := outermost
	for _, f := range s.Frames {
		call, ok := f.called()
		if !ok || !in.proto.contains(call) {
			return false
		}
		next := &activation{function: f.Function, base: f.Slot, caller: in, call: call, depth: in.depth + 1, protected: f.Protected}
		address := w.source.Lua(f.Function)
		if f.Function == 0 {
			address = w.guarded(f.Computed)
		}
		if next.proto = w.source.Proto(address); next.proto == nil {
			return false
		}
		in = next
	}
	if !in.proto.contains(s.PC) {
		return false
	}
	w.in, w.pc = in, s.PC
	return true
}

// called is the instruction that called a frame's function: one of Lua's calls, or one that has called a metamethod.
func (f Frame) called() (pc uint64, ok bool) {
	const types, lua, allTypes, continuation = 3, 0, 7, 2
	if f.Link&allTypes == continuation {
		return f.After - 4, f.After != 0 && f.Function|uint64(f.Computed) != 0
	}
	return f.Link - 4, f.Link != 0 && f.Link&types == lua && f.Function|uint64(f.Computed) != 0
}

// guarded is the prototype that a computed function was made sure to be of; 0: there is none.
func (w *walker) guarded(function Ref) uint64 {
	for r := First; r < w.t.end(); r++ {
		load := w.t.IR[r-Bias]
		if load.Op != FLOAD || load.Op1 != function {
			continue
		}
		for g := r + 1; g < w.t.end(); g++ {
			i := w.t.IR[g-Bias]
			if c, ok := w.t.Constants[i.Op2]; i.Op == EQ && i.Op1 == r && ok && c.Op == KPTR {
				return c.Value - protoSize
			}
		}
	}
	return 0
}

// protoSize is that of a prototype without its bytecode, which follows.
const protoSize = 0x68

// resync takes over what a snapshot says of the slots.
func (w *walker) resync(s Snapshot) {
	for slot, ref := range s.Slots {
		if c, ok := w.t.Constants[ref]; ok {
			w.slots[slot] = value{ref: ref, bits: c.Value & pointerMask, object: c.Op == KGC}
		} else {
			w.slots[slot] = value{ref: ref}
		}
	}
}

// begin notes that an instruction is recorded.
func (w *walker) begin(pc uint64) uint32 {
	ins := w.in.proto.Code[w.in.proto.index(pc)]
	w.overload = overload{}
	w.steps = append(w.steps, step{in: w.in, pc: pc, may: emits(bcOp(ins)), lost: w.unsure})
	w.unsure = false
	return ins
}

// here reports whether the way is where a snapshot was made.
func (w *walker) here(s Snapshot) bool {
	if s.PC != w.pc || s.Base+2 != w.in.base || len(s.Frames) != w.in.depth {
		return false
	}
	for r := w.cursor; r < s.Ref; r++ { // all before it has to be explained
		if !w.may.has(w.t.IR[r-Bias].Op) {
			return false
		}
	}
	return true
}

// returns reports that a snapshot was made in the midst of a return to a lower frame, behind the loads of what it returns.
func (w *walker) returns(s Snapshot) bool {
	i, ok := w.t.At(s.Ref)
	op := bcOp(w.in.proto.Code[w.in.proto.index(w.pc)])
	return ok && i.Op == RETF && w.in.caller == nil && op >= bcRETM && op <= bcRET1
}

// passes notes that the way has come to a snapshot, before the step that comes next, or in it.
func (w *walker) passes(s Snapshot, inside bool) {
	n := len(w.steps)
	if inside {
		n--
	}
	w.least[s.Ref] = n
	if !inside {
		n--
	}
	w.most[s.Ref] = n
	w.cursor = max(w.cursor, s.Ref)
	w.passed = s.Ref
	w.idle = 0
	w.resync(s)
	w.next++
}

func (w *walker) snapshot() (Snapshot, bool) {
	for w.next < len(w.t.Snapshots) {
		s := w.t.Snapshots[w.next]
		if s.Ref > w.end {
			return s, false
		}
		if s.Ref >= w.cursor || w.next == len(w.t.Snapshots)-1 {
			return s, true
		}
		w.next++
	}
	return Snapshot{}, false
}

// step records one instruction and goes to the next; false at the way's end.
func (w *walker) step() bool {
	for {
		s, ok := w.snapshot()
		if !ok || !w.here(s) || w.returns(s) {
			break
		}
		w.passes(s, false)
		w.may = none
	}
	if _, ok := w.snapshot(); !ok && (w.cursor >= w.end || len(w.t.Snapshots) > 1 && w.next >= len(w.t.Snapshots)) {
		return false
	}
	if first := w.t.Snapshots[0]; w.end < w.t.end() && len(w.steps) > 1 && w.in.depth == 0 && w.pc == first.PC {
		left := w.next < len(w.t.Snapshots) && w.t.Snapshots[w.next].Ref < w.end
		if w.rounds++; w.rounds > mostRounds { // it was not this way: nothing since the last snapshot holds
			w.steps[len(w.steps)-1].lost = true
			w.gaveUp = w.passed
			return false
		}
		if !left && w.explained(w.end) && !w.storesLeft() {
			return false
		}
	}
	if w.idle++; w.idle > mostIdle || !w.in.proto.contains(w.pc) {
		return w.lost()
	}
	ins := w.begin(w.pc)
	w.may = w.may.and(emits(bcOp(ins)))
	next, ok := w.record(ins)
	if !ok {
		return w.lost()
	}
	w.pc = next
	return true
}

// storesLeft reports that what is left has a store which no step can have emitted: each emits one.
func (w *walker) storesLeft() bool {
	stores := ops(ASTORE, HSTORE)
	for n := w.known[w.cursor-1] + 1; n < len(w.steps); n++ {
		if w.steps[n].may.has(HSTORE) {
			return false
		}
	}
	for r := w.cursor; r < w.end; r++ {
		if stores.has(w.t.IR[r-Bias].Op) {
			return true
		}
	}
	return false
}

// giveUp notes that from the next instruction on it is not known which steps there are: places there are left to the snapshots. A
// step found later may be the wrong one of several alike.
func (w *walker) giveUp() {
	if w.gaveUp == 0 {
		w.gaveUp = w.cursor
	}
}

// lost goes on at the next snapshot whose functions are known.
func (w *walker) lost() bool {
	w.giveUp()
	w.idle = 0
	for {
		s, ok := w.snapshot()
		if !ok {
			return false
		}
		w.next++
		if !w.enter(s, w.outermost(s)) {
			w.may = everything
			continue
		}
		if i, ok := w.t.At(s.Ref); ok && i.guard() && comparing(i.Op) { // it may be where the guard leads to
			if back, ok := w.opposite(s); ok {
				w.in, w.pc = back.in, back.pc
			}
		}
		w.slots = map[int]value{}
		w.resync(s)
		w.cursor = max(w.cursor, s.Ref)
		w.may = everything
		n := len(w.steps)
		w.least[s.Ref] = n
		ins := w.begin(w.pc)
		w.steps[n].lost = true
		next, ok := w.record(ins)
		if !ok {
			continue
		}
		w.pc = next
		return true
	}
}

// outermost is the activation of the function that is the outermost one at a snapshot.
func (w *walker) outermost(s Snapshot) *activation {
	a := w.in
	for a.caller != nil {
		a = a.caller
	}
	if c, ok := w.t.Constants[s.Slots[0]]; ok && c.Op == KGC && s.Slots[0] != 0 { // a tail call has put it there
		if p := w.source.Proto(w.source.Lua(c.Value & pointerMask)); p != nil {
			return &activation{function: c.Value & pointerMask, proto: p, base: 2}
		}
	}
	return a
}

// ending is where the trace leads to. What it has computed goes back to the stack there, behind the code of its last instruction; the last
// snapshot knows the place, whether or not the way there is known.
func (w *walker) ending() Place {
	s := w.t.Snapshots[len(w.t.Snapshots)-1]
	if w.t.Loop != 0 || !w.enter(s, w.outermost(s)) {
		return nil
	}
	return w.in.place(w.pc, w.pc)
}

// opposite is the comparison which a snapshot leads behind, on the way that was not taken.
func (w *walker) opposite(s Snapshot) (step, bool) {
	p := w.in.proto
	n := p.index(s.PC)
	if i := n - 2; i >= 0 && i < len(p.Code) && bcOp(p.Code[i]) <= bcISNEP {
		return step{in: w.in, pc: p.First + 4*uint64(i)}, true
	}
	for i, ins := range p.Code {
		if bcOp(ins) <= bcISNEP && i+1 < len(p.Code) && i+2+bcJump(p.Code[i+1]) == n {
			return step{in: w.in, pc: p.First + 4*uint64(i)}, true
		}
	}
	return step{}, false
}
