package stat

import (
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// evident reports whether modes are more than what was measured at different times: traces differ, the machine was quiet, the
// seed brings its level again, or another case that ran beside them shows no levels. Where neither traces nor the machine can
// be known, as of Go, they stand.
func (f *facts) evident(found []record.Mode) bool {
	if slices.ContainsFunc(found, func(m record.Mode) bool { return m.Trace != "" }) {
		return true
	}
	known := !slices.ContainsFunc(f.steady, func(u unit) bool { return !u.vms[0].own.Machine.Known })
	if known && !slices.ContainsFunc(f.steady, func(u unit) bool { return u.vms[0].own.Machine.Disturbed }) {
		return true
	}
	if !known && !f.jitOn() {
		return true
	}
	return f.recurs() || f.onlyHere(found)
}

// LeastAgain processes more of one seed say whether it brings its level again. With three of each of two seeds, in turn, a
// neighbour who comes and goes makes that of one level by chance in 2 of 64 runs.
const LeastAgain = 3

// firstsOf divides units into the first of each seed, and those that measured a seed again. Where all have one seed, as with
// --replay, none was measured again.
func firstsOf(units []unit) (firsts, again []unit) {
	seen := map[float64]bool{}
	for _, u := range units {
		if seen[u.seed()] {
			again = append(again, u)
			continue
		}
		seen[u.seed()] = true
		firsts = append(firsts, u)
	}
	if len(seen) < 2 {
		return units, nil
	}
	return firsts, again
}

// recurs reports whether seeds that were measured again brought their level again, each time, and not all the same one.
func (f *facts) recurs() bool {
	told := map[int]bool{}
	for _, u := range f.steady {
		times := 0
		for _, a := range f.again {
			if a.seed() != u.seed() || a.class() == record.SteadyNone {
				continue
			}
			if f.nearest(a.floor()) != u.mode {
				return false
			}
			times++
		}
		if times >= LeastAgain {
			told[u.mode] = true
		}
	}
	return len(told) > 1
}

// nearest is the mode of the process whose floor is the nearest.
func (f *facts) nearest(floor float64) int {
	return slices.MinFunc(f.steady, func(a, b unit) int {
		return int(math.Copysign(1, math.Abs(a.floor()-floor)-math.Abs(b.floor()-floor)))
	}).mode
}

// leastBeside processes of a level have to stand beside ones of another case, before that tells anything.
const leastBeside = 4

// onlyHere reports whether a case that was interleaved with this one shows nothing of its levels: all its processes are
// within a quarter of what the nearest two of them are apart. A neighbour of the machine slows both.
func (f *facts) onlyHere(found []record.Mode) bool {
	if f.rec.Run.Comparing == nil || slices.ContainsFunc(found, func(m record.Mode) bool { return m.Processes < leastBeside }) {
		return false
	}
	ns := make([]float64, len(found))
	for i, m := range found {
		ns[i] = m.NS
	}
	slices.Sort(ns)
	gap := math.Inf(1)
	for i := 1; i < len(ns); i++ {
		gap = min(gap, ns[i]/ns[i-1]-1)
	}
	best := quiet.BestOf(f.rec)
	for _, c := range f.rec.Cases {
		if c.Case == f.r.Case.Case {
			continue
		}
		units, _ := unitsOf(f.rec.Of(c.Case), func(*record.ProcessRecord) quiet.Best { return best })
		beside := measured(units)
		if len(beside) < len(f.steady)*9/10 {
			continue
		}
		floors := valuesOf(beside, unit.floor)
		if low := slices.Min(floors); low > 0 && slices.Max(floors)/low-1 < gap/4 {
			return true
		}
	}
	return false
}

// Unsettled are the cases whose processes lie on levels that nothing but time sets apart, each with a seed of every level:
// measured again, [LeastAgain] times each and in turn, they tell whether the levels are the code's.
func Unsettled(rec *record.Record) map[int][]float64 {
	seeds := map[int][]float64{}
	best := quiet.BestOf(rec)
	for _, c := range rec.Cases {
		f := factsOf(rec, c, best)
		for _, level := range f.levels {
			seeds[c.Case] = append(seeds[c.Case], level.Seed)
		}
	}
	return seeds
}
