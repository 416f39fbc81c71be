package jit

import (
	"sort"

	"golang.org/x/arch/x86/x86asm"
)

// A Call is a function that a trace has entered, or the one that it began in, and between which two of its instructions it is: their
// addresses. Function is 0 where the trace computes it; the prototype is always known.
type Call struct {
	Function, Proto uint64
	From, To        uint64
	// Whole reports that not even that is known: it may be anywhere in the function.
	Whole bool
}

// A Place is what runs at a place of a trace's machine code: the calls, outermost first. All but the last are exact.
type Place []Call

// A Map tells of each place in a trace's machine code which bytecode runs there. It is small: a program has thousands of traces.
type Map struct {
	ends   []uint32    // offset behind each machine instruction
	which  []uint16    // of places
	places []Place     // nil: it is not known
	joined map[int]int // what ran before an instruction, where that is not the one before it
	// Unfit reports that the machine code cannot have been made of the IR: nothing is known of its lines.
	Unfit bool
}

// NewMap reads a trace's machine code, IR and bytecode. root is the function of the frame that it begins in, 0 where that is not known.
func NewMap(t *Trace, source Source, root uint64) *Map {
	c := t.align()
	if !c.fits() {
		return &Map{Unfit: true}
	}
	w := t.walk(source, root)
	m := &Map{joined: map[int]int{0: 0}}
	if len(w.steps) == 0 {
		return m
	}
	var copies map[Ref]Span
	loop := t.loop()
	if loop != 0 {
		copies = t.copies(loop)
	}
	known := map[Span]uint16{}
	tail := Span{t.end(), t.end()}
	replayed := t.replayed(source, root, mostParents)
	for i, one := range c.list {
		span := t.costly(c.spans[i])
		if one.at >= t.tail() {
			span = tail
		}
		n, ok := known[span]
		if !ok {
			n = uint16(len(m.places))
			place := w.place
			if span == tail {
				place = func(Span, Ref, map[Ref]Span) Place { return w.ending() }
			}
			where := replayed[span.From]
			if span.From != span.To || where == nil {
				where = place(span, loop, copies)
			}
			m.places = append(m.places, where)
			known[span] = n
		}
		m.ends, m.which = append(m.ends, uint32(one.end)), append(m.which, n)
		to, ok := one.Args[0].(x86asm.Rel)
		if !ok {
			continue
		}
		if target := one.end + int(to); one.Op != x86asm.CALL && target == t.Loop && target > 0 { // the loop's end comes before its beginning
			m.joined[m.index(target)] = i
		}
		if one.Op == x86asm.JMP {
			m.joined[i+1] = i + 1
		}
	}
	return m
}

// costly is what the time of a machine instruction goes to: of one that loads and converts at once, the load.
func (t *Trace) costly(s Span) Span {
	i, ok := t.At(s.From)
	if !ok || s.From != s.To || i.Op != CONV {
		return s
	}
	if load, ok := t.At(i.Op1); ok && load.Reg&noReg != 0 && (loading(load.Op) || load.Op == SLOAD) {
		return Span{i.Op1, i.Op1}
	}
	return s
}

// index is that of the instruction that an offset lies in.
func (m *Map) index(offset int) int {
	return sort.Search(len(m.ends), func(i int) bool { return int(m.ends[i]) > offset })
}

func (m *Map) place(i int) (Place, bool) {
	if i >= len(m.which) || m.places[m.which[i]] == nil {
		return nil, false
	}
	return m.places[m.which[i]], true
}

// At is the place of an offset in the machine code.
func (m *Map) At(offset int) (Place, bool) {
	return m.place(m.index(offset))
}

// Sampled is the place whose time a clock's interrupt has found when it came at an offset. A processor takes an interrupt between two
// instructions: when the first of them has come to its end, for which the interrupt waited with all that followed. So the time is
// that of the instruction before.
func (m *Map) Sampled(offset int) (Place, bool) {
	i := m.index(offset)
	before, ok := m.joined[i]
	if !ok {
		before = i - 1
	}
	if i >= len(m.which) {
		return nil, false
	}
	if place, ok := m.place(before); ok {
		return place, true
	}
	return m.place(i)
}

// place is what instructions of the IR belong to: one of the steps that may have emitted them.
func (w *walker) place(s Span, loop Ref, copies map[Ref]Span) Place {
	var all stepSet
	for r := s.From; r <= s.To && r < w.t.end(); r++ {
		if w.t.silent(r) && r != Bias && s.From != s.To {
			continue
		}
		original, ok := copies[r]
		if w.gaveUp != 0 && (ok && original.To >= w.gaveUp || !ok && r >= w.gaveUp) {
			return nil
		}
		switch {
		case r == loop && loop != 0: // the way from the end to the beginning
			all.add(w.last())
		case ok:
			for o := original.From; o <= original.To; o++ {
				all = append(all, w.candidates(o)...)
			}
		case loop != 0 && r > loop:
			all = append(all, w.all()...)
		default:
			all = append(all, w.candidates(r)...)
		}
	}
	return w.common(all)
}

// A stepSet is numbers of steps that may be the one.
type stepSet []int

func (s *stepSet) add(n int) { *s = append(*s, n) }

func (w *walker) last() int { return len(w.steps) - 1 }

