package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// A Row is one comparison: a case and another that took turns with it.
type Row struct{ A, B record.Case }

// Rows pairs the cases of each side with those of the first: by name, or, where every
// side has a single case, whatever they are called. The order is that of the first side.
// The cases of a single side pair with its first one.
func Rows(cases []record.Case) []Row {
	var sides []string
	of := map[string][]record.Case{}
	for _, c := range cases {
		if !slices.Contains(sides, c.Side) {
			sides = append(sides, c.Side)
		}
		of[c.Side] = append(of[c.Side], c)
	}
	var rows []Row
	if len(sides) == 1 {
		for _, b := range cases[1:] {
			rows = append(rows, Row{cases[0], b})
		}
		return rows
	}
	if len(sides) == 0 {
		return nil
	}
	single := !slices.ContainsFunc(sides, func(s string) bool { return len(of[s]) != 1 })
	for _, a := range of[sides[0]] {
		for _, side := range sides[1:] {
			for _, b := range of[side] {
				if single || ownName(a) == ownName(b) {
					rows = append(rows, Row{a, b})
				}
			}
		}
	}
	return rows
}

// SideName is the name in the record of a side's case that others share.
func SideName(name, side string) string { return name + "@" + side }

// ownName is a case's name without its side.
func ownName(c record.Case) string { return strings.TrimSuffix(c.Name, "@"+c.Side) }

// errAtZero says that there is no ratio.
var errAtZero = errors.New("a process took no more time than its empty twin")

// RowJudge judges a row live: add every round, then ask.
type RowJudge struct {
	Judge
	pairs []pair
	err   error
}

// Add takes what the two processes of a round took, in ns per call.
func (r *RowJudge) Add(a, b float64) {
	if a <= 0 || b <= 0 {
		r.err = errAtZero
		return
	}
	r.pairs = append(r.pairs, pair{math.Log(a), math.Log(b)})
}

// Enough tells whether the row is decided: ask after every round.
func (r *RowJudge) Enough() bool {
	return r.err != nil || r.Processes == 0 && r.decided(r.look(r.pairs, false))
}

// CompareTurns compares the cases of a record whose run compared them in turns, with the
// rule that the record holds: see [Judge]. Without a rule nothing is compared, nor are
// cases without a partner. What else than time differs stands beside each verdict.
func CompareTurns(rec *record.Record, res *record.Results) []record.Comparison {
	comparisons := []record.Comparison{}
	if rec.Run.Comparing == nil {
		return comparisons
	}
	for _, row := range rowsOf(rec) {
		j := RowJudge{Judge: Judge{Comparing: *rec.Run.Comparing, Rows: len(Rows(rec.Cases))}}
		a, b := byRound(rec, row.A), byRound(rec, row.B)
		for _, round := range a.rounds {
			if nsB, ok := b.ns[round]; ok {
				j.Add(a.ns[round], nsB)
			}
		}
		c := j.verdict(rec.Complete())
		c.A, c.B = row.A.Name, row.B.Name
		if a, b := caseNamed(res, c.A), caseNamed(res, c.B); a != nil && b != nil {
			c.Differences = differences(a, b)
			c.Warnings = append(c.Warnings, ofBoth(a, b)...)
			if a.NSPerCall == nil || b.NSPerCall == nil {
				c.Verdict, c.Needs = record.Undecided, 0
			}
		}
		comparisons = append(comparisons, c)
	}
	return comparisons
}

// rowsOf are the comparisons that a record's run came to. In a single side a case that
// fails is compared with nothing, and the next stands in for the first.
func rowsOf(rec *record.Record) []Row {
	cases := rec.Cases
	if !slices.ContainsFunc(cases, func(c record.Case) bool { return c.Side != cases[0].Side }) {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c record.Case) bool { return len(rec.FaultsOf(c.Case)) > 0 })
	}
	return Rows(cases)
}

func (r *RowJudge) verdict(ended bool) record.Comparison {
	if r.err == nil {
		return r.follow(r.pairs, ended)
	}
	return record.Comparison{
		Verdict: record.Undecided, Pairs: len(r.pairs),
		Warnings: []record.Warning{{
			Code: "at_zero", Text: r.err.Error() + ": there is no ratio",
			Advice: "see that the work is not removed by the compiler, with moonlap.keep(x)",
		}},
	}
}

// ofBoth are the warnings that two cases cause together.
func ofBoth(a, b *record.CaseResult) []record.Warning {
	var warnings []record.Warning
	for _, r := range []*record.CaseResult{a, b} {
		switch {
		case r.NSPerCall == nil:
			warnings = append(warnings, record.Warning{
				Code: "no_figure", Text: fmt.Sprintf("%s has no figure", r.Name), Advice: "see its own warnings",
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

// roundLocations are a case's process locations by round.
type roundLocations struct {
	rounds []int // in order
	ns     map[int]float64
}

// byRound locates the processes of a case that count, one a round: the mean of its
// workers, as in [Summarize].
func byRound(rec *record.Record, c record.Case) roundLocations {
	l := roundLocations{ns: map[int]float64{}}
	units, _ := unitsOf(rec.Of(c.Case))
	for _, u := range measured(units) {
		if round := u.vms[0].said.Process.Round; u.class() != record.SteadyNone {
			l.rounds = append(l.rounds, round)
			l.ns[round] = u.ns()
		}
	}
	return l
}
