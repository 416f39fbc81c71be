package stat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// How a case ran.
const (
	compiled    = "compiled"
	partly      = "partly"
	interpreted = "interpreted"
)

// jitOf sums up the ledgers of a case's VMs: medians of traces and machine code over
// the VMs; aborts and blacklisted places of all of them, each place once, the most
// frequent first; how most of them ran.
func jitOf(ledgers []*record.JIT, jitOn bool) record.JITSummary {
	sum := record.JITSummary{Aborts: []record.Abort{}, Blacklisted: []record.Blacklist{}, Compiled: interpreted}
	if len(ledgers) == 0 {
		if jitOn {
			sum.Compiled = ""
		}
		return sum
	}
	var roots, sides, mcode []float64
	aborts := map[record.Abort]int{}
	blacklisted := map[record.Blacklist]int{}
	ran := map[string]int{}
	for _, l := range ledgers {
		root, side, bytes := ownTraces(l)
		roots, sides, mcode = append(roots, root), append(sides, side), append(mcode, bytes)
		for _, a := range l.Aborts {
			if ofTheCase(a.Stage) {
				count := a.Count
				a.Count = 0
				aborts[a] += max(count, 1)
			}
		}
		for _, b := range l.Blacklisted {
			blacklisted[b]++
		}
		sum.Flushes += l.Flushes
		ran[ranAs(l)]++
	}
	sum.RootTraces, sum.SideTraces, sum.MCodeBytes = estimate.Median(roots), estimate.Median(sides), estimate.Median(mcode)
	sum.Aborts = append(sum.Aborts, sortedAborts(aborts)...)
	sum.Blacklisted = append(sum.Blacklisted, sortedBlacklist(blacklisted)...)
	if !jitOn {
		return sum
	}
	sum.Compiled = slices.MaxFunc([]string{partly, interpreted, compiled}, // of equals, the first
		func(a, b string) int { return cmp.Compare(ran[a], ran[b]) })
	return sum
}

// ownTraces counts the case's own traces of a VM, and the bytes of their machine code.
func ownTraces(l *record.JIT) (roots, sides, bytes float64) {
	for _, t := range l.Traces {
		switch {
		case !t.Own:
			continue
		case t.Parent == 0:
			roots++
		default:
			sides++
		}
		bytes += float64(t.MCode)
	}
	return roots, sides, bytes
}

// sortedAborts are the aborts with their counts, the most frequent first.
func sortedAborts(counts map[record.Abort]int) (aborts []record.Abort) {
	for a, count := range counts {
		a.Count = count
		aborts = append(aborts, a)
	}
	slices.SortFunc(aborts, func(a, b record.Abort) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Stage, b.Stage))
	})
	return aborts
}

// sortedBlacklist are the places, the most frequent first.
func sortedBlacklist(counts map[record.Blacklist]int) []record.Blacklist {
	return slices.SortedFunc(maps.Keys(counts), func(a, b record.Blacklist) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
}

// ofTheCase reports whether a stage of a process runs the case as it is measured.
func ofTheCase(stage string) bool { return stage == "warmup" || stage == "measure" }

// ranAs is how the case of a ledger ran. Without a trace of its own it was
// interpreted; where a trace falls back to the interpreter, or a place was given up for
// good, a part of it was.
func ranAs(l *record.JIT) string {
	own, back := 0, len(l.Blacklisted) > 0
	for _, t := range l.Traces {
		if t.Own {
			own++
			back = back || t.Link == "stitch" || t.Link == "interpreter" || t.Link == "none"
		}
	}
	switch {
	case own == 0:
		return interpreted
	case back:
		return partly
	}
	return compiled
}