func (w *walker) all() (s stepSet) {
	for n := range w.steps {
		s.add(n)
	}
	return s
}

// candidates are the steps that may have emitted an instruction.
func (w *walker) candidates(r Ref) (s stepSet) {
	if r <= Bias {
		return stepSet{0}
	}
	if n, ok := w.known[r]; ok {
		return stepSet{n}
	}
	if len(w.nearby) == 0 || int(r-Bias) >= len(w.nearby) {
		return w.all()
	}
	low, high, user := w.nearby[r-Bias].low, w.nearby[r-Bias].high, w.nearby[r-Bias].user
	low = min(low, w.last())
	high = max(high, low)
	op := w.t.IR[r-Bias].Op
	if user != 0 && w.known[user] == high && w.steps[high].may != everything && w.steps[high].may.has(op) && helpers.has(op) && w.uses(user, r, w.steps[high].may) {
		return stepSet{high}
	}
	if internal.has(op) && (op != CONV || !w.anything(low, high)) {
		for u := r + 1; u < min(w.end, r+mostArguments); u++ {
			if i := w.t.IR[u-Bias]; i.Op1 == r || definitions[i.Op].refs[1] && i.Op2 == r {
				if all := w.candidates(u); len(all) == 1 && all[0] >= low && all[0] <= high {
					return all
				}
				break
			}
		}
	}
	if last := w.steps[low].last; last != 0 && r > last && low < high {
		low++
	}
	lost := false
	for n := low; n <= high; n++ {
		lost = lost || n > low && w.steps[n].lost || w.steps[n].into && (n < high || op != EQ)
		if w.steps[n].may.has(op) {
			s.add(n)
		}
	}
	if lost { // what was between is not known
		s.add(low)
		s.add(high)
		s.add(-1)
	}
	if len(s) == 0 {
		for n := low; n <= high; n++ {
			s.add(n)
		}
	}
	return s
}

// anything reports whether one of the steps between two may have emitted anything.
func (w *walker) anything(low, high int) bool {
	for n := low; n <= high; n++ {
		if w.steps[n].may == everything {
			return true
		}
	}
	return false
}

// A between is what is known of an instruction by those around it: the steps from low to high may have emitted it. user is the next one
// whose step is known.
type between struct {
	low, high int
	user      Ref
}

// finish finds that out for all.
func (w *walker) finish() {
	w.nearby = make([]between, w.end-Bias)
	low := 0
	for r := First; r < w.end; r++ {
		low = max(low, w.least[r])
		w.nearby[r-Bias].low = low
		low = max(low, w.known[r])
	}
	high, user := w.last(), Ref(0)
	for r := w.end - 1; r >= First; r-- {
		if n, ok := w.most[r+1]; ok {
			high = min(high, n)
		}
		w.nearby[r-Bias].high, w.nearby[r-Bias].user = high, user
		if n, ok := w.known[r]; ok && n <= high {
			high, user = n, r
		}
	}
}

// uses reports whether an instruction has another for an operand, directly or through what was emitted between them for the same step.
func (w *walker) uses(user, r Ref, may opSet) bool {
	seen := map[Ref]bool{}
	for next := []Ref{user}; len(next) > 0; {
		at := next[0]
		next = next[1:]
		i := w.t.IR[at-Bias]
		for n, operand := range []Ref{i.Op1, i.Op2} {
			if !definitions[i.Op].refs[n] || operand < r || operand >= user || seen[operand] {
				continue
			}
			if seen[operand] = true; operand == r {
				return true
			}
			if _, known := w.known[operand]; !known && may.has(w.t.IR[operand-Bias].Op) {
				next = append(next, operand)
			}
		}
	}
	return false
}

// common is the place of one of several steps: the function in which all of them are, or from which they were called.
func (w *walker) common(all stepSet) Place {
	var in *activation
	whole := false
	for _, n := range all {
		if n < 0 {
			whole = true
			continue
		}
		in = meet(in, w.steps[n].in)
		if in == nil {
			return nil
		}
	}
	if in == nil {
		return nil
	}
	var from, to uint64
	for _, n := range all {
		if n < 0 {
			continue
		}
		pc := w.steps[n].pc
		for a := w.steps[n].in; a != in; a = a.caller {
			pc = a.call
		}
		if from == 0 || pc < from {
			from = pc
		}
		to = max(to, pc)
	}
	place := in.place(from, to)
	place[len(place)-1].Whole = whole
	return place
}

// place is between two instructions of an activation.
func (in *activation) place(from, to uint64) Place {
	place := Place{{Function: in.function, Proto: in.proto.Address, From: from, To: to}}
	for a := in; a.caller != nil; a = a.caller {
		place = append(Place{{Function: a.caller.function, Proto: a.caller.proto.Address, From: a.call, To: a.call}}, place...)
	}
	return place
}

// meet is the innermost activation that two have in common; a is nil where there is none yet.
func meet(a, b *activation) *activation {
	if a == nil {
		return b
	}
	for a != nil && a.depth > b.depth {
		a = a.caller
	}
	for b != nil && a != nil && b.depth > a.depth {
		b = b.caller
	}
	for a != b && a != nil && b != nil {
		a, b = a.caller, b.caller
	}
	return a
}
