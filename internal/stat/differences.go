package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// differences are what else than time differs between two cases: what the JIT made of
// them, what they allocate, how many instructions they take, what the collector takes, on
// which levels they settle.
func differences(a, b *record.CaseResult) []record.Difference {
	var list []record.Difference
	add := func(what, a, b string) {
		if a != b {
			list = append(list, record.Difference{What: what, A: a, B: b})
		}
	}
	add("runs", a.JIT.Compiled, b.JIT.Compiled)
	if math.Abs(a.JIT.RootTraces-b.JIT.RootTraces) >= 1 {
		add("root traces", amount(a.JIT.RootTraces), amount(b.JIT.RootTraces))
	}
	if math.Abs(a.JIT.SideTraces-b.JIT.SideTraces) >= 1 {
		add("side traces", amount(a.JIT.SideTraces), amount(b.JIT.SideTraces))
	}
	abortsA, abortsB := aborts(a), aborts(b)
	add("aborts", without(abortsA, abortsB), without(abortsB, abortsA))
	blackA, blackB := blacklisted(a), blacklisted(b)
	add("blacklisted", without(blackA, blackB), without(blackB, blackA))
	if a.BytesPerCall != nil && b.BytesPerCall != nil && apart(*a.BytesPerCall, *b.BytesPerCall) {
		add("bytes per call", amount(*a.BytesPerCall), amount(*b.BytesPerCall))
	}
	if a.InstructionsPerCall != nil && b.InstructionsPerCall != nil {
		// They are all but the same from process to process of the same code.
		if x, y := *a.InstructionsPerCall, *b.InstructionsPerCall; math.Abs(x-y) > 0.01*max(x, y) {
			add("instructions per call", amount(x), amount(y))
		}
	}
	if gcA, gcB := gcShare(a), gcShare(b); gcA.High < gcB.Low || gcB.High < gcA.Low {
		add("time in the collector", percent(gcA.Estimate), percent(gcB.Estimate))
	}
	if len(a.Modes) > 1 || len(b.Modes) > 1 {
		add("levels", levelsOf(a), levelsOf(b))
	}
	return list
}

// apart reports whether two amounts of memory differ by more than measuring them does.
func apart(a, b float64) bool {
	return math.Abs(a-b) > max(0.5, 0.02*max(a, b))
}

// gcShare is the collector's, none where it was not measured: nothing is allocated there.
func gcShare(r *record.CaseResult) record.Interval {
	if r.GCShare == nil {
		return record.Interval{}
	}
	return *r.GCShare
}

// aborts by reason alone, as lines move when code is edited, and those that most processes
// can have had: the others are chance.
func aborts(r *record.CaseResult) []string {
	var texts []string
	for _, a := range r.JIT.Aborts {
		if 2*a.Count < r.Processes {
			continue
		}
		text := a.Reason
		if a.NYI != "" && !strings.Contains(text, a.NYI) {
			text += " " + a.NYI
		}
		texts = append(texts, text)
	}
	return unique(texts)
}

func blacklisted(r *record.CaseResult) []string {
	var texts []string
	for _, b := range r.JIT.Blacklisted {
		texts = append(texts, b.What)
	}
	return unique(texts)
}

func unique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// without joins what the other list lacks; "none" when that is nothing.
func without(texts, other []string) string {
	var own []string
	for _, t := range texts {
		if !slices.Contains(other, t) {
			own = append(own, t)
		}
	}
	if len(own) == 0 {
		return "none"
	}
	return strings.Join(own, ", ")
}

// levelsOf words the levels of a case.
func levelsOf(r *record.CaseResult) string {
	if len(r.Modes) == 0 {
		return "none"
	}
	texts := make([]string, len(r.Modes))
	for i, m := range r.Modes {
		texts[i] = percent(m.Share) + " at " + figure(m.NS)
	}
	return strings.Join(texts, ", ")
}

func amount(x float64) string {
	if x == math.Trunc(x) || x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
