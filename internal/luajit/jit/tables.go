package jit

import "math"

// root reports whether a reference into memory is one into an object, with a key.
func (w *walker) into(r Ref, object, key value) int {
	found := unsure
	for range 12 {
		i, ok := w.t.At(r)
		if !ok { // a constant: the table of globals, a metatable
			if found == same {
				return same
			}
			return w.is(r, object)
		}
		switch i.Op {
		case HREFK, HREF, NEWREF:
			k := i.Op2
			if slot, ok := w.t.Constants[k]; ok && slot.Op == KSLOT {
				k = slot.Op1
			}
			e := w.is(k, key)
			if e == other {
				return other
			}
			found = max(found, e)
			r = i.Op1
		case AREF, FLOAD, FREF, ADD, STRREF, CONV, CNEWI, ULOAD:
			if w.is(r, object) == same {
				return same
			}
			r = i.Op1
		default:
			if found == same && i.Op == HLOAD && (r >= w.cursor || w.inherited[field{object, value{ref: r}}]) { // of a metatable
				return same
			}
			if e := w.is(r, object); e != unsure {
				return e
			}
			return found
		}
	}
	return found
}

// table is the one that an address lies in.
func (w *walker) table(r Ref) Ref {
	for range 12 {
		i, ok := w.t.At(r)
		if !ok || i.kind() != typeP64 {
			break
		}
		r = i.Op1
	}
	return r
}

// reaches reports whether an address is computed from a value.
func (w *walker) reaches(r, from Ref) bool {
	const most = 5 // instructions of an address
	for next, n := []Ref{r}, 0; len(next) > 0 && n < 1<<most; n++ {
		at := next[0]
		next = next[1:]
		if at == from {
			return true
		}
		switch i, ok := w.t.At(at); {
		case ok && (i.Op == ADD || i.Op == SUB || i.Op == MUL):
			next = append(next, i.Op1, i.Op2)
		case ok && (i.Op == CONV || i.Op == BSHL || i.Op == TOBIT):
			next = append(next, i.Op1)
		}
	}
	return false
}

func (w *walker) get(object, key value) value {
	if i, ok := w.t.At(object.ref); ok && i.kind() != typeTab {
		w.overloaded(false, object)
	}
	at := field{object, key}
	evidence := func(i Instruction) int {
		if i.Op == ALOAD && key.object {
			return other
		}
		if i.Op == XLOAD && key.ref > Bias && w.reaches(i.Op1, key.ref) {
			return same
		}
		return w.into(i.Op1, object, key)
	}
	if w.misses(object, key) {
		return value{absent: true}
	}
	from := w.cursor
	v := w.findNew(ops(ALOAD, HLOAD, XLOAD), evidence)
	for r := from; r < v.ref; r++ { // one table after another was searched
		if op := w.t.IR[r-Bias].Op; op == HREF || op == HREFK {
			w.inherited[field{object, value{ref: w.table(r)}}] = true
		}
	}
	if known, ok := w.fields[at]; v.ref == 0 && ok {
		v = known
	}
	if !v.known() {
		v = w.findOld(ops(ALOAD, HLOAD, XLOAD), func(i Instruction) int {
			if at, ok := w.t.At(i.Op1); ok && at.Op == AREF && w.is(at.Op2, key) != same { // another element
				return other
			}
			return evidence(i)
		})
	}
	if i, ok := w.t.At(object.ref); ok && !v.known() && i.Op == TNEW && key.known() { // LuaJIT knows that a new table does not have it
		v = value{absent: true}
	}
	if key.known() {
		w.fields[at] = v
	}
	if i, ok := w.t.At(v.ref); ok && i.Op != XLOAD && i.kind() != typeNil { // else it looks into a metatable
		w.result(v)
	}
	w.overload = overload{object, []value{object, key}, v}
	return v
}

