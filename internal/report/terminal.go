// Package report draws results for people: in a terminal, and as Markdown. It
// computes no statistics; every figure it shows stands in the results.
package report

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Terminal draws the report of a run, the answer first: verdicts, a line a case, faults and
// notes. Then come cases in detail, and last what was measured with. Its only error is that of w.
func Terminal(w io.Writer, res *record.Results, opt ui.Options) error {
	p := newPage(opt)
	p.title(res)
	p.comparisons("comparisons", res.Comparisons)
	named := true // in full
	if len(res.Cases) > 0 {
		p.Blank()
		named = p.cases(res.Cases)
		p.scaling(res.Cases)
	}
	p.faults(res.Cases)
	p.notes(res)
	p.details(res.Cases, res.Kind == "compare", named && len(res.Cases) == 1)
	p.measuredWith(res)
	p.footer(res)
	return p.Write(w)
}

// details draws a case that is alone, and of several those that stand out. Where verdicts
// are what was asked for, the others are left out without a word. named: the table above has said whose they are.
func (p *page) details(cases []record.CaseResult, verdicts, named bool) {
	left := 0
	for _, c := range cases {
		switch {
		case c.NSPerCall == nil && noFigure(c) == failed: // its fault has said all there is
		case (verdicts || len(cases) > 1) && !standsOut(c):
			left++
		default:
			p.caseDetail(c, named)
		}
	}
	if left > 0 && !verdicts {
		p.Blank()
		p.Para("", ui.Plural(left, "case is without detail, as nothing about it stands out", "cases are without detail, as nothing about them stands out")+
			"; --filter shows one alone.", p.Faint)
	}
}

// muchCollecting is the share of a call's time from which the garbage collector is worth a line.
const muchCollecting = 0.1

// standsOut reports whether the table alone would not say what happened, or what was asked for.
func standsOut(c record.CaseResult) bool {
	asked := c.Laps != nil || c.Profile != nil || len(c.Metrics) > 0
	collecting := c.GCShare != nil && c.GCShare.Low >= muchCollecting
	return asked || collecting || len(c.Modes) > 1 || len(c.Faults) > 0 || c.NSPerCall == nil
}

// footer says last, where it is read first, that a result is not whole.
func (p *page) footer(res *record.Results) {
	if res.Complete {
		return
	}
	none := 0
	for _, c := range res.Cases {
		if c.NSPerCall == nil && c.Laps == nil {
			none++
		}
	}
	text := "Partial result: the run did not end as planned."
	if none > 0 {
		have := "have"
		if none == 1 {
			have = "has"
		}
		text = fmt.Sprintf("Partial result: %d of %s %s no figure.", none, ui.Plural(len(res.Cases), "case", "cases"), have)
	}
	p.Blank()
	p.Para("", text, p.Bad)
}
