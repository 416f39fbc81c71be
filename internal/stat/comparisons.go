package stat

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// CompareTurns compares the cases of a record whose run compared them interleaved, with the
// rule that the record holds. Without a rule nothing is compared, nor are cases without a
// partner. What else than time differs stands beside each verdict.
func CompareTurns(rec *record.Record, res *record.Results) []record.Comparison {
	if rec.Run.Comparing == nil {
		return []record.Comparison{}
	}
	known := quiet.Along(rec)
	best := func(p *record.ProcessRecord) quiet.Best { return known[p] }
	comparisons := sequential.JudgeTurns(rec, *rec.Run.Comparing, func(c record.Case) (map[int]float64, map[int]bool) {
		return byRound(rec, c, best)
	})
	for i := range comparisons {
		c := &comparisons[i]
		a, b := caseNamed(res, c.A), caseNamed(res, c.B)
		if a.NSPerCall == nil || b.NSPerCall == nil {
			// What the processes that count said is no statement about the case, nor is what a side did before it failed.
			*c = record.Comparison{A: c.A, B: c.B, Verdict: record.Undecided, Pairs: c.Pairs}
		} else {
			c.Differences = differences(a, b)
		}
		c.Warnings = append(c.Warnings, ofBoth(a, b)...)
	}
	return comparisons
}

// ofBoth are the warnings that two cases cause together.
func ofBoth(a, b *record.CaseResult) []record.Warning {
	var warnings []record.Warning
	for _, r := range []*record.CaseResult{a, b} {
		switch {
		case r.NSPerCall == nil:
			warnings = append(warnings, record.Warning{
				Code: "no_figure", Text: fmt.Sprintf("there is no figure of %s", r.Name), Advice: "see what is said of it alone",
			})
		case len(r.Modes) > 1:
			warnings = append(warnings, record.Warning{
				Code: "modes", Text: fmt.Sprintf("%s settles on %d levels: the ratio is one over all its processes", r.Name, len(r.Modes)),
				Advice: "compare the modes and their shares before believing the ratio",
			})
		}
	}
	return warnings
}

// byRound locates the processes of a case that count, one a round: the mean of its
// workers, as in [Summarize], with what was known of the machine when they ended; and those that something slowed.
func byRound(rec *record.Record, c record.Case, best func(*record.ProcessRecord) quiet.Best) (located map[int]float64, slowed map[int]bool) {
	located, slowed = map[int]float64{}, map[int]bool{}
	units, _ := unitsOf(rec.Of(c.Case), best)
	for _, u := range measured(units) {
		if u.class() != record.SteadyNone {
			round := u.vms[0].said.Process.Round
			located[round], slowed[round] = u.ns(), u.vms[0].own.Machine.Disturbed
		}
	}
	return located, slowed
}
