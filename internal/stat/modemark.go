package stat

import (
	"slices"

	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/modes"
)

// Of the processes of a level all or nearly all have its mark, and of the others hardly any.
const (
	mostHave = 0.9
	fewHave  = 0.1
	leastOf  = 2 // processes that have it
)

// A mark is a trace that the processes of a level have, or alone lack.
type mark struct {
	signature
	has bool
}

func (m mark) of(set map[signature]bool) bool { return set[m.signature] == m.has }

// findByTraces looks for levels that times alone do not prove, as too few of their processes had quiet moments: of a rare level
// that is one or two. It is one where a trace marks its processes, and two have that mark: processes of which the times say
// nothing by themselves, as something slowed them, count too.
func (f *facts) findByTraces() modes.Modes {
	found := modes.FindCandidates(located(f.steady))
	named := map[int]int{0: 0} // the modes that stand, by their candidates
	for m := 1; m < found.Count; m++ {
		if f.marked(found.Of, m) {
			named[m] = len(named)
		}
	}
	for i, m := range found.Of {
		found.Of[i] = named[m] // 0, the largest, where it does not stand
	}
	found.Count = min(len(named), max(1, found.Count))
	if found.Count > 1 {
		found.Alone = nil
	}
	return found
}

// marked reports whether a trace marks the processes of a candidate.
func (f *facts) marked(of []int, candidate int) bool {
	var in, out []map[signature]bool
	var inside, outside []float64 // floors
	for i, u := range f.steady {
		if u.vms[0].said.JIT == nil {
			continue
		}
		set := signatures(u.vms[0].said.JIT)
		if of[i] == candidate {
			in, inside = append(in, set), append(inside, u.floor())
		} else {
			out, outside = append(out, set), append(outside, u.floor())
		}
	}
	return slices.ContainsFunc(marksOf(in, out), func(m mark) bool {
		have, agree := f.slowedToo(m, estimate.Median(inside)/estimate.Median(outside))
		return agree && count(in, m)+have >= leastOf
	})
}

// slowedToo counts the processes without quiet moments that have a mark. What slowed them slowed those without the mark, too, so
// they must differ from these by half as much as the levels do, at least, or the mark has nothing to do with the level.
func (f *facts) slowedToo(m mark, ratio float64) (have int, agree bool) {
	var with, others []float64
	for _, u := range f.slowed {
		switch {
		case u.vms[0].said.JIT == nil:
		case m.of(signatures(u.vms[0].said.JIT)):
			with = append(with, u.floor())
		default:
			others = append(others, u.floor())
		}
	}
	if len(with) == 0 || len(others) == 0 {
		return 0, true
	}
	seen := estimate.Median(with) / estimate.Median(others)
	return len(with), (seen-1)/(ratio-1) >= 0.5
}

// marksOf are the marks of some processes against others.
func marksOf(in, out []map[signature]bool) (marks []mark) {
	if len(in) == 0 || len(out) == 0 {
		return nil
	}
	all := map[signature]bool{}
	for _, set := range slices.Concat(in, out) {
		for s := range set {
			all[s] = true
		}
	}
	for s := range all {
		for _, has := range []bool{true, false} {
			m := mark{s, has}
			if float64(count(in, m)) >= mostHave*float64(len(in)) && float64(count(out, m)) <= fewHave*float64(len(out)) {
				marks = append(marks, m)
			}
		}
	}
	return marks
}

func count(sets []map[signature]bool, m mark) (n int) {
	for _, set := range sets {
		if m.of(set) {
			n++
		}
	}
	return n
}
