package luajit

import "slices"

// Why code was interpreted.
type Why string

// The causes, as far as a machine tells them.
const (
	Off         Why = "off"          // jit.off(): the compiler is off for all
	Hooked      Why = "hooks"        // debug hooks are set, which are called from interpreted code alone
	FunctionOff Why = "function_off" // jit.off(function)
	Blacklisted Why = "blacklisted"  // what a trace would begin with was given up for good
	Penalized   Why = "penalized"    // given up lately, to be tried again when it is hot once more
	Left        Why = "left_trace"   // there is a trace; it was left, and the way on has none
	Flushed     Why = "flushed"      // neither of these, and traces were thrown away meanwhile
	NotTried    Why = "not_tried"    // neither of these: not hot yet, or given up too long ago
	NotKnown    Why = "unknown"      // the code could not be read
)

// Uncompiled says why code was interpreted, and which loop or function a trace would have begun with.
type Uncompiled struct {
	Why       Why
	Place                // its Frame has no Kind where that is not known
	Reason    string     // of the last abort; "" where there is none, or LuaJIT has forgotten it
	Obstacles []Obstacle // in that loop or function, where it was given up; in the branch, where that was
	Branch    int        // Left: line where a branch that was given up begins; 0: none is known
	End       *End       // Left: the call where the trace ends; nil: none is known
	Full      bool       // Left: the trace has as many side traces as it may
}

type uncompiledKey struct {
	why    Why
	pc     uint64
	reason string
	branch int
	full   bool
	end    End
}

// calling are functions of LuaJIT that a trace goes through into the function that they call.
var calling = []string{"pcall", "xpcall"}

// Uncompiled tells why the innermost of the frames was interpreted at a moment shortly before. Of the loops
// around what runs, and the functions around them, the innermost one counts that LuaJIT has compiled, given up, or
// penalized. Equal results share their memory.
func (c *Compiler) Uncompiled(frames []Frame) *Uncompiled {
	c.Follow()
	found := Uncompiled{Why: NotTried}
	switch i := slices.IndexFunc(frames, func(f Frame) bool { return f.Kind == Lua }); {
	case i < 0:
		found.Why = NotKnown
	default:
		found = c.explain(frames[i:])
	}
	switch {
	case !c.on:
		found = Uncompiled{Why: Off, Place: found.Place}
	case c.hooked:
		found = Uncompiled{Why: Hooked, Place: found.Place}
	case found.Why == NotTried && c.flushes > 0:
		found.Why = Flushed
	}
	key := uncompiledKey{why: found.Why, pc: found.pc, reason: found.Reason, branch: found.Branch, full: found.Full}
	if found.End != nil {
		key.end = *found.End
	}
	if known := c.seen[key]; known != nil {
		return known
	}
	c.seen[key] = &found
	return &found
}

// explain goes outwards from the innermost function, which is one of Lua.
func (c *Compiler) explain(frames []Frame) Uncompiled {
	r := c.vm.reader()
	funcF, ok := c.vm.funcF()
	var inner, entering Uncompiled // what to name where nothing is found
	for n, f := range frames {
		if f.Kind != Lua {
			if f.Kind == Builtin && slices.Contains(calling, f.Function) {
				continue
			}
			break // no trace goes through a C function into what that calls, nor into another coroutine
		}
		code, readable := c.vm.readCode(r, f.proto)
		if !readable || !ok {
			return Uncompiled{Why: NotKnown}
		}
		head := f.proto + protoSize
		if n == 0 {
			inner = Uncompiled{Why: NotTried, Place: c.vm.place(r, f.proto, head)}
		}
		if code.flags&protoNoJIT != 0 {
			if n == 0 {
				return Uncompiled{Why: FunctionOff, Place: inner.Place}
			}
			continue
		}
		for _, g := range code.around(code.index(f.pc)) {
			u, found := c.judge(code, g, funcF, frames[:n+1])
			if found && u.Why == Left && n == 0 && code.passes(code.index(f.pc), g) { // who does not come from a trace?
				entering = u
				continue
			}
			if found {
				return u
			}
		}
	}
	if entering.Why != "" {
		return entering
	}
	return inner
}

// judge tells what LuaJIT has made of a loop or a function; found is false where it has not tried.
func (c *Compiler) judge(code code, g region, funcF int, frames []Frame) (u Uncompiled, found bool) {
	r := c.vm.reader()
	at := func(head int) uint64 { return code.proto + protoSize + 4*uint64(head) }
	for _, head := range g.heads {
		switch op := opOf(code.ins[head]); op {
		case opJFORL, opJITERL, opJLOOP, funcF + opJFUNCF, funcF + opJFUNCV:
			u = Uncompiled{Why: Left, Place: c.vm.place(r, code.proto, at(head))}
			if from := c.branch(&u, int(code.ins[head]>>16), code, frames); from > 0 {
				u.Obstacles = c.vm.obstacles(r, code, region{from: from, to: g.to})
			}
			return u, r.Err == nil
		case opIFORL, opIITERL, opILOOP, funcF + opIFUNCF, funcF + opIFUNCV:
			u = Uncompiled{Why: Blacklisted, Place: c.vm.place(r, code.proto, at(head))}
			if reason, known := c.reasons[at(head)]; known {
				u.Reason = abortReason(reason)
			}
			u.Obstacles = c.vm.obstacles(r, code, g)
			return u, r.Err == nil
		}
	}
	for _, head := range g.heads {
		if reason, penalized := c.current[at(head)]; penalized {
			u = Uncompiled{Why: Penalized, Place: c.vm.place(r, code.proto, at(head)), Reason: abortReason(reason)}
			u.Obstacles = c.vm.obstacles(r, code, g)
			return u, r.Err == nil
		}
	}
	return u, false
}

// A branch of a trace that LuaJIT has given up: a side trace that leads back to the interpreter at once.
type branch struct {
	proto, pc uint64
	line      int
}

// branch finds out what is known of a root trace's branches: one that was given up and that the frames may have
// come by, the call where the trace ends, and whether there may be no more side traces.
func (c *Compiler) branch(u *Uncompiled, root int, code code, frames []Frame) (from int) {
	var last branch
	for _, b := range c.branches[root] {
		for _, f := range frames {
			if f.Kind == Lua && f.proto == b.proto && f.pc > b.pc && b.pc >= last.pc {
				last = b
			}
		}
	}
	if u.Branch = last.line; last.proto == code.proto {
		from = code.index(last.pc + 4)
	}
	for i, e := range c.ends {
		if e.Root == root && !e.GoesOn && (u.End == nil || !e.Branch) {
			u.End = &c.ends[i]
		}
	}
	if t := c.vm.traceOf(c.vm.reader(), root); t != nil && c.limits.Side > 0 {
		u.Full = int(c.vm.reader().U16(t.address+traceChildren)) >= c.limits.Side
	}
	return from
}

// givenUp lists the branches that were given up, by their root traces; whole is false where some could not be read.
func (vm *VM) givenUp() (all map[int][]branch, whole bool) {
	all, whole = map[int][]branch{}, true
	r := vm.reader()
	for _, t := range vm.traces(r) {
		root := int(r.U16(t.address + traceRoot))
		if root == 0 || r.U8(t.address+traceLinkType) != linkInterpreter {
			continue
		}
		one := vm.reader()
		b := branch{proto: one.U64(t.address+traceStart) & pointerMask, pc: one.U64(t.address + traceStartPC)}
		if b.line = vm.line(one, b.proto, b.pc+4); one.Err == nil {
			all[root] = append(all[root], b)
		}
		whole = whole && one.Err == nil
	}
	return all, whole && r.Err == nil
}
