package jit

// builtin finds what a function of LuaJIT's own, or of C, has computed of its arguments, where that is one instruction. from is the
// first that it may have emitted.
func (w *walker) builtin(name string, arguments []value, from Ref) value {
	if w.steps[len(w.steps)-1].into {
		return value{}
	}
	if result := w.computedBy(name, arguments); result.known() {
		return result
	}
	if name == "string.find" {
		return w.searched(from)
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
	if !result.known() && arguments != nil && len(arguments) <= mostArguments {
		result.since = from
		for i, v := range arguments { // it may return one of them
			result.among[i] = v.ref
		}
	}
	return result
}

// What built-in functions compute: of all of their arguments in turn, of the first one; and those that make C data, or put a string together.
var (
	ofAll = map[string]opSet{
		"bit.band": ops(BAND), "bit.bor": ops(BOR), "bit.bxor": ops(BXOR), "math.min": ops(MIN), "math.max": ops(MAX),
	}
	ofFirst = map[string]opSet{
		"bit.tobit": ops(TOBIT), "bit.bnot": ops(BNOT), "bit.bswap": ops(BSWAP), "bit.lshift": ops(BSHL), "bit.rshift": ops(BSHR),
		"bit.arshift": ops(BSAR), "bit.rol": ops(BROL, BROR), "bit.ror": ops(BROL, BROR), "math.floor": ops(FPMATH), "math.ceil": ops(FPMATH),
		"math.sqrt": ops(FPMATH), "math.abs": ops(ABS), "tostring": ops(TOSTR), "tonumber": ops(STRTO), "string.len": ops(FLOAD),
	}
	made    = map[string]bool{"ffi.new": true, "ffi.cast": true}
	joining = map[string]bool{
		"string.format": true, "table.concat": true, "string.rep": true, "string.reverse": true, "string.upper": true, "string.lower": true,
	}
)

// computedBy finds the result of a built-in function that is known by its name.
func (w *walker) computedBy(name string, arguments []value) (result value) {
	if len(arguments) == 0 {
		return value{}
	}
	if wanted, ok := ofAll[name]; ok {
		result = arguments[0]
		for _, v := range arguments[1:] {
			if result = w.find(wanted, result, v); !result.known() {
				break
			}
		}
		return result
	}
	if wanted, ok := ofFirst[name]; ok {
		return w.findBy(wanted, func(i Instruction) int { return w.is(i.Op1, arguments[0]) })
	}
	if name == "string.byte" && single(name, len(arguments)) {
		return w.findNew(ops(XLOAD), func(i Instruction) int {
			if at, ok := w.t.At(i.Op1); ok && at.Op == STRREF {
				return w.is(at.Op1, arguments[0])
			}
			return other
		})
	}
	if made[name] {
		return w.findNew(ops(CNEW, CNEWI), func(Instruction) int { return unsure })
	}
	if !joining[name] {
		return value{}
	}
	return w.findNew(ops(BUFSTR), func(i Instruction) int {
		for _, v := range arguments {
			if w.buffered(i.Op1, v) {
				return same
			}
		}
		return other
	})
}

// searched is what string.find returns: the trace makes sure whether it has found anything.
func (w *walker) searched(from Ref) value {
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		call, ok := w.t.At(i.Op1)
		c, constant := w.t.Constants[i.Op2]
		if !ok || !constant || call.Op != CALLN || i.Op != EQ && i.Op != NE || i.kind() != typeP64 || c.Value != 0 {
			continue
		}
		if w.anchor(r); i.Op == EQ {
			return value{absent: true}
		}
		return value{kind: typeNum, since: from}
	}
	return value{}
}

// single reports whether a built-in function is known to have one result, of N arguments.
func single(name string, n int) bool {
	return ofAll[name] != opSet{} || ofFirst[name] != opSet{} || made[name] || joining[name] ||
		name == "string.sub" || name == "string.byte" && n > 0 && n < 3
}

// selected puts what select() returns into slots: how many arguments there are, or those from one on.
func (w *walker) selected(a int, arguments []value) {
	if len(arguments) == 0 {
		return
	}
	rest := arguments[1:]
	n, ok := w.constant(arguments[0])
	switch {
	case arguments[0].object: // "#"
		w.slots[a] = number(float64(len(rest)))
		w.multiple = 1
	case ok && n >= 1 && int(n) <= len(rest):
		rest = rest[int(n)-1:]
		for i, v := range rest {
			w.slots[a+i] = v
		}
		w.multiple = len(rest)
	}
}

// nextPair puts the key and the value of a table's next element into two slots.
func (w *walker) nextPair(a int) {
	for n := range 2 {
		w.slots[a+n] = w.findNew(ops(VLOAD), func(i Instruction) int {
			if int(i.Op2) == 1-n {
				return same
			}
			return other
		})
	}
}

// buffered reports whether a value was put into a buffer, up to an instruction.
func (w *walker) buffered(r Ref, v value) bool {
	const most = 64 // pieces of a string
	for range most {
		i, ok := w.t.At(r)
		switch {
		case !ok:
			return false
		case i.Op == BUFPUT && w.is(i.Op2, v) == same:
			return true
		case i.Op == CALLL || i.Op == CALLN || i.Op == CALLA:
			r = i.Op1
		case i.Op == CARG && w.is(i.Op2, v) == same:
			return true
		case i.Op == CARG || i.Op == BUFPUT, i.Op == BUFHDR && i.Op2 != 0: // it goes on with what is there
			r = i.Op1
		default:
			return false
		}
	}
	return false
}
