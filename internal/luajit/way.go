package luajit

import (
	"slices"
)

// A way is the bytecode that a trace may go through in one function.
type way struct {
	code
	stops []bool // a trace ends there, as another one begins, or the same one again
	folds bool   // constants decide comparisons
	tests []int  // instructions that go one of two ways
}

// Bytecode that ends a function, or decides which way it goes.
const (
	opLastComparison = 11
	opLastTest       = 15
	opCALLMT         = 67
	opCALLT          = 68
	opRETM           = 73
	opRET1           = 76
)

// leaves reports that an instruction returns.
func leaves(op int) bool { return op >= opRETM && op <= opRET1 }

// newWay is the way through a function, for the trace of a number: one with a later number was not there when it was recorded.
func newWay(c code, number, root int) way {
	w := way{code: c, stops: make([]bool, len(c.ins))}
	for i, ins := range c.ins {
		switch opOf(ins) {
		case opJFORL, opJITERL, opJLOOP:
			to := int(ins >> 16)
			w.stops[i] = to == root || to <= number
		}
	}
	for i, ins := range c.plain {
		if op := opOf(ins); op <= opLastComparison || op >= opFORI && op < opLOOP {
			w.tests = append(w.tests, i)
		}
	}
	return w
}

// decides reports that there is a snapshot at an instruction, before it goes one of two ways: at the ends of a numeric loop, and at a
// comparison that constants do not decide.
func (w way) decides(n int) bool {
	op := opOf(w.plain[n])
	return op <= opLastComparison && !w.folds || op >= opFORI && op <= opJFORL
}

// next are the instructions that may run behind one before another snapshot is made. The trace ends where another one begins, or the
// same one again: it gets no further than to an end.
func (w way) next(n int, ends map[int]bool) []int {
	if w.decides(n) {
		return nil
	}
	all := w.follow(n)
	if w.stops[n] {
		all = slices.DeleteFunc(all, func(to int) bool { return !ends[to] && (to <= n || opOf(w.ins[n]) == opJLOOP) })
	}
	return all
}

// first are the instructions that may run behind a position.
func (w way) first(p position) []int {
	if p.not < 0 && w.decides(p.at) {
		return nil
	}
	return slices.DeleteFunc(w.follow(p.at), func(n int) bool { return n == p.not })
}

// follow are those that may run behind it at all.
func (w way) follow(n int) []int {
	ins := w.plain[n]
	inside := func(all ...int) []int {
		return slices.DeleteFunc(all, func(n int) bool { return n < 0 || n >= len(w.plain) })
	}
	switch op := opOf(ins); {
	case op <= opLastTest && n+1 < len(w.plain):
		return inside(n+2, n+2+jump(w.plain[n+1]))
	case op == opJMP, op == opUCLO, op == opISNEXT:
		return inside(n + 1 + jump(ins))
	case leaves(op), op == opCALLMT, op == opCALLT:
		return nil
	case op >= opFORI && op < opLOOP:
		return inside(n+1, n+1+jump(ins))
	}
	return inside(n + 1)
}

// A position is where the bytecode was when a snapshot was made; not is the way that it has not gone from there, -1: that is not known.
type position struct {
	at, not int
	ahead   bool // the instruction is the next one to run
}

// positions are those that a snapshot may have, in the function at that depth of calls. The snapshot of a comparison leads to where
// the trace has not gone.
func (w way) positions(s snapshot, depth int) []position {
	index := func(pc uint64) int { return w.index(pc + 4) }
	if len(s.frames) > depth {
		return []position{{at: index(s.frames[depth].call()), not: -1}}
	}
	at := index(s.pc)
	all := []position{{at: at, not: -1, ahead: at >= 0 && !leaves(opOf(w.plain[at]))}} // a return to a lower frame makes one in its midst
	for _, n := range w.tests {
		if to := w.follow(n); len(to) > 1 && slices.Contains(to, at) {
			all = append(all, position{at: n, not: at})
		}
	}
	return all
}

// between are the instructions that may run from one snapshot to the next in the function at that depth of calls.
func (w way) between(from window, depth int) []int {
	starts, stops := w.positions(from.before, depth), w.positions(from.after, depth)
	for _, p := range append(slices.Clone(starts), stops...) {
		if p.at < 0 {
			return nil
		}
	}
	ends := map[int]bool{}
	for _, p := range stops {
		ends[p.at] = true
	}
	ahead := w.reached(starts, ends)
	if !slices.ContainsFunc(stops, func(p position) bool { return ahead[p.at] }) {
		return nil
	}
	leads := w.leading(ahead, ends)
	toEnd := func(n int) bool { return leads[n] }
	all := map[int]bool{}
	for n := range ahead {
		if slices.ContainsFunc(w.next(n, ends), toEnd) {
			all[n] = true
		}
	}
	for _, p := range stops {
		if !p.ahead && ahead[p.at] {
			all[p.at] = true
		}
	}
	for _, p := range starts {
		if leads[p.at] || slices.ContainsFunc(w.first(p), toEnd) {
			all[p.at] = true
		}
	}
	if begins := w.index(from.begins + 4); depth == 0 && begins >= 0 {
		all[begins] = true
	}
	var list []int
	for n := range all {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// reached are the instructions that may run from some positions on.
func (w way) reached(from []position, ends map[int]bool) map[int]bool {
	all := map[int]bool{}
	var open []int
	visit := func(list []int) {
		for _, n := range list {
			if !all[n] {
				all[n] = true
				open = append(open, n)
			}
		}
	}
	for _, p := range from {
		visit(w.first(p))
	}
	for len(open) > 0 {
		n := open[0]
		open = open[1:]
		visit(w.next(n, ends))
	}
	for _, p := range from {
		all[p.at] = true
	}
	return all
}

// leading are those of some instructions from which there is a way to some ends, and these.
func (w way) leading(of, ends map[int]bool) map[int]bool {
	before := map[int][]int{}
	for n := range of {
		for _, to := range w.next(n, ends) {
			before[to] = append(before[to], n)
		}
	}
	all := map[int]bool{}
	var open []int
	for n := range ends {
		all[n] = true
		open = append(open, n)
	}
	for len(open) > 0 {
		n := open[0]
		open = open[1:]
		for _, b := range before[n] {
			if !all[b] {
				all[b] = true
				open = append(open, b)
			}
		}
	}
	return all
}

// again reports whether a way leads from an instruction back to it.
func (w way) again(n int) bool {
	return slices.ContainsFunc(w.next(n, nil), func(to int) bool { return w.reached([]position{{at: to, not: -1}}, nil)[n] })
}