func (w *walker) put(object, key, v value) {
	if i, ok := w.t.At(object.ref); ok && i.kind() != typeTab {
		w.overloaded(false, object)
	}
	for at := range w.fields { // it may be the same object
		if at.key == key || !key.object {
			delete(w.fields, at)
		}
	}
	if key.known() {
		w.fields[field{object, key}] = v
	}
	stored := w.findBy(ops(ASTORE, HSTORE, XSTORE, FSTORE), func(i Instruction) int {
		if i.Op == ASTORE && key.object || w.is(i.Op2, v) == other && !(v.number && i.Op == XSTORE && w.truncated(i.Op2, v)) {
			return other
		}
		return w.into(i.Op1, object, key)
	})
	w.overload = overload{object, []value{object, key, v}, stored}
}

// truncated reports whether a constant of C data is a number, cut to as many bits as fit.
func (w *walker) truncated(r Ref, v value) bool {
	c, ok := w.t.Constants[r]
	return ok && c.Op != KNUM && uint8(c.Value) == uint8(int64(math.Float64frombits(v.bits)))
}

// misses finds that the trace makes sure that a key is in no table: it is not in this one, which has no metatable.
func (w *walker) misses(object, key value) bool {
	if object.ref <= Bias || !key.known() {
		return false
	}
	looked := false
	limit := w.limit()
	for r := w.cursor; r < limit; r++ {
		i := w.t.IR[r-Bias]
		load, ok := w.t.At(i.Op1)
		c := w.t.Constants[i.Op2]
		switch {
		case ok && i.Op == EQ && load.Op == HREF && c.Op == KKPTR && load.Op1 == object.ref && w.is(load.Op2, key) == same:
			looked = true
		case ok && i.Op == EQ && load.Op == FLOAD && load.Op1 == object.ref && c.Op == KINT && c.Value == 0: // it has no hash part
			looked = true
		case looked && ok && i.Op == EQ && load.Op == FLOAD && load.Op1 == object.ref && i.kind() == typeTab:
			w.anchor(r)
			return true
		case !w.may.has(i.Op) || i.Op == HLOAD || i.Op == ALOAD:
			return false
		}
	}
	return false
}

// outside reports whether an instruction loads or stores a variable outside, by its number, of the function that runs.
func (w *walker) outside(i Instruction, n int) int {
	const shift = 8
	up, ok := w.t.At(i.Op1)
	if !ok || int(up.Op2)>>shift != n {
		return other
	}
	function, ok := w.t.Constants[up.Op1]
	running := w.slots[w.in.base-2]
	switch {
	case ok && w.in.function != 0 && function.Value&pointerMask != w.in.function,
		!ok && running.ref > Bias && running.ref != up.Op1:
		return other
	}
	return same
}

// A variable outside of a function, by its number there.
type variable struct {
	function uint64
	number   int
}

// assign records what is assigned to a variable outside. Another number, or another function, may have the same one.
func (w *walker) assign(n int, v value) {
	w.specialize()
	w.findBy(ops(USTORE), func(i Instruction) int { return sumUp(w.outside(i, n), w.is(i.Op2, v)) })
	clear(w.stored)
	if w.in.function != 0 {
		w.stored[variable{w.in.function, n}] = v
	}
}

// upvalue is that of a function's variable outside, which is a constant where nothing assigns to it.
func (w *walker) upvalue(n int) value {
	w.specialize()
	at := variable{w.in.function, n}
	if v, ok := w.stored[at]; ok {
		return v
	}
	v := w.findBy(ops(ULOAD), func(i Instruction) int { return w.outside(i, n) })
	if v.ref != 0 || w.in.function == 0 {
		return v
	}
	tagged := w.source.Upvalue(w.in.function, n)
	const shift, text, cdata, userdata, numbers = 47, -5, -11, -13, -14 // of a value's tag
	switch tag := int64(tagged) >> shift; {
	case tag <= text && tag >= userdata:
		return value{bits: tagged & pointerMask, object: true, cdata: tag == cdata}
	case tag >= 0 || tag < numbers:
		return value{bits: tagged, number: true}
	}
	return value{}
}
