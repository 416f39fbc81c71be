package jit

// copies tells for each instruction behind LOOP which one of the first pass it is a copy of, or between which two it stands. The
// loop's second pass is made from the first one in its order, with each operand replaced by its copy; what does not change is left
// out.
func (t *Trace) copies(loop Ref) map[Ref]Span {
	copied := map[Ref]Ref{} // to what; 0: it is not known
	cursor := loop + 1
	snaps := t.copiedSnapshots(loop)
	sure := map[Ref]Ref{}
	fold := &folder{t, map[Ref]float64{}}
	end := t.Snapshots[t.snapshotOf(loop)]
	for r := First; r < loop; r++ {
		for len(snaps) > 0 && r >= snaps[0].first {
			cursor = max(cursor, snaps[0].second)
			snaps = snaps[1:]
		}
		i := t.IR[r-Bias]
		if i.Op == NOP {
			continue
		}
		if i.Op == SLOAD { // it has what the slot holds at the end of the first pass
			at, converted := fold.slotAtEnd(i, r, end, cursor)
			copied[r] = at
			if converted {
				sure[at], cursor = r, at+1
				continue
			}
			if copied[r] != r || fold.findCopy(i, [2]bool{true, true}, cursor, cursor+1) == 0 {
				continue
			}
		}
		want, known, changed := replaced(i, copied)
		const kinds = 0x60
		if definitions[i.Op].mode&kinds == 0 && !changed {
			copied[r] = r
			continue
		}
		if constant, ok := fold.fold(want); ok && changed && known[0] && known[1] {
			copied[r] = constant
			continue
		}
		if !changed && loading(i.Op) {
			if value, ok := t.storedBefore(loop, i); ok {
				copied[r] = value
				continue
			}
		}
		limit := t.end()
		if len(snaps) > 0 {
			limit = snaps[0].second
		}
		to := fold.findCopy(want, known, cursor, limit)
		if less, ok := fold.cheaper(want); ok && to == 0 {
			to = fold.findCopy(less, known, cursor, limit)
		}
		if to != 0 {
			copied[r], sure[to] = to, r
			cursor = to + 1
		} else {
			copied[r] = fold.earlierCopy(want, known, cursor)
		}
	}
	return t.betweenCopies(loop, sure)
}

// slotAtEnd is what a slot that the loop begins with, by the load at r, holds at the end of the first pass: itself where nothing
// was stored there; converted: the copy has another kind of number, made from cursor on.
func (f *folder) slotAtEnd(load Instruction, r Ref, end Snapshot, cursor Ref) (at Ref, converted bool) {
	ref, ok := end.Slots[int(load.Op1)]
	if !ok {
		return r, false
	}
	if last, ok := f.t.At(ref); ok && last.number() != load.number() {
		if to := f.findCopy(Instruction{Op: CONV, Op1: ref}, [2]bool{true, false}, cursor, f.t.end()); to != 0 {
			return to, true
		}
	}
	return ref, false
}

// replaced is an instruction with its operands' copies; known of which operands, changed whether any is another one.
func replaced(i Instruction, copied map[Ref]Ref) (want Instruction, known [2]bool, changed bool) {
	want, known = i, [2]bool{true, true}
	for n, operand := range []*Ref{&want.Op1, &want.Op2} {
		if !definitions[i.Op].refs[n] || operand.constant() || *operand == Bias {
			continue
		}
		to, ok := copied[*operand]
		known[n] = ok && to != 0
		changed = changed || to != *operand
		*operand = to
	}
	return want, known, changed
}

// betweenCopies says of each instruction behind LOOP which one it is a copy of. What stands between two copies comes from
// between their originals.
func (t *Trace) betweenCopies(loop Ref, sure map[Ref]Ref) map[Ref]Span {
	from := map[Ref]Span{}
	last, next := First, loop-1
	for r := loop + 1; r < t.end(); r++ {
		if original, ok := sure[r]; ok {
			last = original
		}
		from[r] = Span{From: last}
	}
	for r := t.end() - 1; r > loop; r-- {
		if original, ok := sure[r]; ok {
			next = original
		}
		from[r] = Span{from[r].From, next}
	}
	return from
}

// findCopy is the next instruction, where it is the wanted one, but for a conversion before it; or a later one, where its operands
// leave no doubt.
func (f *folder) findCopy(want Instruction, known [2]bool, from, limit Ref) Ref {
	next := true
	for r := from; r < min(limit, f.t.end()); r++ {
		i := f.t.IR[r-Bias]
		if (next || known[0] && known[1]) && f.equal(i, want, known) {
			return r
		}
		next = next && (i.Op == CONV || i.Op == NOP)
	}
	return 0
}

func loading(o Op) bool {
	switch o {
	case ALOAD, HLOAD, ULOAD, FLOAD, XLOAD:
		return true
	}
	return false
}

// storedBefore is what a load at the loop's beginning has when the first pass is at its end: what was stored last where it loads
// from. 0: something was, but it is not known what; false: nothing was.
func (t *Trace) storedBefore(loop Ref, load Instruction) (value Ref, ok bool) {
	store := map[Op]Op{ALOAD: ASTORE, HLOAD: HSTORE, ULOAD: USTORE, FLOAD: FSTORE, XLOAD: XSTORE}[load.Op]
	for r := First; r < loop; r++ {
		if i := t.IR[r-Bias]; i.Op == store && load.Op != FLOAD {
			value, ok = 0, true
			if i.Op1 == load.Op1 {
				value = i.Op2
			}
		}
	}
	return value, ok
}

// earlierCopy is an instruction before that has the same result already; 0: there is none.
func (f *folder) earlierCopy(want Instruction, known [2]bool, before Ref) Ref {
	if !known[0] || !known[1] {
		return 0
	}
	for r := before - 1; r >= First; r-- {
		if f.equal(f.t.IR[r-Bias], want, known) {
			return r
		}
	}
	return 0
}

func (f *folder) equal(i, want Instruction, known [2]bool) bool {
	if i.Op != want.Op {
		return false
	}
	d := definitions[i.Op]
	is := func(n int, r, wanted Ref) bool { return !known[n] || r == wanted || d.refs[n] && f.same(r, wanted) }
	straight := is(0, i.Op1, want.Op1) && is(1, i.Op2, want.Op2)
	const commutative = 0x10
	return straight || d.mode&commutative != 0 && is(0, i.Op2, want.Op1) && is(1, i.Op1, want.Op2)
}

// A pair is where a snapshot stands in the first pass, and where its copy does.
type pair struct{ first, second Ref }

// copiedSnapshots pairs the snapshots of both passes: the copies have the same bytecode addresses in the same order, but some are
// left out.
func (t *Trace) copiedSnapshots(loop Ref) (all []pair) {
	n := 1
	for _, s := range t.Snapshots {
		if s.Ref <= loop {
			continue
		}
		for k := n; k < len(t.Snapshots) && t.Snapshots[k].Ref < loop; k++ {
			if o := t.Snapshots[k]; o.PC == s.PC && o.Base == s.Base && len(o.Frames) == len(s.Frames) {
				all = append(all, pair{o.Ref, s.Ref})
				n = k + 1
				break
			}
		}
	}
	return all
}
